"""CoRLSR: views of any kind, streams of unlabeled data, what "auto" does, and an estimator like others."""

import itertools
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import plain_least_squares as plain
import pytest
import scipy.sparse as sp
from row_tables import each_row
from sklearn.base import clone, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import accord
from accord import RLSR, CoRLSR, KernelFeatures, OddEvenSplit, RandomSplit, Select
from accord.exceptions import InputError
from accord.learners import unlabeled as stream
from accord.learners.co_regression import SINGLE, Candidate, choose
from accord.learners.regression import TunedView

MODES = ("semiparametric", "exact")
each_mode = each_row("mode", MODES)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
TRUE = np.sin(X[:, 0] + X[:, 1]) + np.cos(X[:, 2] - X[:, 3])
Y = np.where(np.arange(80) % 4 == 0, TRUE + 0.05 * RNG.normal(size=80), np.nan)  # 20 labeled examples
LABELED, HIDDEN = np.flatnonzero(~np.isnan(Y)), np.flatnonzero(np.isnan(Y))
NEW = RNG.normal(size=(9, 4))
HALVES = [Select([0, 1]), Select([2, 3])]
FIXED = {"gamma": 0.4, "eta": 0.2, "disagreement_weight": 0.1, "standardize": False}


def fit(views=None, X=X, y=Y, unlabeled=None, **settings):
    return CoRLSR(HALVES if views is None else views, **{**FIXED, **settings}).fit(X, y, unlabeled=unlabeled)


def oracle(mode, columns=((0, 1), (2, 3)), labeled=None, targets=Y, gamma=3.0, eta=0.2, lambda_=0.1, X=X, new=NEW):
    """Predictions of each view for new inputs, from the systems of the thesis."""
    make = plain.exact_view if mode == "exact" else plain.semiparametric_view
    labeled = [LABELED] * len(columns) if labeled is None else labeled
    hidden = np.setdiff1d(np.arange(len(X)), np.concatenate(labeled))
    views, bases = [], []
    for own, rows in zip(columns, labeled):
        base = X[np.r_[rows, hidden]][:, own]
        views.append(make(plain.rbf(base, base, gamma), np.asarray(targets)[rows][:, None], eta))
        bases.append(base if mode == "exact" else base[: len(rows)])
    alphas = plain.solve(views, lambda_)
    return [plain.rbf(new[:, own], base, gamma) @ a for own, base, a in zip(columns, bases, alphas)]


# -- the optimum ------------------------------------------------------------------------------------------------------


@each_mode
@pytest.mark.parametrize("columns", [((0, 1, 2, 3),), ((0, 1), (2, 3)), ((0, 1), (2, 3, 0), (1, 3))])
def test_predictions_are_those_of_the_thesis(mode, columns):
    model = fit([Select(list(own)) for own in columns], mode=mode, gamma=3.0)
    expected = oracle(mode, columns)
    for found, own in zip(model.predict_views(NEW).values(), expected):
        np.testing.assert_allclose(found, own[:, 0], atol=1e-8)
    np.testing.assert_allclose(model.predict(NEW), np.mean(expected, axis=0)[:, 0], atol=1e-8)
    spread = np.sqrt(np.mean((np.stack(expected) - np.mean(expected, axis=0)) ** 2))
    assert model.disagreement(NEW) == pytest.approx(spread, abs=1e-8)


@each_mode
def test_views_with_labels_of_their_own(mode):
    one, two = Y.copy(), Y.copy()
    one[LABELED[:8]], two[LABELED[-5:]] = np.nan, np.nan
    model = fit({"a": HALVES[0], "b": HALVES[1]}, y={"b": two, "a": one.tolist()}, mode=mode, gamma=3.0)
    expected = oracle(mode, labeled=[LABELED[8:], LABELED[:-5]])
    for name, own in zip("ab", expected):
        np.testing.assert_allclose(model.predict_views(NEW)[name], own[:, 0], atol=1e-8)
    assert model.transduction_.shape == (60,)  # an example with a label in one view is not unlabeled


@each_mode
def test_several_outputs(mode):
    both = np.column_stack([Y, 2 * Y - 1])
    model = fit(y=both, mode=mode)
    assert model.predict(NEW).shape == (9, 2)
    assert model.transduction_.shape == (60, 2)
    for k in range(2):
        np.testing.assert_allclose(model.predict(NEW)[:, k], fit(y=both[:, k], mode=mode).predict(NEW), atol=1e-9)


@each_mode
@pytest.mark.parametrize("case", ["one view", "no weight", "nothing unlabeled"])
def test_reduces_to_rlsr(mode, case):
    views, lambda_, rows = HALVES, 0.1, np.arange(80)
    if case == "one view":
        views = [Select([0, 1, 2, 3])]
    elif case == "no weight":
        lambda_ = 0.0
    else:
        rows = LABELED
    model = fit(views, X[rows], Y[rows], mode=mode, disagreement_weight=lambda_)
    singles = [RLSR(view, gamma=0.4, eta=0.2, standardize=False).fit(X, Y).predict(NEW) for view in views]
    np.testing.assert_allclose(model.predict(NEW), np.mean(singles, axis=0), atol=1e-10)
    assert not model.fallback_


@each_mode
def test_transduction_is_what_is_predicted_for_unlabeled_inputs(mode):
    model = fit(mode=mode)
    np.testing.assert_allclose(model.transduction_, model.predict(X[HIDDEN]), atol=1e-12)
    assert fit(X=X[LABELED], y=Y[LABELED], mode=mode).transduction_.shape == (0,)


@each_mode
def test_weight_makes_views_agree(mode):
    found = [fit(mode=mode, disagreement_weight=lambda_).disagreement(X[HIDDEN]) for lambda_ in (0.0, 0.01, 1.0, 100.0)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.1 * found[0]


def test_eta_per_view():
    both = fit(eta=[0.1, 0.9])
    assert both.etas_ == [0.1, 0.9]
    assert fit(eta=(0.2, 0.2)).predict(NEW).tolist() == fit(eta=0.2).predict(NEW).tolist()
    rule = fit(eta=None, gamma=None)
    for v, (own, eta, gamma) in enumerate(zip(((0, 1), (2, 3)), rule.etas_, rule.gammas_)):
        rows = X[LABELED][:, own]
        assert eta == pytest.approx(1 / np.mean(np.linalg.norm(rows, axis=1))), v
        assert gamma == pytest.approx(1 / np.mean([np.sum((a - b) ** 2) for a in rows for b in rows])), v


@each_mode
@pytest.mark.parametrize("lambda_", [0.0, 0.1])
def test_loo_rmse_is_that_of_the_prediction_without_the_label(mode, lambda_):
    """Fitted again without it; the example stays where functions are expanded over."""
    model = fit(mode=mode, disagreement_weight=lambda_)
    make = plain.exact_view if mode == "exact" else plain.semiparametric_view
    views = []
    for own in ((0, 1), (2, 3)):
        base = X[np.r_[LABELED, HIDDEN]][:, own]
        views.append(make(plain.rbf(base, base, 0.4), Y[LABELED][:, None], 0.2))
    expected = np.mean(plain.left_out(views, lambda_), axis=0)[:, 0]
    assert model.loo_rmse_ == pytest.approx(np.sqrt(np.mean((expected - Y[LABELED]) ** 2)), rel=1e-6)


def test_loo_rmse_with_labels_of_their_own_is_that_of_the_views_that_know_the_label():
    one, two = Y.copy(), Y.copy()
    one[LABELED[:10]], two[LABELED[10:]] = np.nan, np.nan
    model = fit({"a": HALVES[0], "b": HALVES[1]}, y={"a": one, "b": two}, disagreement_weight=0.0)
    errors = []
    for i in LABELED:
        view, own = (HALVES[1], two) if i in LABELED[:10] else (HALVES[0], one)
        kept = np.where(np.arange(80) == i, np.nan, own)
        predicted = RLSR(view, gamma=0.4, eta=0.2, standardize=False).fit(X, kept).predict(X[[i]])[0]
        errors.append((predicted - Y[i]) ** 2)
    assert model.loo_rmse_ == pytest.approx(np.sqrt(np.mean(errors)), rel=1e-6)


# -- views ------------------------------------------------------------------------------------------------------------


def test_default_views_are_random_halves():
    model = CoRLSR(**FIXED, random_state=3).fit(X, Y)
    assert model.view_names_ == ["random1", "random2"]
    assert [view.matrix(X).shape[1] for view in model.views_] == [2, 2]
    others = {tuple(CoRLSR(**FIXED, random_state=seed).fit(X, Y).predict(NEW)) for seed in range(12)}
    assert len(others) > 1


@each_mode
def test_several_kernels_of_the_same_input(mode):
    kernels = {"smooth": KernelFeatures(gamma=0.1), "line": KernelFeatures(kernel="linear"), "third": KernelFeatures()}
    model = fit(kernels, mode=mode)
    assert model.view_names_ == ["smooth", "line", "third"]
    assert model.gammas_[0] == 0.1
    assert np.isfinite(model.predict(NEW)).all()
    auto = fit(kernels, mode=mode, disagreement_weight="auto")
    singles = [row["candidate"] for row in auto.auto_report_ if row["candidate"].startswith("one view")]
    assert singles == ["one view: smooth", "one view: line", "one view: third"]


@each_mode
def test_kernels_by_name_function_and_value(mode):
    """The same kernel, told in three ways."""

    def by_hand(a, b):
        return plain.rbf(a, b, 0.4)

    expected = fit(mode=mode)
    np.testing.assert_allclose(fit(mode=mode, kernel=by_hand).predict(NEW), expected.predict(NEW), atol=1e-9)
    values, new = (
        [(plain.rbf(A[[i], :2], X[:, :2], 0.4)[0], plain.rbf(A[[i], 2:], X[:, 2:], 0.4)[0]) for i in range(len(A))]
        for A in (X, NEW)
    )
    given = fit([Select(0), Select(1)], values, mode=mode, kernel="precomputed")
    np.testing.assert_allclose(given.predict(new), expected.predict(NEW), atol=1e-8)


def test_other_inputs_for_every_view():
    pairs, new = ([(row[:2], {"c": row[2], "d": row[3]}) for row in A.tolist()] for A in (X, NEW))
    views = {"numbers": Select(0), "names": Select(1, accord.DictFeatures())}
    model = fit(views, pairs)
    np.testing.assert_allclose(model.predict(new), fit().predict(NEW), atol=1e-8)


def test_splits_inside_a_dict():
    model = fit({"all": KernelFeatures(), "halves": OddEvenSplit()})
    assert list(model.predict_views(NEW)) == ["all", "halves/odd", "halves/even"]


def test_containers():
    expected = fit().predict(NEW)
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = [Select(["a", "b"]), Select(["c", "d"])]
    np.testing.assert_allclose(fit(named, frame).predict(pd.DataFrame(NEW, columns=list("abcd"))), expected, atol=1e-10)
    for make in (sp.csr_array, sp.coo_array, np.ndarray.tolist, lambda A: list(A)):
        np.testing.assert_allclose(fit(X=make(X)).predict(make(NEW)), expected, atol=1e-9)
    for y in (Y.tolist(), [None if np.isnan(v) else v for v in Y], pd.Series(Y)):
        np.testing.assert_array_equal(fit(y=y).predict(NEW), expected)


# -- streams ----------------------------------------------------------------------------------------------------------

BLOCKS = {
    "array": lambda Z, path: Z,
    "blocks": lambda Z, path: [Z[:7], Z[7:8], Z[8:]],
    "generator": lambda Z, path: (Z[i : i + 11] for i in range(0, len(Z), 11)),
    "frames": lambda Z, path: [pd.DataFrame(Z[:30]), pd.DataFrame(Z[30:])],
    "memory map": lambda Z, path: np.save(path / "Z.npy", Z) or np.load(path / "Z.npy", mmap_mode="r"),
    "lists": lambda Z, path: Z.tolist(),
    "sparse": lambda Z, path: sp.csr_array(Z),
    "sparse blocks": lambda Z, path: iter([sp.csr_array(Z[:20]), sp.coo_array(Z[20:])]),
    "single rows": lambda Z, path: (Z[[i]] for i in range(len(Z))),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", BLOCKS)
def test_streams(mode, kind, tmp_path):
    """More unlabeled examples are as good as those of X, however they come."""
    expected = fit(mode=mode).predict(NEW)
    rows = np.r_[LABELED, HIDDEN[:5]]
    model = fit(X=X[rows], y=Y[rows], unlabeled=BLOCKS[kind](X[HIDDEN[5:]], tmp_path), mode=mode)
    np.testing.assert_allclose(model.predict(NEW), expected, atol=1e-8)
    assert model.transduction_.shape == (5,)


@pytest.mark.parametrize("kind", BLOCKS)
def test_streams_and_auto(kind, tmp_path):
    expected = fit(X=X[LABELED], y=Y[LABELED], unlabeled=X[HIDDEN], disagreement_weight="auto")
    model = fit(X=X[LABELED], y=Y[LABELED], unlabeled=BLOCKS[kind](X[HIDDEN], tmp_path), disagreement_weight="auto")
    assert model.weight_ == pytest.approx(expected.weight_)
    np.testing.assert_allclose(model.predict(NEW), expected.predict(NEW), atol=1e-8)


def test_long_streams_are_cut_into_blocks(monkeypatch):
    expected = fit()
    monkeypatch.setattr(stream, "BLOCK", 7)
    np.testing.assert_allclose(fit().predict(NEW), expected.predict(NEW), atol=1e-10)


@pytest.mark.parametrize("gamma", [0.4, 1e-4], ids=["well conditioned", "badly conditioned"])
def test_any_number_of_threads_gives_the_same_bits(gamma, monkeypatch):
    monkeypatch.setattr(stream, "BLOCK", 5)
    found = [fit(n_jobs=n_jobs, gamma=gamma).predict(NEW) for n_jobs in (None, 1, 2, 4)]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_a_stream_is_never_in_memory():
    """A few blocks at a time: 80 MB pass, far less is held."""
    rng = np.random.default_rng(0)

    def blocks():
        for _ in range(50):
            yield rng.normal(size=(2000, 100))

    labeled = rng.normal(size=(20, 100))
    tracemalloc.start()
    CoRLSR(**FIXED, random_state=0).fit(labeled, labeled[:, 0], unlabeled=blocks())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_unlabeled_rows_of_x_are_not_copied_at_once(tmp_path):
    """X may be a file larger than memory."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", rng.normal(size=(60_000, 50)))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    y = np.full(60_000, np.nan)
    y[:20] = mapped[:20, 0]
    tracemalloc.start()
    fit([Select(slice(0, 25)), Select(slice(25, 50))], mapped, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.9 * mapped.nbytes, f"{peak / 1e6:.0f} MB for a file of {mapped.nbytes / 1e6:.0f} MB"


@each_mode
@pytest.mark.parametrize("nothing", [[], np.empty((0, 4)), iter([])], ids=["list", "array", "iterator"])
@pytest.mark.parametrize("lambda_", [0.1, "auto"])
def test_nothing_unlabeled_after_all(mode, nothing, lambda_):
    model = fit(X=X[LABELED], y=Y[LABELED], unlabeled=nothing, mode=mode, disagreement_weight=lambda_)
    assert model.weight_ == 0.0


@pytest.mark.parametrize("kind", ["array", "lists", "frame", "list and array"])
def test_the_scale_does_not_depend_on_the_container(kind):
    """Columns are scaled by all examples, whatever they are held in."""
    far = X[HIDDEN] * [1, 10, 1, 1]
    make = {"array": np.asarray, "lists": np.ndarray.tolist, "frame": pd.DataFrame, "list and array": list}[kind]
    more = far if kind == "list and array" else make(far)
    options = {"gamma": 0.4, "eta": 0.2, "disagreement_weight": 0.1}
    model = CoRLSR(OddEvenSplit(), **options).fit(make(X[LABELED]), Y[LABELED], unlabeled=more)
    expected = CoRLSR(OddEvenSplit(), **options).fit(X[LABELED], Y[LABELED], unlabeled=far)
    np.testing.assert_allclose(model.predict(make(NEW)), expected.predict(NEW), atol=1e-9)


@each_row(
    ("bad", "message"),
    [
        (3, "unlabeled is 3 of type int; expected rows of inputs, or an iterable of blocks"),
        ("abc", "unlabeled is 'abc' of type str"),
        (X[:, :3], r"unlabeled\[0\]"),
        (iter([X, X[:, :3]]), "3 columns; Select cannot take"),
        (iter([X, 5]), "unlabeled"),
        (iter([5]), "unlabeled"),
        (np.where(X > 1, np.nan, X), "is nan; features must be finite"),
    ],
)
def test_bad_streams(bad, message):
    with pytest.raises(InputError, match=message):
        fit(X=X[LABELED], y=Y[LABELED], unlabeled=bad)


def test_errors_in_a_stream_do_not_blame_x():
    """The labeled inputs are fine; a number in the message must not point into them."""
    bad = X[HIDDEN].copy()
    bad[2, 1] = np.nan
    with pytest.raises(InputError, match=r"unlabeled\[2, 1\] is nan"):
        fit(X=X[LABELED], y=Y[LABELED], unlabeled=bad)


def test_errors_name_the_row_that_a_sample_was_taken_from(monkeypatch):
    monkeypatch.setattr("accord.learners.unlabeled.SAMPLE", 7)  # views see 7 rows of X, from all places
    bad = X.copy()
    bad[-1, 1] = np.nan
    with pytest.raises(InputError, match=rf"^X\[{len(X) - 1}, 1\] is nan"):
        fit(X=bad, y=Y, unlabeled=X[:3])
    with pytest.raises(InputError, match=r"^unlabeled\[2, 1\] is nan"):
        fit(X=X, y=Y, unlabeled=bad[-3:])


# -- auto -------------------------------------------------------------------------------------------------------------


@each_mode
def test_auto_report(mode):
    model = CoRLSR(OddEvenSplit(), mode=mode, random_state=0).fit(X, Y)
    report = model.auto_report_
    assert [row["candidate"] for row in report] == ["one view: all"] + ["views"] * 7
    assert [row["lambda_"] for row in report[:2]] == [0.0, 0.0]
    assert [row["lambda_"] for row in report] == sorted(row["lambda_"] for row in report)
    (chosen,) = [row for row in report if row["chosen"]]
    assert chosen["why"]
    assert (chosen["lambda_"], chosen["loo_rmse"]) == (model.weight_, pytest.approx(model.loo_rmse_))
    assert model.fallback_ == chosen["candidate"].startswith("one view")
    # the numbers are those of fits with these weights, and of RLSR
    weight = report[4]["lambda_"]
    fixed = CoRLSR(OddEvenSplit(), mode=mode, disagreement_weight=weight).fit(X, Y)
    assert report[4]["loo_rmse"] == pytest.approx(fixed.loo_rmse_)
    assert fixed.auto_report_ is None
    assert report[0]["loo_rmse"] == pytest.approx(RLSR().fit(X, Y).loo_rmse_)


def crossed(seed, n=40, m=150):
    """Targets that need columns of both views at once, and unlabeled examples from elsewhere."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, 4))
    return A, A[:, 0] * A[:, 1] + A[:, 2] * A[:, 3], rng.normal(size=(m, 4)) * 20


CROSSED = [Select([0, 2]), Select([1, 3])]


@each_mode
def test_auto_leaves_unlabeled_noise_alone(mode):
    for seed in range(3):
        A, y, noise = crossed(seed)
        model = CoRLSR(CROSSED, mode=mode).fit(A, y, unlabeled=noise)
        assert model.fallback_
        assert model.weight_ == 0.0


def test_fallback_is_rlsr():
    A, y, noise = crossed(0)
    model = CoRLSR(CROSSED).fit(A, y, unlabeled=noise)
    alone = RLSR(CROSSED).fit(np.vstack([A, noise]), [*y, *[None] * len(noise)])
    assert model.fallback_
    np.testing.assert_allclose(model.predict(NEW), alone.predict(NEW), atol=1e-8)
    assert model.loo_rmse_ == pytest.approx(alone.loo_rmse_)
    assert list(model.predict_views(NEW)) == ["all"]
    assert model.disagreement(NEW) == 0.0
    assert len(model.coefficients_) == len(model.gammas_) == len(model.etas_) == 1


@each_mode
def test_auto_uses_views_where_they_help(mode):
    """The same truth with noise of its own in each view, which are not compared in the same way."""
    rng = np.random.default_rng(0)
    t = rng.uniform(-2, 2, 120)
    A = t[:, None] + rng.normal(size=(120, 4))
    views = [Select([0, 1], KernelFeatures(gamma=0.1)), Select([2, 3], KernelFeatures(gamma=0.12))]
    model = CoRLSR(views, mode=mode).fit(A, np.where(np.arange(120) < 80, t, np.nan))
    assert not model.fallback_
    assert len(model.views_) == 2
    singles = [row["loo_rmse"] for row in model.auto_report_ if row["candidate"].startswith("one view")]
    assert model.loo_rmse_ < min(singles)


def candidate(name, weight, errors):
    (one,) = CoRLSR([KernelFeatures(gamma=0.4)], eta=0.2).fit(X, Y).views_
    tuned = TunedView(one, 0.2, X, np.eye(1), Y, Y)
    return Candidate(name, weight, [tuned], [], [], dict(enumerate(errors)))


@each_row(
    ("errors", "wins"),
    [
        ([0.5, 0.5, 0.5, 0.5], True),  # better everywhere, in the same way
        ([0.1, 0.2, 0.7, 0.4], True),  # by 0.65 on average, give or take 0.13
        ([0.9, 0.2, 1.0, 0.5], False),  # by 0.35 on average, give or take 0.18
        ([0.0, 0.0, 0.0, 3.5], False),  # by 0.125 on average, give or take 0.875
        ([1.0, 1.0, 1.0, 1.0], False),
        ([1.1, 1.1, 1.1, 1.1], False),
    ],
)
def test_one_view_wins_all_doubts(errors, wins):
    """Others must be better by more than two standard errors of the difference."""
    one, other = candidate(SINGLE, 0.0, [1.0, 1.0, 1.0, 1.0]), candidate("views", 0.1, errors)
    worse = candidate("views", 1.0, [9.0] * 4)
    chosen, report = choose([one, worse, other])
    assert chosen is (other if wins else one)
    assert [row["chosen"] for row in report] == [not wins, False, wins]
    assert [row["loo_rmse"] for row in report] == pytest.approx(np.sqrt([1.0, 9.0, np.mean(errors)]))


def test_of_several_single_views_the_best_is_compared():
    one, two = candidate(SINGLE, 0.0, [1.0] * 4), candidate(SINGLE, 0.0, [0.3, 0.4, 0.3, 0.4])
    chosen, _ = choose([one, two, candidate("views", 0.1, [0.4, 0.3, 0.4, 0.2])])
    assert chosen is two


def test_auto_with_a_single_view_is_rlsr():
    model = CoRLSR([KernelFeatures(gamma=0.4)], eta=0.2).fit(X, Y)
    assert not model.fallback_
    assert len(model.auto_report_) == 1
    assert model.predict(NEW) == pytest.approx(RLSR(KernelFeatures(gamma=0.4), eta=0.2).fit(X, Y).predict(NEW))


@each_row("n", [1, 2, 3])
def test_auto_with_few_labels(n):
    y = np.where(np.arange(80) < n, TRUE, np.nan)
    model = CoRLSR(random_state=0).fit(X, y)
    assert np.isfinite(model.predict(NEW)).all()
    if n < 3:
        assert model.fallback_


def test_auto_weights_do_not_depend_on_the_order_of_views():
    one, two = Y.copy(), Y.copy()
    one[LABELED[5:]] = np.nan
    settings = {"gamma": 0.4, "eta": 0.2}
    first = CoRLSR({"a": HALVES[0], "b": HALVES[1]}, **settings).fit(X, {"a": one, "b": two})
    second = CoRLSR({"b": HALVES[1], "a": HALVES[0]}, **settings).fit(X, {"a": one, "b": two})
    weights = [[row["lambda_"] for row in model.auto_report_] for model in (first, second)]
    assert weights[0] == pytest.approx(weights[1])


# -- what is refused --------------------------------------------------------------------------------------------------


@each_row(
    ("settings", "message"),
    [
        ({"mode": "fast"}, 'mode is \'fast\'; expected "semiparametric" or "exact"'),
        ({"disagreement_weight": -0.1}, r'disagreement_weight is -0\.1; expected a number, 0 or more, or "auto"'),
        ({"disagreement_weight": "best"}, "disagreement_weight is 'best'"),
        ({"disagreement_weight": np.inf}, "disagreement_weight is inf"),
        ({"disagreement_weight": True}, "disagreement_weight is True"),
        ({"disagreement_weight": None}, "disagreement_weight is None"),
        ({"disagreement_weight": np.array([0.1, 0.2])}, "disagreement_weight is"),
        ({"eta": [1.0]}, "eta has 1 values but there are 2 views"),
        ({"eta": [1.0, -1.0]}, r"eta\[1\] is -1\.0; expected a positive number"),
        ({"eta": 0}, "eta is 0; expected"),
        ({"gamma": "scale"}, "gamma is 'scale'"),
        ({"kernel": "cosine"}, "kernel is 'cosine'"),
        ({"standardize": 2}, "standardize is 2"),
        ({"random_state": "x"}, "random_state is 'x'"),
        ({"views": []}, "views is empty"),
        ({"views": [Select([0]), None]}, r"views\['view1'\] is None"),
        ({"views": RandomSplit(n_views=5)}, "view 'random5' of RandomSplit has no features"),
        ({"kernel": "precomputed"}, "view 'view0' has 2 kernel values for each of 80 inputs"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message):
        fit(**settings)


@each_row(
    ("y", "message"),
    [
        ({"a": Y}, r"y has targets for \['a'\]; the views are \['view0', 'view1'\]"),
        ({"view0": Y, "view1": np.full(80, np.nan)}, "all 80 examples are unlabeled in view 'view1'"),
        (np.full(80, np.nan), "all 80 examples are unlabeled: fit needs"),
        (Y[:7], "y has 7 entries but X has 80 inputs"),
    ],
)
def test_bad_targets(y, message):
    with pytest.raises(InputError, match=message):
        fit(y=y)


def test_exact_needs_all_kernel_values():
    values = [(row, row) for row in plain.rbf(X, X, 0.4)]
    with pytest.raises(InputError, match="unlabeled cannot be given beside X if mode='exact' and kernel='precomputed'"):
        fit([Select(0), Select(1)], values, kernel="precomputed", mode="exact", unlabeled=values[:3])
    assert fit([Select(0), Select(1)], values, kernel="precomputed", unlabeled=values[:3]).weight_ == 0.1


def test_exact_says_when_memory_is_short(monkeypatch):
    monkeypatch.setenv("ACCORD_MEMORY", "100000")
    with pytest.raises(InputError, match="Use mode='semiparametric', or fewer unlabeled examples"):
        fit(mode="exact")
    assert fit().weight_ == 0.1


def test_a_kernel_that_is_none_is_named():
    bad = {"good": HALVES[0], "bad": Select([2, 3], KernelFeatures(kernel=lambda a, b: -a @ b.T))}
    for mode in MODES:
        with pytest.raises(InputError, match="kernel matrix of view 'bad' is not positive definite"):
            fit(bad, mode=mode)


# -- an estimator -----------------------------------------------------------------------------------------------------


def test_parameters():
    given = {name: object() for name in CoRLSR().get_params(deep=False)}
    assert vars(CoRLSR(**given)) == given
    model = fit(eta=[0.1, 0.2])
    assert model.get_params(deep=False)["eta"] == [0.1, 0.2]
    assert model.disagreement_weight == 0.1
    assert not hasattr(clone(model), "coefficients_")
    assert is_regressor(model)
    with pytest.raises(ValueError, match="not fitted yet"):
        CoRLSR().predict(X)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("settings", [{}, {"disagreement_weight": "auto"}, {"views": None}, {"views": OddEvenSplit()}])
def test_copies(mode, settings, tmp_path):
    model = CoRLSR(**{"views": HALVES, **FIXED, **settings}, mode=mode, random_state=1).fit(X, Y)
    expected = model.predict_views(NEW)
    model.save(tmp_path / "model.accord")
    for copy in (pickle.loads(pickle.dumps(model)), accord.load(tmp_path / "model.accord")):
        assert copy.predict_views(NEW).keys() == expected.keys()
        np.testing.assert_array_equal(copy.predict(NEW), model.predict(NEW))
        np.testing.assert_array_equal(copy.transduction_, model.transduction_)
        assert copy.auto_report_ == model.auto_report_
        np.testing.assert_array_equal(clone(copy).fit(X, Y).predict(NEW), model.predict(NEW))


@each_mode
def test_random_state_bit_for_bit(mode):
    settings = {"mode": mode, "disagreement_weight": 0.1}
    fits = [CoRLSR(random_state=5, **settings).fit(X, Y) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].predict(NEW), fits[1].predict(NEW))
    np.testing.assert_array_equal(fits[0].fit(X, Y).predict(NEW), fits[1].predict(NEW))
    one, two = (CoRLSR(random_state=np.random.default_rng(5), **settings).fit(X, Y).predict(NEW) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_searches_and_pipelines():
    rows = LABELED
    search = GridSearchCV(CoRLSR(HALVES, **FIXED), {"eta": [1e-2, 0.3, 1e4], "disagreement_weight": [0.0, 0.1]}, cv=3)
    search.fit(X[rows], Y[rows])
    assert search.best_params_["eta"] < 1e4
    piped = make_pipeline(StandardScaler(), CoRLSR(HALVES, **FIXED)).fit(X, Y)
    own = CoRLSR(HALVES, **{**FIXED, "standardize": "columns"}).fit(X, Y)
    np.testing.assert_allclose(piped.predict(NEW), own.predict(NEW), atol=1e-8)


def test_searches_with_unlabeled_examples():
    found = cross_val_score(CoRLSR(HALVES, **FIXED), X, Y, cv=4, error_score="raise")
    assert np.isfinite(found).all()
    model = fit()
    assert model.score(X, Y) == pytest.approx(model.score(X[LABELED], Y[LABELED]))


def test_the_order_of_unlabeled_examples_does_not_matter():
    order = np.r_[LABELED, np.random.default_rng(0).permutation(HIDDEN)]
    for mode, lambda_ in itertools.product(MODES, (0.1, "auto")):
        expected = fit(mode=mode, disagreement_weight=lambda_).predict(NEW)
        found = fit(X=X[order], y=Y[order], mode=mode, disagreement_weight=lambda_).predict(NEW)
        np.testing.assert_allclose(found, expected, atol=1e-8)
