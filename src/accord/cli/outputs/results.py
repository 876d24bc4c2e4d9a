"""What commands get from models: predictions, and a trained model with what it was trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from accord.cli.terminal import print_table

Tokens = Sequence[str] | None  # None: a class or a number


class Prediction(NamedTuple):
    """The output of one input, with probabilities or the k best outputs if they were asked for."""

    y: Any = None
    marginals: Any = None  # (n_tokens, n_labels), or (n_labels,) for classes; of trees a dict of constituents
    k_best: list[tuple[Any, Any]] | None = None


class Predictor:
    """Predicts batch by batch."""

    def __init__(self, model: Any, k_best: int | None = None, marginals: bool = False) -> None:
        self.model, self.k_best, self.marginals = model, k_best, marginals

    def __call__(self, X: Any, tokens: Sequence[Sequence[str]] | None) -> Iterable[Prediction]:
        """The outputs of a batch."""
        if self.k_best:
            return [Prediction(k_best=found) for found in self.model.predict_k_best(X, self.k_best)]
        found = self.model.predict(X)
        found = found.tolist() if hasattr(found, "tolist") else found
        if self.marginals:
            return [Prediction(y, m) for y, m in zip(found, self.model.predict_marginals(X))]
        return map(Prediction, found)

    def labels(self) -> list[str]:
        """What the columns of marginals are probabilities of."""
        return [str(label) for label in self.model.structure_.labels_] if self.marginals else []

    def tell(self) -> None:
        """Say on standard error what could not be predicted; most models can predict everything."""


@dataclass
class Trained:
    """A fitted model and what it was fitted on."""

    model: Any
    n_labeled: int
    n_partial: int = 0  # labeled ones in which some labels are missing
    n_unlabeled: int = 0
    unlabeled: Any = None  # inputs without labels; None: not kept

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.n_labeled + self.n_unlabeled


def print_candidates(report: Iterable[dict[str, Any]], columns: dict[str, Callable[[dict[str, Any]], str]]) -> None:
    """What "auto" compared, and why; the other columns are made from each entry."""
    rows = [
        [("> " if entry["chosen"] else "  ") + entry["candidate"], entry["why"], *(c(entry) for c in columns.values())]
        for entry in report
    ]
    if rows:
        print_table("", ["candidate", "why", *columns], rows, left=2)


def counted(n: int, what: str) -> str:
    """A number of things."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"
