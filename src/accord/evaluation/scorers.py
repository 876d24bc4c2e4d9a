"""Metrics as scorers for scikit-learn's searches and cross-validation: ``GridSearchCV(..., scoring=scorer("rmse"))``.

scikit-learn keeps its list of names to itself, so a scorer is an object here, not a string.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accord.evaluation.registry import Metric, get_metric
from accord.exceptions import InputError
from accord.learners.inputs import labeled_inputs, output_list, take


@dataclass(frozen=True)
class Scorer:
    """A metric of what a fitted model predicts for labeled examples, greater is better; made by :func:`scorer`.

    Examples
    --------
    >>> from accord import CRF, Sequence
    >>> from accord.evaluation import scorer
    >>> model = CRF(Sequence()).fit([["Ana", "left"]], [["B-PER", "O"]])
    >>> scorer("span_f1")(model, [["Ana", "left"], ["Tom", "left"]], [["B-PER", "O"], None])
    1.0
    """

    metric: Metric
    unlabeled: Any = None

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        """The metric, or for errors and losses its negative, over examples that are labeled."""
        outputs = output_list(X, y, self)  # which knows what means "unlabeled", as a structure does
        labeled = labeled_inputs(outputs)
        if not labeled.size:
            raise InputError(
                f"none of {len(outputs)} examples is labeled, so there is nothing to score: test on labeled ones, "
                "cv=LabeledFolds()"
            )
        assert self.metric.function is not None
        value = self.metric.function([outputs[i] for i in labeled], list(model.predict(take(X, labeled))))
        return float(value if self.metric.greater_is_better else -value)

    def __repr__(self) -> str:
        return f"scorer({self.metric.name!r})"


def scorer(metric: str | Metric | Callable[[Any, Any], float], unlabeled: Any = None) -> Scorer:
    """A scorer for scikit-learn, which ignores unlabeled examples.

    Parameters
    ----------
    metric : name, `Metric` or function
        As for `tune`. Of losses and errors the negative is taken, because scikit-learn looks for the greatest score.
    unlabeled : label, optional
        A label that means "unlabeled", as ``None`` and nan do.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from accord import CRF, Sequence
    >>> from accord.evaluation import LabeledFolds, scorer
    >>> X = [["Ana", "left"], ["Tom", "left"], ["Ana", "slept"], ["Tom", "slept"], ["Eva", "left"]]
    >>> Y = [["B-PER", "O"]] * 4 + [None]
    >>> search = GridSearchCV(CRF(Sequence()), {"C": [0.1, 1.0]}, scoring=scorer("span_f1"), cv=LabeledFolds(2))
    >>> float(search.fit(X, Y).best_score_)
    1.0
    """
    chosen = get_metric(metric)
    if chosen.function is None or chosen.greater_is_better is None:
        raise InputError(f"metric {chosen.name!r} has no function or no direction; pass a Metric that has both")
    return Scorer(chosen, unlabeled)
