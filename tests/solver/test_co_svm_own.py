"""Views of trees that disagree, with Table 6.2 as it is printed: each is shown its own tree against its peer's."""

import itertools
import warnings

import numpy as np
import pytest
from tree_data import KINDS, treebank

from accord import CoSVM, RandomSplit
from accord.structures.generic import consensus


@pytest.mark.parametrize(("rescaling", "norm"), list(itertools.product(["margin", "slack"], [1, 2])))
def test_a_view_that_disagrees_is_shown_its_own_tree(rescaling, norm, monkeypatch):
    learn, violation = consensus._Visit._learn, consensus._Visit._violation
    shown, kept = [], []

    def spy(self, p, v, target, margin, own):
        before = len(shown)
        changed = learn(self, p, v, target, margin, own)
        block = self.blocks.get((self.i, p))
        disagrees = own is not None and not np.array_equal(own, target)
        if block is not None:
            assert len(shown) - before == disagrees
        if disagrees and block is not None:
            assert shown[-1] is own
            kept.append(any(np.array_equal(own, output) for output in block.outputs))
        parts = self.problem.views[v].parts(self.i, self.weights[v])
        worst = self.problem.structure.find_violator(parts, target, self.problem.rescaling, self.problem.norm)
        assert violation(self, parts, target, worst[2])[:2] == pytest.approx(worst[:2], abs=1e-9)
        return changed

    def offer(self, parts, target, output):
        shown.append(output)
        return violation(self, parts, target, output)

    monkeypatch.setattr(consensus._Visit, "_learn", spy)
    monkeypatch.setattr(consensus._Visit, "_violation", offer)
    data = treebank(**KINDS["words"])
    y = [tree if i < 3 else None for i, tree in enumerate(data.Y)]
    options = {"unlabeled_weight": 1.0, "ramp": 0, "max_iter": 2, "freeze": False, "random_state": 0}
    machine = CoSVM(data.structure, RandomSplit(), against="prediction", rescaling=rescaling, norm=norm, **options)
    with warnings.catch_warnings(action="ignore"):
        machine.fit(data.X, y)
    assert np.mean(kept) > 0.5, "what is violated less than the slack that is there need not be kept"
