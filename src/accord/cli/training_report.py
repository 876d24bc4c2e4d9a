"""What ``accord train`` tells when it is done: the examples, what "auto" decided and why, how far views disagree."""

from __future__ import annotations

from typing import Any

import click

from accord.cli.fitting import Trained
from accord.cli.multiview import describe_views, disagreement, unit
from accord.cli.regression import predicts_numbers, print_regression
from accord.cli.terminal import print_table

_LISTED = 4  # views at most that are named one by one


def print_training(trained: Trained) -> None:
    """Print it, if there were unlabeled examples or there are several views; else there is nothing to tell.

    Of a model that predicts numbers there always is.
    """
    model = trained.model
    if predicts_numbers(model):
        print_regression(trained)
        return
    views = describe_views(model)
    if not trained.n_unlabeled and views is None:
        return
    click.echo(_examples(trained))
    if views is not None:
        click.echo(_sizes(views))
    if hasattr(model, "unlabeled_weight_"):
        _print_choice(model, "weight of an unlabeled example", model.unlabeled_weight, model.unlabeled_weight_)
    elif hasattr(model, "strength_"):
        _print_choice(model, "strength of the evidence from unlabeled sentences", model.strength, model.strength_)
    elif trained.n_unlabeled:
        click.echo(f"{type(model).__name__} learns from labels alone; unlabeled examples only shape its features")
    if views is not None and len(views) > 1 and trained.n_unlabeled and trained.unlabeled is not None:
        rate = disagreement(model, trained.unlabeled)
        click.echo(f"the views disagree on {100 * rate:.2f} % of the {unit(model)} of the unlabeled examples")


def _print_choice(model: Any, what: str, asked: Any, used: float) -> None:
    """How much unlabeled examples count; if that was chosen, what was tried and why it was taken."""
    report = getattr(model, "auto_report_", None)
    chosen = ' (chosen by "auto")' if asked == "auto" else ""
    click.echo(f"{what}: {used:g}{chosen}")
    if report:
        rows = [
            [
                ("> " if entry["chosen"] else "  ") + entry["candidate"],
                entry["why"],
                f"{entry['unlabeled_weight']:g}",
                " ".join(f"{100 * rate:.1f}" for rate in entry["fold_errors"]) or "–",
            ]
            for entry in report
        ]
        heads = ["candidate", "why", "weight", "error % on held-out labels"]
        print_table("", heads, rows, left=2)


def _examples(trained: Trained) -> str:
    kind = "example" if trained.model.structure_.single_row else "sentence"
    partly = f" ({trained.n_partial:,} of them partly)" if trained.n_partial else ""
    name = type(trained.model).__name__
    return f"{name}: {trained.n_labeled:,} labeled{partly} and {_count(trained.n_unlabeled, f'unlabeled {kind}')}"


def _sizes(views: list[dict[str, Any]]) -> str:
    if len(views) <= _LISTED:
        parts = ", ".join(f"{view['name']} ({view['features']:,} features)" for view in views)
        return f"{_count(len(views), 'view')}: {parts}"
    sizes = [view["features"] for view in views]
    return f"{len(views)} views of {min(sizes):,} to {max(sizes):,} features"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
