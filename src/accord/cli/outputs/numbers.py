"""Models that predict numbers: their scores, and what the commands tell about them."""

from __future__ import annotations

import math
from typing import Any

import click

from accord.cli.outputs.description import made_of, parameters, print_head, print_parameters
from accord.cli.outputs.results import Trained, counted, print_candidates
from accord.cli.outputs.views import input_view
from accord.cli.terminal import named, print_pairs, print_table
from accord.exceptions import InputError

_SCALED = ("rbf", "poly")  # kernels with a gamma
_METRICS = {"rmse": "rmse", "mean_absolute_error": "mean absolute error", "r2": "R²"}


# -- scores -------------------------------------------------------------------------------------------------------
def number_scores(y_true: Any, y_pred: Any, **_: Any) -> dict[str, Any]:
    """Figures of merit by name; R² is None if all targets are the same."""
    import numpy as np

    from accord.evaluation import rmse

    true, predicted = np.asarray(y_true, dtype=float), np.asarray(y_pred, dtype=float)
    if predicted.ndim > 1:
        raise InputError(f"the model predicts {predicted.shape[1]} numbers for each input; data files have one target")
    errors, spread = predicted - true, float(np.sum((true - true.mean()) ** 2))
    return {
        "n_examples": len(true),
        "rmse": rmse(true, predicted),
        "mean_absolute_error": float(np.mean(np.abs(errors))),
        "r2": 1.0 - float(np.sum(errors**2)) / spread if spread > 0 else None,
    }


def print_number_scores(scores: dict[str, Any], title: str) -> None:
    """The scores as a table."""
    rows = [[label, _number(scores[name])] for name, label in _METRICS.items()]
    print_table(f"{title} ({scores['n_examples']:,} examples)", ["metric", "value"], rows)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.6g}"


# -- what a model is ----------------------------------------------------------------------------------------------
def describe_numbers(model: Any, _: int) -> dict[str, Any]:
    """Everything about it as plain values."""
    chosen = {"lambda": float(model.weight_), "fallback": bool(model.fallback_)} if hasattr(model, "weight_") else {}
    return {
        "kind": type(model).__name__,
        "kernel": str(model.views_[0].kernel.kernel),
        "views": _views(model),
        "sizes": {
            "coefficients": sum(int(own.size) for own in model.coefficients_),
            "outputs": int(model.y_mean_.size),
        },
        "training": {**chosen, "loo_rmse": _finite(model.loo_rmse_)},
        "auto": [{**e, "loo_rmse": _finite(e["loo_rmse"])} for e in getattr(model, "auto_report_", None) or ()] or None,
        "parameters": parameters([model, *_parts(model)]),
    }


def _parts(model: Any) -> list[Any]:
    """The views that its columns come from; those of a split are the same."""
    seen = {repr(part): part for view in model.views_ for part, _ in view.parts}
    return [one for part in seen.values() for one in made_of(part)]


def _finite(value: float) -> float | None:
    """None for what JSON has no number for."""
    return float(value) if math.isfinite(value) else None


def _views(model: Any) -> list[dict[str, Any]]:
    """Of each view its name, columns (without a constant), rows that it is expanded over, gamma and eta."""
    import numpy as np

    out = []
    for view, base, gamma, eta in zip(model.views_, model.bases_, model.gammas_, model.etas_):
        columns = 0
        for part, chosen in view.parts:
            own = np.arange(part.n_dims_) if chosen is None else chosen
            columns += np.setdiff1d(own, part.constant_features()).size
        out.append(
            {
                "name": view.name,
                "columns": int(columns),
                "expansion_rows": int(base.shape[0]),
                "gamma": float(gamma) if view.kernel.kernel in _SCALED else None,
                "eta": float(eta),
            }
        )
    return out


def print_numbers(found: dict[str, Any]) -> None:
    """Print a description, and perhaps the distance of the views on some data."""
    print_head(found, f"with {found['kernel']} kernel")
    print_pairs("Sizes", named(found["sizes"]))
    click.echo()
    _print_views(found["views"])
    if "disagreement" in found:
        seen = found["disagreement"]
        click.echo(f"They differ by {seen['rms']:.6g} from their mean on {seen['data']} (root mean square).")
    print_parameters(found)
    click.echo()
    print_pairs("Training", named(found["training"]))
    if found["auto"]:
        click.echo()
        _print_choice(found["auto"])


def _print_views(views: list[dict[str, Any]]) -> None:
    heads = ["view", "columns", "expansion rows", "gamma", "eta"]
    rows = [
        [v["name"], f"{v['columns']:,}", f"{v['expansion_rows']:,}", _number(v["gamma"]), _number(v["eta"])]
        for v in views
    ]
    print_table("Views (the prediction is their mean)" if len(views) > 1 else "", heads, rows)


def _print_choice(report: list[dict[str, Any]]) -> None:
    print_candidates(
        report,
        {
            "lambda": lambda entry: f"{entry['lambda_']:.6g}",
            "leave-one-out rmse": lambda entry: _number(entry["loo_rmse"]),
        },
    )


# -- after training -----------------------------------------------------------------------------------------------
def report_numbers(trained: Trained, example: str, _: str) -> None:
    """The examples, what was chosen and why, the error without the example's label, how far views differ."""
    from accord.views.dense import ArrayFeatures

    model, n = trained.model, trained.n_unlabeled
    unlabeled = counted(n, f"unlabeled {example}")
    click.echo(f"{type(model).__name__}: {trained.n_labeled:,} labeled and {unlabeled}")
    if model.standardize and not isinstance(input_view(model), ArrayFeatures):
        click.echo("the inputs have words: their columns are compared as they are, not standardised")
    _print_views(_views(model))
    if hasattr(model, "weight_"):
        chosen = ' (chosen by "auto")' if model.disagreement_weight == "auto" else ""
        click.echo(f"lambda, the weight of the views' disagreement: {model.weight_:.6g}{chosen}")
        if model.auto_report_:
            _print_choice(model.auto_report_)
    elif n:
        name = type(model).__name__
        click.echo(f"{name} learns from labels alone; unlabeled examples only say how columns are scaled")
    click.echo(f"leave-one-out rmse: {model.loo_rmse_:.6g}")
    if len(model.views_) > 1 and n:
        distance = model.disagreement(trained.unlabeled)
        click.echo(f"the views differ by {distance:.6g} from their mean on the unlabeled examples (root mean square)")
