"""The learners of supervised clustering reach the optima of their programs, written out for a general solver."""

import warnings

import numpy as np
import plain_clustering as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord import ClusteringSVM
from accord.solvers import cutting_sets, margin_qp, qp
from accord.structures.partitions.partition import Partition


def make_sets(seed, sizes=(6, 5, 4), d=3, noise=1.0):
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=d)
    sets, Y = [], []
    for n in sizes:
        y = rng.integers(0, 3, n).tolist()
        j, k = np.tril_indices(n, -1)
        same = np.array(y)[j] == np.array(y)[k]
        sets.append(np.where(same, 1.0, -1.0)[:, None] * direction + noise * rng.normal(size=(j.size, d)))
        Y.append(y)
    return sets, Y


def with_bias(sets):
    return [np.hstack([s, np.ones((len(s), 1))]) for s in sets]


def fitted(method, sets, Y, **options):
    return ClusteringSVM(method, standardize=False, tol=1e-7, **options).fit(sets, Y)


@pytest.mark.parametrize("loss", ["total", "rand"])
@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_compact_is_the_program_with_the_dual_folded_in(seed, C, loss):
    sets, Y = make_sets(seed)
    value, w = plain.compact(with_bias(sets), Y, C, loss)
    model = fitted("compact", sets, Y, C=C, loss=loss)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert model.dual_objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.weights_, w, atol=1e-3 * (1 + np.abs(w).max()))
    assert model.converged_
    assert model.exact_


@pytest.mark.parametrize("loss", ["total", "rand", "zero-one"])
@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_sequential_treats_every_object_as_the_latest(seed, C, loss):
    sets, Y = make_sets(seed, (6, 4))
    value, w = plain.sequential(with_bias(sets), Y, C, loss)
    model = fitted("sequential", sets, Y, C=C, loss=loss)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.weights_, w, atol=1e-3 * (1 + np.abs(w).max()))


@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
def test_pairwise_is_a_linear_svm(C):
    sets, Y = make_sets(2)
    value, w = plain.pairwise(with_bias(sets), Y, C)
    model = fitted("pairwise", sets, Y, C=C)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.weights_, w, atol=1e-3 * (1 + np.abs(w).max()))


@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("loss", ["total", "rand"])
def test_iterative_with_the_exact_decoder_has_a_constraint_for_every_partition(C, loss):
    sets, Y = make_sets(3, (5, 4))
    value, _ = plain.iterative(with_bias(sets), Y, C, loss)
    exact = fitted("iterative", sets, Y, C=C, loss=loss, training_decoder="exact")
    assert exact.objective_ == pytest.approx(value, rel=1e-6)
    assert exact.exact_
    for decoder in ("sequential", "agglomerative", "lp"):
        model = fitted("iterative", sets, Y, C=C, loss=loss, training_decoder=decoder)
        assert not model.exact_
        # every constraint it found is a true one
        assert model.dual_objective_ <= value * (1 + 1e-6)
    assert fitted("compact", sets, Y, C=C, loss=loss).objective_ >= value * (1 - 1e-6)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.sampled_from(["total", "rand"]))
def test_relaxed_loss_augmented_decoding_equals_its_dual(seed, n, loss):
    rng = np.random.default_rng(seed)
    sim, y = rng.normal(size=n * (n - 1) // 2), rng.integers(0, 3, n)
    found = Partition(loss).fit([]).relaxed_loss_augmented(sim, y)
    assert found.value == pytest.approx(plain.dual_of_loss_augmented(sim, y, loss), abs=1e-6)
    assert found.value == pytest.approx(found.loss + sim @ found.z, abs=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([1e-3, 1.0, 1e3]))
def test_interior_points_reach_the_optimum_of_working_set_programs(seed, n_groups, C):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n_groups)
    deltas, offsets = rng.normal(size=(sizes.sum(), 3)), rng.uniform(0, 2, sizes.sum())
    starts = np.cumsum([0, *sizes[:-1]])
    found = margin_qp.solve(deltas, offsets, starts, C)
    groups = np.repeat(np.arange(n_groups), sizes)
    w = deltas.T @ qp.solve(deltas @ deltas.T, offsets, groups, C)
    xi = np.maximum.reduceat(np.maximum(offsets - deltas @ w, 0.0), starts)
    assert found.primal == pytest.approx(0.5 * w @ w + C * xi.sum(), rel=1e-5, abs=1e-9)
    assert found.dual <= found.primal + 1e-12
    assert found.gap <= 1e-8 * found.primal + 1e-12
    assert np.all(found.alpha >= 0)
    assert np.all(np.add.reduceat(found.alpha, starts) <= C * (1 + 1e-12))
    np.testing.assert_allclose(found.w, deltas.T @ found.alpha, atol=1e-12 * max(C, 1))


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([1e-3, 1.0, 1e3]), st.sampled_from([1e-2, 1e-8]))
def test_of_many_groups_some_are_enough(seed, largest, C, tol):
    """Groups chosen few by few have the optimum of all of them, with certificates that hold for all of them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest + 1, 90)
    sign = np.where(rng.random(sizes.sum()) < 0.1, 1.0, -1.0)
    features = np.hstack([rng.normal(size=(sign.size, 2)) + 1.5 * sign[:, None], np.ones((sign.size, 1))])
    deltas, offsets, starts = sign[:, None] * features, np.ones(sign.size), np.cumsum([0, *sizes[:-1]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(margin_qp, "FEW", 1000)
        every = margin_qp.solve(deltas, offsets, starts, C, tol)
        patch.setattr(margin_qp, "FEW", 5)
        found = margin_qp.solve(deltas, offsets, starts, C, tol, 1000)
    assert found.converged
    assert every.dual <= found.primal <= every.primal * (1 + 2 * tol)
    assert found.gap <= tol * found.primal
    check_certificates(found, deltas, offsets, starts, C)


def hard_groups():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(300, 4))
    sign = np.where(features @ np.array([1.0, -2.0, 0.5, 0.0]) + rng.normal(size=300) > 1.0, 1.0, -1.0)
    return sign[:, None] * features, np.ones(300), np.arange(300), 100.0


def check_certificates(found, deltas, offsets, starts, C):
    slacks = np.maximum.reduceat(np.maximum(offsets - deltas @ found.w, 0.0), starts)
    assert found.primal == pytest.approx(0.5 * found.w @ found.w + C * slacks.sum())
    assert found.dual == pytest.approx(found.alpha @ offsets - 0.5 * found.w @ found.w)
    assert np.all(found.alpha >= 0)
    assert np.all(np.add.reduceat(found.alpha, starts) <= C * (1 + 1e-12))
    np.testing.assert_allclose(found.w, deltas.T @ found.alpha, atol=1e-9 * max(C, 1))


@pytest.mark.parametrize("max_iter", [1, 5, 12, 15, 20, 30, 45])
def test_of_many_groups_the_best_round_counts(monkeypatch, max_iter):
    """Every round starts anew, and one that is cut short is worse than those before it."""
    monkeypatch.setattr(margin_qp, "FEW", 10)
    problem = hard_groups()
    found = margin_qp.solve(*problem, 1e-9, max_iter)
    whole = margin_qp.solve(*problem, 1e-9, 1000)
    assert whole.converged
    assert whole.n_iter > 45
    assert found.n_iter == max_iter
    assert not found.converged
    assert found.primal <= problem[-1] * 300  # without weights
    assert [row["primal"] for row in found.history] == sorted((row["primal"] for row in found.history), reverse=True)
    if max_iter >= 20:
        assert found.primal < 2 * whole.primal
    check_certificates(found, *problem)


@pytest.mark.parametrize("where", ["step", "__init__"])
def test_of_many_groups_the_best_round_survives_an_interruption(monkeypatch, where):
    monkeypatch.setattr(margin_qp, "FEW", 10)
    real, calls = getattr(margin_qp._Point, where), []

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == (25 if where == "step" else 3):  # within the third round, or as it begins
            raise KeyboardInterrupt
        return real(self, *args)

    monkeypatch.setattr(margin_qp._Point, where, interrupted)
    found = margin_qp.solve(*hard_groups(), 1e-9, 1000)
    assert found.interrupted
    assert found.primal < 100.0 * 300  # without weights
    assert np.any(found.w != 0)
    check_certificates(found, *hard_groups())


def test_many_groups_of_wild_scales(monkeypatch):
    monkeypatch.setattr(margin_qp, "FEW", 10)
    rng = np.random.default_rng(0)
    deltas = rng.normal(size=(60, 4)) * np.array([1e6, 1.0, 1e-6, 1.0])
    found = margin_qp.solve(deltas, np.ones(60), np.arange(60), 1e4)
    assert found.dual <= found.primal <= 1e4 * 60
    assert np.all(np.isfinite(found.w))


@pytest.mark.parametrize("loss", ["total", "rand"])
@pytest.mark.parametrize("method", ["pairwise", "sequential", "iterative", "compact"])
def test_single_pairs_are_sets_of_two(method, loss):
    sets, Y = make_sets(4, (5, 4))
    rng = np.random.default_rng(5)
    pairs, together = rng.normal(size=(7, 3)), rng.random(7) < 0.5
    options = {"loss": loss, "tol": 1e-7}
    found = ClusteringSVM(method, **options).fit(sets, Y, pairs, together)
    expected = ClusteringSVM(method, **options).fit(
        [*sets, *(row[None] for row in pairs)], [*Y, *([0, 0] if one else [0, 1] for one in together)]
    )
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-6)
    np.testing.assert_allclose(found.weights_, expected.weights_, atol=1e-3)


def test_wild_scales_end_early_but_feasible():
    rng = np.random.default_rng(0)
    deltas = rng.normal(size=(60, 4)) * np.array([1e6, 1.0, 1e-6, 1.0])
    found = margin_qp.solve(deltas, np.ones(60), np.arange(60), 1e4)
    assert found.dual <= found.primal
    assert np.all(np.isfinite(found.w))


class InterruptedProblem:
    """Breaks off at the third look at the sets."""

    n_examples, n_dims, exact, quick = 2, 2, True, False
    looks = 0

    def violators(self, w, enough):
        self.looks += 1
        if self.looks == 3:
            raise KeyboardInterrupt
        deltas = np.array([[1.0, 0.5], [0.2, 1.0]]) if self.looks == 1 else np.array([[-1.0, 2.0], [2.0, -1.0]])
        return np.ones(2) - deltas @ w, np.ones(2), deltas


def test_what_was_reached_survives_an_interruption():
    result = cutting_sets.train(InterruptedProblem(), 1.0, 1e-9, 100)
    assert result.interrupted
    assert not result.converged
    assert result.n_iter == 2
    assert np.any(result.w != 0)
    assert result.dual <= result.primal


def test_an_interrupted_learner_can_predict(monkeypatch):
    sets, Y = make_sets(0)
    real, calls = margin_qp._Point.step, []

    def step(self):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self)

    monkeypatch.setattr(margin_qp._Point, "step", step)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = ClusteringSVM(tol=1e-9).fit(sets, Y)
    assert model.interrupted_
    assert "Ctrl-C" in str(seen[0].message)
    assert [len(p) for p in model.predict(sets)] == [6, 5, 4]
