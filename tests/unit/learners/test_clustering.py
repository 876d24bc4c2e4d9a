"""Supervised clustering: sets, views, decoders, saving, large sets."""

import pickle
import warnings

import numpy as np
import pytest
from row_tables import each_row
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import accord
from accord import CallablePairs, ClusteringSVM, InputError, Partition
from accord.kernels.partitions import correlation
from accord.kernels.partitions.condensed import pair_numbers
from accord.learners import clustering
from accord.views.pairs import PairFeatures

METHODS = ("pairwise", "iterative", "compact", "sequential")
DECODERS = ("sequential", "agglomerative", "lp", "exact")


class Differences(PairFeatures):
    """Absolute differences of number vectors; counts how many pairs it was asked for at once."""

    def fit(self, sets):
        self.names_ = ["first", "second"]
        self.largest_ = 0
        return self

    def between(self, objects, others):
        a, b = np.asarray(objects, float), np.asarray(others, float)
        self.largest_ = max(self.largest_, len(a) * len(b))
        return np.abs(a.reshape(len(a), 1, 2) - b.reshape(1, len(b), 2))


def points(n_sets=4, n=14, seed=0):
    """Sets of points around a few centres, far apart in the first coordinate."""
    rng = np.random.default_rng(seed)
    sets, Y = [], []
    for _ in range(n_sets):
        y = rng.integers(0, 4, n)
        sets.append([(10.0 * c + rng.normal(), 100 * rng.normal()) for c in y])
        Y.append([f"cluster {c}" for c in y])
    return sets, Y


@pytest.mark.parametrize("method", METHODS)
def test_every_method_goes_with_every_decoder(method):
    sets, Y = points()
    new, truth = points(3, 20, seed=1)
    model = ClusteringSVM(method, pair_features=Differences()).fit(sets, Y)
    for decoder in DECODERS:
        assert model.set_params(decoder=decoder).score(new, truth) > 0.95
        assert [len(p) for p in model.predict(new)] == [20] * 3
        assert model.predict(new)[0][0] == 0
    assert model.converged_
    assert model.duality_gap_ <= 1e-3 * model.objective_
    assert model.n_constraints_ > 0
    assert len(model.history_) == model.n_iter_


def test_predictions_are_decoded_similarities():
    sets, Y = points()
    model = ClusteringSVM(pair_features=Differences()).fit(sets, Y)
    sim = model.similarities(sets[0])
    expected = Differences().fit(sets).between(sets[0], sets[0]) @ model.weights_[:2] + model.weights_[2]
    j, k = pair_numbers(len(sets[0]))
    np.testing.assert_allclose(sim[j, k], expected[j, k])
    np.testing.assert_allclose(sim, sim.T)
    assert not np.diagonal(sim).any()
    assert model.predict(sets)[0] == correlation.sequential(sim).tolist()
    assert model.names_ == ["first", "second", "bias"]


def test_ready_arrays_are_the_same_as_a_view():
    sets, Y = points()
    view = Differences().fit(sets)
    by_view = ClusteringSVM(pair_features=Differences()).fit(sets, Y)
    for arrays in ([view.pairs(s) for s in sets], [view.between(s, s) for s in sets]):
        model = ClusteringSVM().fit(arrays, Y)
        np.testing.assert_allclose(model.weights_, by_view.weights_)
        assert model.predict(arrays) == by_view.predict(sets)
        assert model.similarities(arrays[0]).shape == (14, 14)
        assert model.names_ == ["x0", "x1", "bias"]


def test_a_function_of_two_objects_is_the_same_as_a_view():
    sets, Y = points(2, 8)
    view = CallablePairs(lambda a, b: [abs(a[0] - b[0]), abs(a[1] - b[1])], names=["first", "second"])
    model, other = (ClusteringSVM(pair_features=v).fit(sets, Y) for v in (view, Differences()))
    np.testing.assert_allclose(model.weights_, other.weights_)
    assert model.predict(sets) == other.predict(sets)


def test_units_of_features_do_not_matter():
    sets, Y = points()
    arrays = [Differences().fit(sets).pairs(s) for s in sets]
    scaled = [a * np.array([1e-4, 1e5]) for a in arrays]
    for method in METHODS:
        one, other = ClusteringSVM(method, tol=1e-6).fit(arrays, Y), ClusteringSVM(method, tol=1e-6).fit(scaled, Y)
        assert one.objective_ == pytest.approx(other.objective_, rel=1e-5)
        assert one.predict(arrays) == other.predict(scaled)
    plain = ClusteringSVM(standardize=False).fit(arrays, Y)
    with pytest.warns(UserWarning, match="stopped by rounding errors"):
        wild = ClusteringSVM(standardize=False).fit(scaled, Y)
    assert wild.dual_objective_ <= wild.objective_ != pytest.approx(plain.objective_, rel=1e-3)


def test_unlabeled_sets_are_seen_by_the_view_only():
    class Remembers(Differences):
        def fit(self, sets):
            self.n_sets_ = len(sets)
            return super().fit(sets)

    sets, Y = points()
    model = ClusteringSVM(pair_features=Remembers()).fit([*sets, sets[0]], [*Y, None])
    assert model.pair_features_.n_sets_ == 5
    np.testing.assert_array_equal(model.weights_, ClusteringSVM(pair_features=Remembers()).fit(sets, Y).weights_)
    assert model.score([*sets, sets[0]], [*Y, None]) == model.score(sets, Y)


def test_small_sets():
    sets, Y = points()
    model = ClusteringSVM(pair_features=Differences()).fit([*sets, [], [(0.0, 0.0)]], [*Y, [], ["one"]])
    for decoder in DECODERS:
        assert model.set_params(decoder=decoder).predict([[], [(1.0, 2.0)], sets[0]])[:2] == [[], [0]]
    assert model.similarities([]).shape == (0, 0)
    assert model.predict([]) == []


def test_large_sets_are_clustered_row_by_row(monkeypatch):
    sets, Y = points()
    model = ClusteringSVM(pair_features=Differences()).fit(sets, Y)
    (large,), (truth,) = points(1, 90, seed=3)
    (expected,) = model.predict([large])
    monkeypatch.setattr(clustering, "LARGE", 20)
    monkeypatch.setattr(clustering, "ROWS", 8)
    model.pair_features_.largest_ = 0
    assert model.predict([large]) == [expected]
    assert model.pair_features_.largest_ <= 8 * 90
    assert model.score([large], [truth]) > 0.95


def test_threads_change_nothing():
    sets, Y = points()
    for method in ("iterative", "compact"):
        one = ClusteringSVM(method, pair_features=Differences()).fit(sets, Y)
        two = ClusteringSVM(method, pair_features=Differences(), n_jobs=2).fit(sets, Y)
        np.testing.assert_array_equal(one.weights_, two.weights_)
        assert one.predict(sets) == two.predict(sets)


def test_copies_and_files(tmp_path):
    sets, Y = points()
    arrays = [Differences().fit(sets).pairs(s) for s in sets]
    model = ClusteringSVM("compact", decoder="lp").fit(arrays, Y)
    again = clone(model)
    assert again.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        again.predict(arrays)
    model.save(tmp_path / "model.accord")
    for other in (pickle.loads(pickle.dumps(model)), accord.load(tmp_path / "model.accord"), again.fit(arrays, Y)):
        assert other.predict(arrays) == model.predict(arrays)
        np.testing.assert_array_equal(other.weights_, model.weights_)


def test_a_function_is_not_written_to_a_file(tmp_path):
    sets, Y = points(2, 8)
    model = ClusteringSVM(pair_features=CallablePairs(lambda a, b: abs(a[0] - b[0]))).fit(sets, Y)
    with pytest.raises(InputError, match="use pickle"):
        model.save(tmp_path / "model.accord")


def test_fitting_changes_nothing_that_was_given():
    sets, Y = points(2, 8)
    view = Differences()
    model = ClusteringSVM(pair_features=view)
    before = model.get_params()
    model.fit(sets, Y)
    assert model.get_params() == before
    assert not hasattr(view, "names_")


@each_row(
    ("pairs", "together", "message"),
    [
        (np.zeros((3, 1)), [True] * 3, r"pairs has shape \(3, 1\); expected \(number of pairs, 2\)"),
        (np.zeros(2), [True], "pairs has shape"),
        (
            np.zeros((3, 2)),
            [True] * 2,
            r"together has shape \(2,\) and type bool; expected True or False for each of 3",
        ),
        (np.zeros((3, 2)), [0, 1, 2], "together has shape .* and type int"),
        (np.zeros((3, 2)), None, "together has shape"),
        (np.array([[0.0, 1.0], [np.nan, 0.0]]), [True, False], r"pairs\[1\]: feature 'x0' is nan"),
    ],
)
def test_mistakes_of_single_pairs(pairs, together, message):
    with pytest.raises(InputError, match=message):
        ClusteringSVM().fit([np.ones((3, 2))], [[0, 0, 1]], pairs, together)


def test_too_few_iterations_are_told():
    sets, Y = points()
    with pytest.warns(UserWarning, match="duality gap"):
        ClusteringSVM(pair_features=Differences(), max_iter=1, tol=1e-9).fit(sets, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ClusteringSVM(pair_features=Differences()).fit(sets, Y)


def test_identical_sets_and_constant_features_do_no_harm():
    arrays, Y = [np.ones((3, 2))] * 2, [[0, 0, 0], [0, 1, 2]]
    for method in METHODS:
        model = ClusteringSVM(method).fit(arrays, Y)
        assert np.all(np.isfinite(model.weights_))
    assert np.all(np.isfinite(ClusteringSVM().fit([np.zeros((3, 2))], [[0, 0, 1]]).weights_))


def test_the_structure_decodes_and_knows_what_is_exact():
    partition = Partition().fit([])
    for decoder in DECODERS:
        assert partition.decode(np.array([2.0, -1.0, -1.0]), decoder).tolist() == [0, 0, 1]
        assert partition.exact(decoder=decoder) == (decoder == "exact")
    assert not Partition("zero-one").exact()
    assert not partition.exact("slack")
    assert partition.encode(["b", "a", "b"]).tolist() == [0, 1, 0]
    assert Partition("zero-one").loss_between([0, 0], [1, 1]) == 0
    assert Partition("rand").loss_between([0, 0, 1], [1, 1, 1]) == pytest.approx(2 / 3)


def test_a_seed_has_no_effect_and_says_so():
    arrays, Y = [np.random.default_rng(0).normal(size=(10, 2))], [[0, 0, 1, 1, 2]]
    with pytest.warns(FutureWarning, match="random_state of ClusteringSVM has no effect"):
        seeded = clone(ClusteringSVM(random_state=3)).fit(arrays, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(seeded.weights_, ClusteringSVM().fit(arrays, Y).weights_)


def test_threads_are_checked_before_clustering():
    sets, Y = [np.ones((2, 2, 1))], [[0, 0]]
    model = ClusteringSVM().fit(sets, Y).set_params(n_jobs="two")
    with pytest.raises(InputError, match="n_jobs is 'two'"):
        model.predict(sets)
