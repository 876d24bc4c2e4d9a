"""The parsing experiments in their quick version. Needs a local data folder; set ACCORD_DATA."""

import pytest

from accord.experiments.consensus_parsing import METHODS as CONSENSUS
from accord.experiments.supervised_parsing import CESS, METHODS, WSJ

pytestmark = pytest.mark.slow


def test_supervised_parsing(quick_run):
    results, report = quick_run("supervised-parsing")
    for bank in (WSJ, CESS):
        setting = {"treebank": bank, "words": 8}
        for method in METHODS:
            found = list(results.values(method, "bracket_f1", setting).values())
            assert len(found) == 2
            assert all(0.3 < value < 1 for value in found), (bank, method)
        assert all(value >= 0 for value in results.values("SVM margin", "constraints_added", setting).values())
    assert "SVM margin minus PCFG, points of F1, paired bootstrap" in report


def test_consensus_parsing(quick_run):
    results, report = quick_run("co-learning-parsing")
    for method in CONSENSUS:
        for n_unlabeled in (0, 5):
            setting = {"treebank": WSJ, "n_labeled": 4, "n_unlabeled": n_unlabeled}
            found = list(results.values(method, "bracket_f1", setting).values())
            assert len(found) == 2
            assert all(0.5 < value <= 1 for value in found), (method, n_unlabeled)
    assert "what the unlabeled sentences add to the sum of two views" in report
