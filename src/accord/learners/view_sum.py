"""Many views, each learned on its own, summed: a cheap strong learner.

A learner that sees only some of the features cannot lean on the few that happen to explain a handful of labels; the
sum of several such learners leans on all of them [spec 3; sums of views are decoded once, thesis Prop. B.2].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.base import clone

from accord.learners.base import PART, StructuredLearner
from accord.learners.multiview import MultiViewLearner
from accord.packed.structure import Structure
from accord.packed.weights import Weights
from accord.settings import generator
from accord.views.base import View
from accord.views.splits import RandomSplit


@dataclass(eq=False, repr=False)
class SumOfViews(MultiViewLearner):
    """Train a learner on each view by itself and add their scores up.

    Parameters
    ----------
    learner : StructuredPerceptron, StructuredSVM or CRF
        What is trained on each view; its ``structure`` and ``view`` are those of the sum, its ``random_state`` also
        draws the views.
    n_views : int
        Number of random views.
    share : float
        Fraction of the features that each random view sees.
    views : view, list or dict of views, optional
        Views to use instead of random ones.
    n_jobs, verbose : as everywhere

    Attributes
    ----------
    weights_, view_weights_ : Weights, list of Weights
        The mean of the views, which predicts what their sum predicts, and each of them.

    Examples
    --------
    >>> from accord import Sequence, StructuredPerceptron, SumOfViews
    >>> X = [["Ana", "lives", "in", "Rome"], ["Tom", "left"]]
    >>> Y = [["PER", "O", "O", "LOC"], ["PER", "O"]]
    >>> SumOfViews(StructuredPerceptron(Sequence(), random_state=0)).fit(X, Y).predict([["Ana", "left"]])
    [['PER', 'O']]
    """

    learner: StructuredLearner
    n_views: int = 8
    share: float = 0.6
    views: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    expects: ClassVar = {"learner": PART}

    @property
    def structure(self) -> Structure:  # type: ignore[override]
        """What is predicted."""
        return self.learner.structure

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SumOfViews:
        """Train on labeled examples; unlabeled ones (``y[i] is None``) only extend the feature space.

        ``sample_weight`` means in each view what it means to the learner.
        """
        self._check_params()
        self.learner._check_params()
        rows, y, _ = self._prepare(X, y, sample_weight)
        rng = generator(getattr(self.learner, "random_state", None))
        found: list[Weights] = []
        channels = self._channels(rows, y, rng)
        with self._progress(len(channels), "views") as progress:
            for channel in channels:
                part = clone(self.learner).set_params(random_state=int(rng.integers(2**31)))
                part.structure_ = self.structure_
                found.append(part._learn(channel, y).weights_)
                progress.advance(info=self.view_names_[len(found) - 1])
        self._keep(found)
        self.weights_.unary /= len(found)
        self.weights_.transitions /= len(found)
        return self

    def _default_split(self) -> View:
        return RandomSplit(n_views=self.n_views, share=self.share)

    def _whole_view(self, structure: Any, X: Any) -> View:
        return self.learner._new_view(structure, X)
