"""Self-training of de-duplication: by the book, when it stands back, and what it looks at."""

import numpy as np
import pytest
from record_cases import people
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import accord
from accord import Deduplicator
from accord.dedupe import self_training
from accord.dedupe.blocking import candidate_pairs
from accord.dedupe.choosing import HeldOut, Trial
from accord.dedupe.compared import ComparedPairs
from accord.dedupe.decoding import Rule, cluster_table
from accord.dedupe.labels import check_ids, folds_of_clusters, size_costs, training_sets
from accord.dedupe.machines import Machines, held_out_models, learned
from accord.dedupe.pairs import RecordPairs
from accord.dedupe.self_training import (
    Labeled,
    SelfTraining,
    no_copies,
    some_neighbourhoods,
)
from accord.kernels.partitions.condensed import pair_numbers
from accord.learners.clustering import ClusteringSVM
from accord.structures.partitions.losses import pair_counts

FIELDS = {"name": "text", "street": "text", "born": "date"}


@pytest.fixture(scope="module", autouse=True)
def three_ways():
    """Of nine ways to compare records, each of which has machines of its own, three: so that fits take less time.

    It is tried even where held-out clusters are found nearly as they should be.
    """
    ways = RecordPairs.ways
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RecordPairs, "ways", lambda self: ways(self)[::4])
        patch.setattr(Trial, "can_be_beaten", lambda self: True)
        yield


class Case:
    """Labeled people, others, and everything that self-training starts from."""

    def __init__(self) -> None:
        self.known, ids = people(16, seed=0)
        self.others, _ = people(20, seed=1)
        self.truth = check_ids(ids, len(ids))
        self.view = RecordPairs(FIELDS).fit([[*self.known, *self.others]])
        self.machines = Machines(ClusteringSVM("pairwise", tol=1e-6), self.view.ways(), None)
        self.table = self.view.table(self.known)
        rng = np.random.default_rng(0)
        self.sets = training_sets(self.table, self.truth, 25, rng)
        self.pairs = [self.table.compare(*(m[side] for side in pair_numbers(m.size))) for m in self.sets]
        self.folds = folds_of_clusters(self.truth, 3, rng)
        self.table.append(self.others)
        self.costs = size_costs(self.truth)
        self.rule = Rule("average", "agglomerative", self.costs)
        self.compared = ComparedPairs(self.table, 6)
        self.labeled = Labeled(self.pairs, self.sets, self.truth, self.folds)
        self.training = SelfTraining(self.machines, self.labeled, self.compared, self.rule, 0.7, rng)

    def clusters(self, weights, constant):
        return cluster_table(self.table, candidate_pairs(self.table, 6), weights, constant, self.rule)

    def features(self, i, j):
        return self.table.compare(np.array([i]), np.array([j]))[0]


@pytest.fixture(scope="module")
def case() -> Case:
    found = Case()
    assert len(found.sets) > 1
    assert len(found.view.ways()) == 3
    return found


@pytest.mark.parametrize("fold", [-1, 1])
def test_learning_again_by_the_book(case, fold):
    """Every pair by itself: pairs of known records of one set as labeled, other candidates as they are found."""
    known = [i for i in range(len(case.known)) if case.folds[i] != fold]
    kept = [m[case.folds[m] != fold] for m in case.sets]
    inner = [case.table.compare(*(m[side] for side in pair_numbers(m.size))) for m in kept]
    first = case.machines.fit(inner, [case.truth[m] for m in kept])
    weights, bias = case.machines.mean(first, len(case.view.names_))
    weights, bias = 2.0 * weights, 2.0 * bias
    found = case.clusters(weights, bias - 0.7)
    sets = [np.array(rows) for rows in inner]
    partitions = [case.truth[m] for m in kept]
    for i, j in zip(*candidate_pairs(case.table, 6)):
        if not (i in known and j in known):
            sets.append(case.features(i, j)[None])
            partitions.append(np.array([0, 0 if found[i] == found[j] else 1]))
    again, again_bias = np.zeros(len(case.view.names_)), 0.0
    ways = case.view.ways()
    for columns in ways:
        machine = ClusteringSVM("pairwise", tol=1e-6).fit([one[:, columns] for one in sets], partitions)
        again[columns] += machine.weights_[:-1] / len(ways)
        again_bias += machine.weights_[-1] / len(ways)
    labeled = np.vstack(inner)
    scale = np.std(labeled @ weights) / np.std(labeled @ again)  # similarities keep their spread
    _, result, result_bias = case.training.learn(weights, bias, fold)
    np.testing.assert_allclose(result, scale * again, atol=2e-3 * np.abs(scale * again).max())
    assert result_bias == pytest.approx(scale * again_bias, rel=1e-2)


def test_it_is_tried_on_held_out_records_and_given_up_if_they_get_worse(case, monkeypatch):
    models = held_out_models(case.machines, case.labeled)
    similarity = learned(models[0].weights, models[0].bias, models, 1.5, 3)
    held_out = HeldOut(case.compared, case.truth, case.folds, "agglomerative")
    trial = Trial("learned", "average", True, 0.7, 0, 0, 0, 0, np.empty((0, 6)))
    again, f1 = case.training.try_it(held_out, similarity, trial)
    for fold, (before, after) in enumerate(f1):
        for models_of, value in ((similarity.without, before), (again.without if again else [], after)):
            if models_of:
                only = [one if k == fold else None for k, one in enumerate(models_of)]
                judged = held_out.judge(similarity._replace(without=only), "average", True, 0.7)
                assert value == pytest.approx(judged.f1)
    calls = []

    def nonsense(self, weights, bias, fold=-1):
        calls.append(fold)
        return [], -weights, -bias

    monkeypatch.setattr(SelfTraining, "learn", nonsense)
    again, f1 = case.training.try_it(held_out, similarity, trial)
    assert again is None
    assert len(f1) == len(calls) == 1  # after the first fold


@pytest.fixture(scope="module")
def records() -> tuple[list, list]:
    known, ids = people(12, seed=0)
    others, _ = people(12, seed=1)
    return [*known, *others], [*ids, *[None] * len(others)]


@pytest.fixture(scope="module")
def taught(records) -> Deduplicator:
    """By unlabeled records too."""
    return Deduplicator(FIELDS, random_state=0, tol=0.05).fit(*records)


@pytest.fixture(scope="module")
def without(records) -> Deduplicator:
    """Labeled records alone."""
    return Deduplicator(FIELDS, random_state=0, tol=0.05, self_training=False).fit(*records)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["pairwise", "sequential"])
def test_unlabeled_records_change_the_weights(records, taught, without, method, tmp_path):
    with_them = taught
    assert taught.method == "pairwise"
    if method == "sequential":
        with_them = clone(taught).set_params(method=method, tol=0.2).fit(*records)
        without = clone(without).set_params(method=method, tol=0.2).fit(*records)
    assert with_them.held_out_f1_.shape[1] == 2
    assert not without.self_trained_
    assert without.held_out_f1_ is None
    assert (np.abs(with_them.weights_ - without.weights_).max() > 1e-3) == with_them.self_trained_
    assert with_them.n_calibration_ == without.n_calibration_
    with_them.save(tmp_path / "model")
    again = accord.load(tmp_path / "model")
    assert again.self_trained_ == with_them.self_trained_
    np.testing.assert_array_equal(again.held_out_f1_, with_them.held_out_f1_)
    found = with_them.predict(records[0])
    assert again.predict(records[0]) == found
    known = np.flatnonzero([one is not None for one in records[1]])
    true, predicted, both = pair_counts(check_ids(records[1], len(found))[known], np.array(found)[known])
    assert 2 * both / (true + predicted) > 0.8


def test_it_stands_back_where_held_out_records_speak_against_it(records, without, monkeypatch):
    monkeypatch.setattr(SelfTraining, "try_it", lambda *_: (None, np.array([[0.9, 0.5]])))
    back = Deduplicator(FIELDS, random_state=0, tol=0.05).fit(*records)
    assert not back.self_trained_
    assert back.held_out_f1_.tolist() == [[0.9, 0.5]]
    np.testing.assert_array_equal(back.weights_, without.weights_)
    assert (back.bias_, back.slope_) == (without.bias_, without.slope_)


def test_ctrl_c_leaves_what_labeled_records_taught(records, without, monkeypatch):
    assert not without.interrupted_

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SelfTraining, "try_it", interrupt)
    stopped = Deduplicator(FIELDS, random_state=0, tol=0.05)
    with pytest.warns(ConvergenceWarning, match="what labeled records taught"):
        stopped.fit(*records)
    assert stopped.interrupted_
    assert not stopped.self_trained_
    np.testing.assert_array_equal(stopped.weights_, without.weights_)
    assert stopped.predict(records[0]) == without.predict(records[0])


@pytest.mark.parametrize("settings", [{"calibrate": False}, {"method": "iterative", "tol": 0.5}])
def test_without_folds_or_a_quick_method_it_is_not_tried(settings):
    known, ids = people(6, seed=0)
    others, _ = people(3, seed=1)
    fitted = Deduplicator(FIELDS, random_state=0, **settings).fit([*known, *others], [*ids, *[None] * len(others)])
    assert (fitted.n_calibration_ is not None) == ("method" in settings)  # there are folds, but they would take long
    assert not fitted.self_trained_
    assert fitted.held_out_f1_ is None


def test_where_few_clusters_could_gain_it_is_not_tried(records, without, monkeypatch):
    monkeypatch.setattr(Trial, "can_be_beaten", lambda self: False)
    fitted = Deduplicator(FIELDS, random_state=0, tol=0.05).fit(*records)
    assert fitted.held_out_f1_ is None
    np.testing.assert_array_equal(fitted.weights_, without.weights_)


def test_without_unlabeled_records_it_is_not_tried():
    known, ids = people(8, seed=0)
    for others in ([], [{}, {"name": ""}], known):  # copies of labeled records are no news
        fitted = Deduplicator(FIELDS, random_state=0, tol=0.05).fit([*known, *others], [*ids, *[None] * len(others)])
        assert fitted.held_out_f1_ is None
        assert not fitted.self_trained_


def test_copies_of_labeled_records_are_left_out(records):
    """The whole table is often given beside its labeled part."""
    known, others = records[0][:20], records[0][20:]
    copies = [dict(record) for record in known]
    assert no_copies([*copies, *others], known, FIELDS) == [one for one in others if one not in known]
    assert no_copies(others, [], FIELDS) == others
    cells = [{"name": "Ann", "born": None}, {"name": " Ann ", "born": float("nan")}, {"name": "Ann", "street": ""}]
    assert no_copies(cells, cells[:1], FIELDS) == []  # the same as far as cells are compared
    assert no_copies([{"name": 7.0}, {"name": 8.0}], [{"name": "7"}], FIELDS) == [{"name": 8.0}]


def test_of_a_large_table_some_neighbourhoods(case, monkeypatch):
    table = case.view.table(case.others)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(some_neighbourhoods(table, 4, 3, None, rng), np.arange(len(case.others)))
    monkeypatch.setattr(self_training, "_MOST_RECORDS", 15)
    chosen = some_neighbourhoods(table, 4, 3, None, rng)
    assert chosen[:4].tolist() == [0, 1, 2, 3]  # the labeled ones
    assert 15 <= chosen.size < 15 + len(case.others) // 2
    assert np.all(np.diff(chosen) > 0)
    left, right = candidate_pairs(table, 3)
    near = {i: {i} for i in range(len(table))}
    for i, j in zip(left.tolist(), right.tolist()):
        near[i].add(j)
        near[j].add(i)
    whole = set().union(*(near[i] for i in chosen.tolist() if near[i] <= set(chosen.tolist())))
    assert whole == set(chosen.tolist())  # every record is there with some record all of whose nearest are there


def test_no_more_pairs_are_guessed_than_are_labeled(case):
    n = len(case.known)
    few = Labeled([case.pairs[0][:50]], [case.sets[0]], case.truth, case.folds)
    training = SelfTraining(case.machines, few, case.compared, case.rule, 0.0, np.random.default_rng(0))
    kept = set(zip(training.pool_left.tolist(), training.pool_right.tolist()))
    assert len(kept) == len(training.features) == 100
    assert sum(i < n and j < n for i, j in kept) == training.n_guessed == 50
    assert kept <= set(zip(*(side.tolist() for side in candidate_pairs(case.table, 6))))
    for row, (i, j) in zip(training.features, zip(training.pool_left, training.pool_right)):
        np.testing.assert_allclose(row, case.features(i, j), atol=1e-6)
