"""HMM: counts by hand, naive Bayes against scikit-learn, Baum-Welch against listed hidden sequences."""

import itertools
from fractions import Fraction

import enumerate_losses as el
import numpy as np
import plain_hmm
import pytest
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from accord import HMM, ArrayFeatures, DictFeatures, MultiClass, Sequence, TokenFeatures

PLAIN = ArrayFeatures(bias=False)


def log(*fractions):
    return np.log([float(Fraction(f)) for f in fractions])


def test_counts_by_hand():
    """Features f, g. Label x: 3 tokens, 2 with f, 1 with g. Label y: 2 tokens, none with f, both with g."""
    X = [[["f"], ["g"]], [["f"], ["g"], ["g"]]]
    Y = [["x", "y"], ["x", "x", "y"]]
    hmm = HMM(Sequence(), view=DictFeatures(), smoothing=1.0).fit(X, Y)
    assert hmm.view_.names_ == ["f", "g"]
    on = np.array([log("3/5", "1/4"), log("2/5", "3/4")])  # (count + 1) / (tokens + 2)
    off = np.array([log("2/5", "3/4"), log("3/5", "1/4")])
    np.testing.assert_allclose(hmm.weights_.unary, on - off)
    np.testing.assert_allclose(hmm.bias_, off.sum(axis=0))
    start = log("3/4", "1/4")  # both start with x
    # x goes to x once and to y twice, y always ends; each label has three ways to go on
    pair = np.array([log("2/6", "3/6"), log("1/5", "1/5")])
    end = log("1/6", "3/5")
    np.testing.assert_allclose(hmm.weights_.transitions, np.concatenate([start, end, pair.ravel()]))
    assert hmm.unlabeled_weight_ == 0.0
    assert hmm.transduction_ == []


def test_without_ends_only_moves_are_counted():
    X, Y = [[["f"], ["g"]], [["f"], ["g"], ["g"]]], [["x", "y"], ["x", "x", "y"]]
    hmm = HMM(Sequence(ends=False), view=DictFeatures(), smoothing=1.0).fit(X, Y)
    np.testing.assert_allclose(hmm.weights_.transitions, log("2/5", "3/5", "1/2", "1/2"))


def test_scores_are_log_probabilities():
    """The five factors of one output, multiplied by hand; the transition scale changes nothing."""
    X = [[["f"], ["g"]], [["f"], ["g"], ["g"]]]
    Y = [["x", "y"], ["x", "x", "y"]]
    p = Fraction(3, 4) * Fraction(3, 6) * Fraction(3, 5)  # start x, x to y, end y
    p *= Fraction(3, 5) * Fraction(3, 5) * Fraction(3, 4) * Fraction(3, 4)  # f but not g under x, g but not f under y
    for eta in (1.0, 0.25):
        hmm = HMM(Sequence(transition_weight=eta), view=DictFeatures(), smoothing=1.0).fit(X, Y)
        best = {tuple(y): score for y, score in hmm.predict_k_best([[["f"], ["g"]]], k=4)[0]}
        assert best["x", "y"] == pytest.approx(np.log(float(p)))
        assert len(best) == 4


@pytest.mark.parametrize("smoothing", [0.01, 1.0, 5.0])
def test_transition_probabilities_sum_to_one(smoothing):
    rng = np.random.default_rng(0)
    X = [rng.integers(0, 2, (rng.integers(1, 5), 2)).astype(float) for _ in range(10)]
    Y = [rng.integers(0, 3, len(x)).tolist() for x in X]
    p = np.exp(HMM(Sequence(labels=[0, 1, 2, 3]), view=PLAIN, smoothing=smoothing).fit(X, Y).weights_.transitions)
    start, end, pair = p[:4], p[4:8], p[8:].reshape(4, 4)
    assert start.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(pair.sum(axis=1) + end, 1.0)
    np.testing.assert_allclose(pair[3], 0.2)  # a label without examples goes anywhere


# -- classes: naive Bayes -------------------------------------------------------------------------------------------


def classes(seed=0, n=40):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng, y, ["abc"[c] for c in y]


@pytest.mark.parametrize("smoothing", [0.5, 1.0, 3.0])
def test_classes_are_bernoulli_naive_bayes(smoothing):
    rng, y, Y = classes()
    X = (rng.random((40, 5)) < rng.random((3, 5))[y]).astype(float)
    prior = (np.bincount(y) + smoothing) / (40 + 3 * smoothing)  # scikit-learn does not smooth it
    peer = BernoulliNB(alpha=smoothing, class_prior=prior).fit(X, Y)
    hmm = HMM(MultiClass(), view=PLAIN, smoothing=smoothing).fit(X, Y)
    np.testing.assert_allclose(hmm.predict_marginals(X), peer.predict_proba(X), atol=1e-12)


def test_classes_are_gaussian_naive_bayes():
    rng, y, Y = classes()
    X = rng.normal(size=(3, 4))[y] + rng.uniform(0.5, 2, (3, 4))[y] * rng.normal(size=(40, 4))
    peer = GaussianNB(var_smoothing=0.0).fit(X, Y)
    hmm = HMM(MultiClass(), view=PLAIN, emission="gaussian", smoothing=1e-10).fit(X, Y)
    np.testing.assert_allclose(hmm.predict_marginals(X), peer.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(hmm.decision_function(X), peer.predict_joint_log_proba(X), atol=1e-6)


def test_gaussian_smoothing_adds_rows_that_are_like_all_rows():
    X = np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 0.0]])
    hmm = HMM(MultiClass(), view=PLAIN, emission="gaussian", smoothing=2.0).fit(X, ["a", "a", "b"])
    center, spread = X.mean(axis=0), X.var(axis=0)
    # two virtual rows one standard deviation on either side of the centre have its mean and its variance
    virtual = np.array([center - np.sqrt(spread), center + np.sqrt(spread)])
    scores = []
    for own in (X[:2], X[2:]):
        rows = np.vstack([own, virtual])
        prior = (len(own) + 2.0) / (3 + 2 * 2.0)
        variance, mean = rows.var(axis=0), rows.mean(axis=0)
        scores.append(np.log(prior) - 0.5 * np.sum(np.log(2 * np.pi * variance) + (X - mean) ** 2 / variance, axis=1))
    np.testing.assert_allclose(hmm.decision_function(X), scores[1] - scores[0])
    np.testing.assert_allclose([best[0][1] for best in hmm.predict_k_best(X, k=1)], np.max(scores, axis=0))


@pytest.mark.parametrize("value", [1.0, 1000.0, -0.3])
def test_a_constant_feature_tells_nothing(value):
    rng, y, Y = classes()
    X = rng.normal(size=(40, 2)) + y[:, None]
    X[:30], Y[:30] = X[0], ["a"] * 30  # unbalanced, so that counts of labels would show
    options = {"view": PLAIN, "emission": "gaussian"}
    without = HMM(MultiClass(), **options).fit(X, Y).predict_marginals(X)
    padded = np.hstack([X, np.full((40, 1), value)])
    found = HMM(MultiClass(), **options).fit(padded, Y).predict_marginals(padded)
    np.testing.assert_allclose(found, without, atol=1e-8)


def test_a_feature_named_twice_counts_as_two():
    X = [[["f", "f"], ["g"]], [["g"], ["f"], ["f", "f", "g"]]]
    as_dicts = [[{"f": 2.0}, {"g": 1.0}], [{"g": 1.0}, {"f": 1.0}, {"f": 2.0, "g": 1.0}]]
    Y = [["x", "y"], ["y", "x", "x"]]
    options = {"view": DictFeatures(), "emission": "gaussian"}
    listed, counted = (HMM(Sequence(), **options).fit(x, Y).predict_marginals(x) for x in (X, as_dicts))
    for a, b in zip(listed, counted):
        np.testing.assert_allclose(a, b)


# -- Baum-Welch -----------------------------------------------------------------------------------------------------


def sequences(emission, seed=0, n=9):
    rng = np.random.default_rng(seed)
    X, Y = [], []
    while len(X) < n:
        y = rng.integers(0, 3, rng.integers(1, 4)).tolist()
        if not el.is_valid([TAGS[c] for c in y], "iob2"):
            continue
        if emission == "gaussian":
            x = rng.normal(size=(len(y), 2)) + np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])[y]
        else:
            x = (rng.random((len(y), 3)) < np.array([[0.8, 0.2, 0.5], [0.2, 0.8, 0.1], [0.3, 0.3, 0.9]])[y]).astype(
                float
            )
        X.append(x)
        Y.append(y)
    return X, Y


TAGS = ["B-X", "I-X", "O"]
EMISSIONS = ["bernoulli", "gaussian"]


class Steps(HMM):
    """Takes as many steps as it is told, none among them, and never stops early."""

    def _check_params(self):
        self.tol = -1.0


@pytest.mark.parametrize("emission", EMISSIONS)
@pytest.mark.parametrize("constraints", [None, "iob2"])
@pytest.mark.parametrize(("weight", "smoothing", "n_steps"), [(1.0, 1.0, 1), (0.3, 0.5, 4), (2.0, 0.1, 3)])
def test_steps_are_those_of_listed_hidden_sequences(emission, constraints, weight, smoothing, n_steps):
    X, Y = sequences(emission)
    partly = [[TAGS[c] for c in y] if i < 4 else None for i, y in enumerate(Y)]
    hmm = Steps(
        Sequence(labels=TAGS, constraints=constraints), view=PLAIN, emission=emission, smoothing=smoothing,
        unlabeled_weight=weight, max_iter=n_steps,
    ).fit(X, partly)  # fmt: skip

    def allowed(y):
        return constraints is None or el.is_valid([TAGS[c] for c in y], constraints)

    labeled = [(X[i], Y[i]) for i in range(4)]
    model, values = plain_hmm.baum_welch(labeled, X[4:], weight, 3, smoothing, emission, n_steps, allowed)
    start, end, pair = np.split(np.exp(hmm.weights_.transitions), [3, 6])
    np.testing.assert_allclose(start, model["start"])
    np.testing.assert_allclose(end, model["end"])
    np.testing.assert_allclose(pair.reshape(3, 3), model["pair"])
    expected = [[model["emit"](row, c) for c in range(3)] for row in X[-1]]
    np.testing.assert_allclose(hmm.decision_function(X)[-1], expected)
    # the reported values contain the prior; for Bernoulli emissions and the first step it is easily written down
    if emission == "bernoulli":
        first = plain_hmm.estimate([(1.0, *e) for e in labeled], 3, smoothing, emission, None)
        prior = np.log(first["start"]).sum() + np.log(first["end"]).sum() + np.log(first["pair"]).sum()
        prior += np.log(first["p"]).sum() + np.log(1 - first["p"]).sum()
        assert hmm.log_likelihood_[0] == pytest.approx(values[0] + smoothing * prior)


@pytest.mark.parametrize("emission", EMISSIONS)
@pytest.mark.parametrize("structure", [MultiClass(), Sequence(), Sequence(constraints="iob2")], ids=str)
def test_no_step_lowers_the_penalised_likelihood(emission, structure):
    """Pseudo-counts are a prior: Baum-Welch maximises likelihood times prior, and the likelihood alone may fall."""
    X, Y = sequences(emission, seed=3, n=40)
    Y = [[TAGS[c] for c in y] for y in Y]
    if structure.single_row:
        X, Y = np.vstack(X), list(itertools.chain(*Y))
    Y = [y if i < 6 else None for i, y in enumerate(Y)]
    for smoothing, weight in ((0.05, 1.0), (1.0, 0.2), (10.0, 0.2), (10.0, 1.0)):
        hmm = Steps(
            structure, view=PLAIN, emission=emission, smoothing=smoothing, unlabeled_weight=weight, max_iter=30
        ).fit(X, Y)
        assert len(hmm.log_likelihood_) == 30
        steps = np.diff(hmm.log_likelihood_)
        assert steps.min() >= -1e-9 * abs(hmm.log_likelihood_[0]), (smoothing, weight)
        assert steps.max() > 1e-6 * abs(hmm.log_likelihood_[0]), "nothing was learned from the unlabeled data"


def test_tol_stops_baum_welch():
    X, Y = sequences("bernoulli", n=40)
    Y = [[TAGS[c] for c in y] if i < 6 else None for i, y in enumerate(Y)]
    few, many = (
        HMM(Sequence(), view=PLAIN, unlabeled_weight=1.0, max_iter=200, tol=tol).fit(X, Y) for tol in (1e-2, 1e-7)
    )
    assert len(few.log_likelihood_) < len(many.log_likelihood_) < 200
    assert few.log_likelihood_ == many.log_likelihood_[: len(few.log_likelihood_)]


# -- unlabeled_weight="auto" ----------------------------------------------------------------------------------------


def groups(rng, n, distances):
    """Two groups in the plane: their centres are that far apart in each direction; spread 1."""
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 2)) + (y[:, None] - 0.5) * np.array(distances), y.tolist()


def fit_in_three_ways(X, Y, U):
    options = {"view": PLAIN, "emission": "gaussian", "random_state": 0, "max_iter": 100}
    everything, labels = np.vstack([X, U]), [*Y, *[None] * len(U)]
    return (
        HMM(MultiClass(), **options).fit(X, Y),
        HMM(MultiClass(), unlabeled_weight=1.0, **options).fit(everything, labels),
        HMM(MultiClass(), unlabeled_weight="auto", **options).fit(everything, labels),
    )


def test_auto_leaves_misleading_unlabeled_data_out():
    """Class 1 lies up and a bit to the right of class 0; of the unlabeled groups the upper one lies far to the left."""
    rng = np.random.default_rng(0)
    X, Y = groups(rng, 30, [1.0, 3.0])
    U, _ = groups(rng, 400, [-6.0, 4.0])
    supervised, misled, auto = fit_in_three_ways(X, Y, U)
    test, truth = groups(rng, 500, [1.0, 3.0])
    assert misled.score(test, truth) < supervised.score(test, truth) - 0.05
    assert auto.unlabeled_weight_ == 0.0
    assert auto.log_likelihood_ == []
    assert np.array_equal(auto.weights_.flat(), supervised.weights_.flat())
    assert auto.transduction_ == list(supervised.predict(U))


def test_auto_uses_unlabeled_data_that_help():
    """The labeled part is so small that its means and variances are far off."""
    rng = np.random.default_rng(3)
    X, Y = groups(rng, 6, [4.0, 0.0])
    U, _ = groups(rng, 400, [4.0, 0.0])
    supervised, helped, auto = fit_in_three_ways(X, Y, U)
    test, truth = groups(rng, 500, [4.0, 0.0])
    assert helped.score(test, truth) > supervised.score(test, truth) + 0.02
    assert auto.unlabeled_weight_ > 0.0
    assert auto.score(test, truth) > supervised.score(test, truth) + 0.02


@pytest.mark.quick
@pytest.mark.parametrize("emission", ["bernoulli", "gaussian"])
def test_without_weight_unlabeled_sentences_change_nothing(emission):
    """Also features that only they have must not speak for rare labels."""
    X = [["Ana", "left"], ["Tom", "saw", "Rome"], ["in", "Rome"]]
    Y = [["N", "O"], ["N", "O", "L"], ["O", "L"]]
    more = [["Eva", "comes", "from", "Lima"], ["she", "left", "Quito"]]
    new = [["Eva", "saw", "Quito"], ["Lima", "left"]]
    alone = HMM(Sequence(), TokenFeatures(window=1), emission=emission).fit(X, Y)
    beside = HMM(Sequence(), TokenFeatures(window=1), emission=emission, unlabeled_weight=0.0).fit(
        X + more, [*Y, None, None]
    )
    for one, other in zip(alone.predict_marginals(new), beside.predict_marginals(new)):
        np.testing.assert_allclose(one, other, atol=1e-9)
