"""Model files: reading them, where they may be written, and what an interrupt leaves of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click

from accord.cli.outputs.description import made_of
from accord.cli.program import if_interrupted
from accord.cli.terminal import note
from accord.exceptions import InputError


def load_model(
    path: str, n_jobs: int | None = None, *, encoder: str | None = None, encoder_cache: str | None = None,
    links: str | None = None, predicting: bool = True, **_: Any,
) -> Any:  # fmt: skip
    """A fitted model, to be used with so many threads if that is said; for predicting with its encoder, and further
    links."""
    import accord

    fitted = accord.load(path)
    if n_jobs is not None:
        fitted.n_jobs = n_jobs
    if predicting:
        _give_encoder(fitted, encoder, encoder_cache)
    if links is not None:
        linked = linked_views(fitted)
        if not linked:
            raise InputError(f"--links: {path} was trained without links, and has no use for them")
        for view in linked:
            view.add_links(links)
    return fitted


def _give_encoder(model: Any, encoder: str | None, cache: str | None) -> None:
    """Model files have no encoders, and do not say where they are: whoever uses a model does."""
    encoded = [view for view in _views(model) if type(view).__name__ == "EncoderFeatures"]
    if encoder is not None and not encoded:
        note("--encoder: the model does without one; held-out labels may have said so")
    elif encoder is not None:
        from accord.views.encoders import attach, find_encoder

        attach(model, find_encoder(encoder))
        for view in encoded:
            view.cache = cache
    elif encoded:
        raise InputError(f"the model has vectors of the encoder {encoded[0].encoder_!r}; give it by --encoder")


def linked_views(model: Any) -> list[Any]:
    """Views of a model that know links."""
    return [view for view in _views(model) if type(view).__name__ == "LinkedFeatures"]


def _views(model: Any) -> list[Any]:
    return made_of(model.view_) if hasattr(model, "view_") else []


def encoder_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about encoders to a command."""
    function = click.option(
        "--encoder-cache", metavar="FOLDER", help="Keep the vectors of --encoder there, for other commands, too."
    )(function)
    return click.option(
        "--encoder", metavar="PATH|NAME",
        help="Vectors of words in their sentence, or of texts, by a folder with model.onnx and tokenizer.json, one "
        "that transformers, sentence-transformers or spaCy saved, or a name such as spacy:en_core_web_md. Model files "
        "do not hold encoders.",
    )(function)  # fmt: skip


def source_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add options about what a loaded model needs, or may get, beside its file."""
    function = click.option(
        "--links", metavar="FILE", help="Further links of a model of links, such as those of new rows."
    )(function)
    return encoder_options(function)


model_option, optional_model_option = (
    click.option(
        "--model", "--output", "-o", "model", required=required, type=click.Path(path_type=Path),
        help="File to write the model to.",
    )
    for required in (True, False)
)  # fmt: skip
seed_option = click.option(
    "--random-state", type=int, default=0, show_default=True, help="Seed; the same seed gives the same model."
)


def model_named_after(data: str) -> Path:
    """Where a model goes if nobody says it: here, called like its data. Nothing is replaced without being asked."""
    name = "model" if data == "-" else Path(data).name
    while Path(name).suffix:  # few.conll.gz
        name = Path(name).stem
    model = Path(f"{name}.accord")
    if model.exists():
        raise click.UsageError(f"{model} is there already; --model {model} replaces it, another name keeps it")
    return model


def lost_if_interrupted(model: Path) -> AbstractContextManager[None]:
    """Around a training that keeps nothing when it is interrupted."""
    state = "is as it was before" if model.exists() else "was not written"
    return if_interrupted(f"the model is lost, and {model} {state}")
