"""The leaderboard: what is in it, what its other learners make of rows that are easy, and what is said of them."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from accord.datasets import embedded_ner, gaussian_clusters
from accord.evaluation import Results, token_error
from accord.experiments import REGISTRY
from accord.experiments import leaderboard_peers as peers
from accord.experiments.deduplication import TUNED as TUNED_PAIRS
from accord.experiments.deduplication import clustered
from accord.experiments.leaderboard import KNOWN, ROWS
from accord.experiments.leaderboard_fields import BY_HAND, DEFAULT, TUNED
from accord.experiments.transduction_classes import METHODS
from accord.views.packed_once import PackedOnce
from accord.views.text import TokenFeatures

BOARD = REGISTRY["leaderboard"]


def test_thirteen_sets_and_the_default_and_a_tuned_learner_in_every_row():
    assert len(ROWS) >= 12
    tasks = BOARD.tasks(False, 0)
    for setting in BOARD.settings:
        here = {task.method for task in tasks if task.setting == setting}
        assert {DEFAULT, TUNED} <= here, setting
    assert {task.setting["data"] for task in tasks} == set(ROWS)
    assert set(BY_HAND.values()) <= set(METHODS)


def test_what_is_not_installed_is_left_out_and_named(monkeypatch):
    monkeypatch.setitem(peers.MODULES, peers.TRI_TRAINING, "no_such_module")
    assert peers.TRI_TRAINING not in {task.method for task in BOARD.tasks(False, 0)}
    notes = BOARD.notes(Results([_row(DEFAULT, 0.1, 0), _row(TUNED, 0.2, 0)]))
    assert notes[3] == f"Left out, since not installed: {peers.TRI_TRAINING}, {peers.CRFSUITE}."


def test_one_usual_split_is_done_once():
    once = [task for task in BOARD.tasks(False, 0) if task.setting["labels"] == "the usual split"]
    assert {task.repetition for task in once} == {0}


def _row(method, value, repetition, data="COIL", metric="zero_one_loss"):
    return {
        "experiment": "leaderboard", "method": method, "repetition": repetition, "metric": metric, "value": value,
        "seconds": 1.0, "data": data, "labels": "10",
    }  # fmt: skip


def test_losses_are_told_beside_wins():
    rows = [_row(DEFAULT, 0.1 + 0.001 * k, k) for k in range(3)] + [_row(TUNED, 0.3, k) for k in range(3)]
    rows += [_row(DEFAULT, 0.4 + 0.001 * k, k, "USPS") for k in range(3)]
    rows += [_row(TUNED, 0.2, k, "USPS") for k in range(3)]
    rows += [_row(method, value, 0, "Spanish", "span_f1") for method, value in ((DEFAULT, 0.5), (TUNED, 0.4))]
    notes = BOARD.notes(Results(rows))
    errors = next(note for note in notes if "0/1 loss" in note)
    assert "ahead in 1 of 2, behind in 1 (USPS 10 by 20.1; significantly: USPS 10)" in errors
    f1 = next(note for note in notes if "span F1" in note)
    assert "ahead in 1 of 1, behind in 0." in f1


def test_published_figures_are_beside_ours_and_not_ours():
    assert {figure.method for figure in BOARD.published} == {KNOWN}
    assert KNOWN not in BOARD.methods
    found = {(f.setting["data"], f.setting["labels"]): f.value for f in BOARD.published}
    assert found["COIL", "10"] == 0.6750
    assert found["COIL", "100"] == 0.2580


def _given(sparse):
    X, y = gaussian_clusters(90, 3, 2, 2, 6.0, random_state=0)
    X = sp.csr_matrix(X) if sparse else X
    y = np.array(y)
    labeled = np.concatenate([np.flatnonzero(y == c)[:4] for c in np.unique(y)])
    rest = np.setdiff1d(np.arange(y.size), labeled)
    return peers.Given(X, y, labeled, rest[:60], rest[60:])


@pytest.mark.parametrize(
    ("method", "sparse"),
    [*((name, True) for name in peers.OF_WORDS), *((name, False) for name in peers.OF_ROWS if peers.installed(name))],
)
def test_other_learners_do_easy_rows(method, sparse):
    given = _given(sparse)
    found = peers.OF_ROWS[method](given, 0)
    assert found.shape == given.test.shape
    assert np.mean(found != given.y[given.test]) < 0.2


def test_hidden_classes_are_hidden():
    given = _given(False)
    X, numbers = given.training
    assert len(X) == given.labeled.size + given.unlabeled.size
    assert (numbers[given.labeled.size :] == -1).all()
    assert np.array_equal(given.named(numbers[: given.labeled.size]), given.y[given.labeled])


@pytest.mark.skipif(not peers.installed(peers.CRFSUITE), reason="python-crfsuite is not installed")
def test_crfsuite_learns_the_same_features():
    X, Y = embedded_ner(40, random_state=0)
    view = PackedOnce(TokenFeatures(window=1)).pack(X[:30])
    model = peers.CRFsuite(view, C=10.0).fit(X[:30], Y[:30])
    assert token_error(Y[:30], model.predict(X[:30])) < 0.02
    assert token_error(Y[30:], model.predict(X[30:])) < 0.3


def test_pairs_are_joined_by_a_threshold_of_held_out_clusters():
    names = ["Anna Berg", "Tom Lee", "Ida Kahn", "Otto Wolf", "Eva Stein", "Max Roth", "Lea Vogel", "Jan Kern"]
    records = [{"name": name + end} for name in names for end in ("", " ")]
    truth = np.repeat(np.arange(len(names)), 2)
    found, (left, right) = clustered(TUNED_PAIRS, records, truth[:10], 0)
    assert np.array_equal(found[::2], found[1::2])
    assert len(set(found.tolist())) == 3
    assert (left < 6).all()
    assert (right < 6).all()


def test_nothing_of_others_is_imported_before_it_is_used():
    code = (
        "import sys, accord.experiments.leaderboard; "
        "assert not {'sslearn', 'pycrfsuite'} & set(sys.modules), 'imported'"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
