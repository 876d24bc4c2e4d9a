"""What a structure is: outputs, their losses and their decoders, over added-up part scores."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from accord.exceptions import InputError

Label = Hashable


class Structure(BaseEstimator):
    """An output space. ``fit`` learns the labels from outputs; everything else works on label numbers."""

    labels: Sequence[Label] | None
    labels_: list[Label]
    single_row: bool  # an input is one row and an output is one label
    needs_tokens = False  # whether packed inputs must bring the tokens themselves

    @property
    def n_labels_(self) -> int:
        return len(self.labels_)

    def fit(self, Y: Iterable[Any]) -> Structure:
        """Learn the labels from outputs (``None`` is skipped)."""
        raise NotImplementedError

    def exact(self, rescaling: str = "margin", norm: int = 1) -> bool:
        """Whether :meth:`oracle` is guaranteed to find the most violating output."""
        raise NotImplementedError

    def _set_labels(self, observed: Iterable[Label]) -> None:
        labels = {label for label in set(observed) if label is not None}
        if self.labels is not None:
            declared = list(self.labels)
            if len(set(declared)) != len(declared):
                raise InputError("labels: a label is listed twice; list every label once")
            unknown = sorted_labels(labels - set(declared))
            if unknown:
                raise InputError(
                    f"Y has the label {unknown[0]!r}, which is not among labels={declared!r}; add it there or fix Y"
                )
            self.labels_ = declared
        else:
            self.labels_ = sorted_labels(labels)
        if not self.labels_:
            raise InputError("Y has no labels: give at least one labeled example, or declare labels=[...]")

    def label_numbers(self) -> dict[Label, int]:
        """Number of each label."""
        return {label: i for i, label in enumerate(self.labels_)}


def sorted_labels(labels: Iterable[Label]) -> list[Label]:
    """Labels in a fixed order, also when their types differ."""
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    try:
        return sorted(plain)  # type: ignore[type-var]
    except TypeError:
        return sorted(plain, key=lambda label: (type(label).__name__, repr(label)))
