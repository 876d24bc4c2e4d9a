"""Labels of tokens and classes of examples: scores, and what is told when a model of them is trained."""

from __future__ import annotations

from typing import Any

import click

from accord.cli.outputs.results import Trained, counted, print_candidates
from accord.cli.outputs.views import describe_views, disagreement
from accord.cli.terminal import print_table

_LISTED = 4  # views at most that are named one by one


# -- scores -------------------------------------------------------------------------------------------------------
def label_scores(y_true: list[Any], y_pred: list[Any], taxonomy: Any = None, **_: Any) -> dict[str, Any]:
    """Figures of merit by name, and counts per label or span type.

    Tokens that are not annotated (None) do not count; spans cannot be counted then, because they may lack a part.
    """
    from accord import evaluation

    sequences = isinstance(y_true[0], list)
    complete = not sequences or not any(None in y for y in y_true)
    if not complete:
        y_pred = [[p for t, p in zip(*pair) if t is not None] for pair in zip(y_true, y_pred)]
        y_true = [[t for t in y if t is not None] for y in y_true]
    out: dict[str, Any] = {"n_examples": len(y_true)}
    if sequences:
        out["n_tokens"] = sum(map(len, y_true))
        out["token_error"] = evaluation.token_error(y_true, y_pred)
        out["hamming_loss"] = evaluation.hamming_loss(y_true, y_pred)
    out["zero_one_loss"] = evaluation.zero_one_loss(y_true, y_pred)
    if taxonomy is not None:
        out["tree_loss"] = evaluation.TreeLoss(taxonomy)(y_true, y_pred)
    spans = sequences and complete and _are_spans(y_true, y_pred)
    labels = evaluation.label_scores(y_true, y_pred, exclude=("O",) if spans else ())
    out["micro_f1"], out["macro_f1"] = labels.overall.f1, labels.macro_f1
    out["labels"] = {str(k): _counts(c) for k, c in labels.per_label.items()}
    if spans:
        found = evaluation.span_scores(y_true, y_pred)
        out["span_f1"] = found.overall.f1
        out["spans"] = {"all": _counts(found.overall)} | {str(k): _counts(c) for k, c in found.per_label.items()}
    return out


def _are_spans(y_true: list[Any], y_pred: list[Any]) -> bool:
    """Whether labels look like IOB or BIOES: all are O or prefix-type, and at least one is not O."""
    labels = {label for y in (*y_true, *y_pred) for label in y}
    tags = {label for label in labels if isinstance(label, str) and label[:2] in {"B-", "I-", "E-", "S-", "L-", "U-"}}
    return bool(tags) and all(label == "O" for label in labels - tags)


def _counts(c: Any) -> dict[str, float]:
    return {name: getattr(c, name) for name in ("precision", "recall", "f1", "n_true", "n_pred", "n_correct")}


def print_label_scores(scores: dict[str, Any], title: str) -> None:
    """The scores as tables."""
    from accord.evaluation import METRICS

    size = f"{scores['n_examples']:,} examples" + (f", {scores['n_tokens']:,} tokens" if "n_tokens" in scores else "")
    rows = []
    for name, metric in METRICS.items():
        if name in scores:
            value = f"{100 * scores[name]:.2f} %" if metric.percent else f"{scores[name]:.4f}"
            rows.append([metric.label, value])
    print_table(f"{title} ({size})", ["metric", "value"], rows)
    kind = "spans" if "spans" in scores else "labels"
    rows = [
        [name, *(f"{100 * c[k]:.2f}" for k in ("precision", "recall", "f1")), f"{c['n_true']:,}", f"{c['n_pred']:,}"]
        for name, c in scores[kind].items()
    ]
    heads = ["span" if kind == "spans" else "label", "precision %", "recall %", "F1 %", "true", "predicted"]
    print_table("", heads, rows, sections=[0] if kind == "spans" else ())


# -- after training -----------------------------------------------------------------------------------------------
def label_sizes(model: Any) -> str:
    """How large a model is, as the end of a sentence."""
    return f", {model.structure_.n_labels_} labels, {model.view_.n_dims_:,} features"


def report_labels(trained: Trained, example: str, unit: str) -> None:
    """The examples, what "auto" decided and why, how far views disagree.

    Nothing, if there were no unlabeled examples and there are not several views.
    """
    model = trained.model
    if hasattr(model, "report_"):  # it says it itself
        click.echo("\n".join(model.report_))
        return
    views = describe_views(model)
    if not trained.n_unlabeled and views is None and not hasattr(model, "report_"):
        return
    partly = f" ({trained.n_partial:,} of them partly)" if trained.n_partial else ""
    unlabeled = counted(trained.n_unlabeled, f"unlabeled {example}")
    click.echo(f"{type(model).__name__}: {trained.n_labeled:,} labeled{partly} and {unlabeled}")
    if views is not None:
        click.echo(_view_sizes(views))
    if hasattr(model, "unlabeled_weight_"):
        _print_choice(model, "weight of an unlabeled example", model.unlabeled_weight, model.unlabeled_weight_)
    elif hasattr(model, "strength_"):
        _print_choice(model, "strength of the evidence from unlabeled sentences", model.strength, model.strength_)
    elif getattr(model, "report_", None):
        _print_report(model)
    elif trained.n_unlabeled:
        click.echo(f"{type(model).__name__} learns from labels alone; unlabeled examples only shape its features")
    if views is not None and len(views) > 1 and trained.n_unlabeled and trained.unlabeled is not None:
        rate = disagreement(model, trained.unlabeled)
        click.echo(f"the views disagree on {100 * rate:.2f} % of the {unit} of the unlabeled examples")


def _print_report(model: Any) -> None:
    """What was used, what it brought, what to try next; and what was compared."""
    for line in model.report_:
        click.echo(line)
    print_candidates(model.auto_report_ or (), {"error % on held-out labels": _fold_errors})


def _fold_errors(entry: dict[str, Any]) -> str:
    return " ".join(f"{100 * e:.1f}" for e in entry["fold_errors"]) or "–"


def _print_choice(model: Any, what: str, asked: Any, used: float) -> None:
    """How much unlabeled examples count; if that was chosen, what was tried and why it was taken."""
    chosen = ' (chosen by "auto")' if asked == "auto" else ""
    click.echo(f"{what}: {used:g}{chosen}")
    print_candidates(
        getattr(model, "auto_report_", None) or (),
        {
            "weight": lambda entry: f"{entry['unlabeled_weight']:g}",
            "error % on held-out labels": _fold_errors,
        },
    )


def _view_sizes(views: list[dict[str, Any]]) -> str:
    if len(views) <= _LISTED:
        parts = ", ".join(f"{view['name']} ({view['features']:,} features)" for view in views)
        return f"{counted(len(views), 'view')}: {parts}"
    sizes = [view["features"] for view in views]
    return f"{len(views)} views of {min(sizes):,} to {max(sizes):,} features"
