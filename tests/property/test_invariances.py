"""What must not change a model: names of labels, order of examples, the way features are written down."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord import (
    CRF,
    HMM,
    ArrayFeatures,
    DictFeatures,
    MultiClass,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    Taxonomy,
    TokenFeatures,
)

PLAIN = ArrayFeatures(bias=False)
# Learners with one optimum, to a precision at which two ways to the same model can be compared
CONVEX = {
    "svm": lambda s, C=1.0, **p: StructuredSVM(s, C=C, tol=1e-6, reoptimize="all", random_state=0, **p),
    "svm, slack, 2-norm": lambda s, C=1.0, **p: StructuredSVM(
        s, C=C, tol=1e-6, reoptimize="all", rescaling="slack", norm=2, random_state=0, **p
    ),
    "crf": lambda s, C=1.0, **p: CRF(s, C=C, tol=1e-13, max_iter=2000, **p),
}
EVERY = CONVEX | {
    "perceptron": lambda s, **p: StructuredPerceptron(s, shuffle=False, **p),
    "hmm": lambda s, **p: HMM(s, emission="gaussian", unlabeled_weight=0.5, **p),
}
each_convex = pytest.mark.parametrize("learner", CONVEX)
each_learner = pytest.mark.parametrize("learner", EVERY)
seeds = st.integers(0, 10_000)


def draw_classes(seed, n=12, n_dims=3, labels="abc"):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(len(labels)), rng.integers(0, len(labels), n - len(labels))])
    return rng.normal(size=(len(labels), n_dims))[y] + rng.normal(size=(n, n_dims)), [labels[c] for c in y]


def draw_sequences(seed, n=8, n_dims=2, labels="abc"):
    rng = np.random.default_rng(seed)
    center = 1.5 * rng.normal(size=(len(labels), n_dims))
    X, Y = [], []
    for k in range(n):
        y = rng.integers(0, len(labels), 1 + k % 3)
        y[0] = k % len(labels)
        X.append(center[y] + rng.normal(size=(y.size, n_dims)))
        Y.append([labels[c] for c in y])
    return X, Y


def best_scores(model, X):
    return np.array([best[0][1] for best in model.predict_k_best(X, k=1)])


def assert_same_scores(a, Xa, b, Xb, atol=2e-3):
    """Both score inputs alike, up to the precision of their optimum."""
    scores, others = a.decision_function(Xa), b.decision_function(Xb)
    for s, o in zip(scores, others, strict=True):
        np.testing.assert_allclose(s, o, atol=atol)
    np.testing.assert_allclose(best_scores(a, Xa), best_scores(b, Xb), atol=atol)


# -- names of labels -------------------------------------------------------------------------------------------------


@each_learner
@pytest.mark.parametrize("sequences", [False, True])
def test_other_names_in_the_same_order_change_nothing_else(learner, sequences):
    names = {"a": "x1", "b": "x5", "c": "x7"}
    if sequences:
        X, Y = draw_sequences(0)
        renamed = [[names[label] for label in y] for y in Y]
        one, other = (EVERY[learner](Sequence(), view=PLAIN).fit(X, y) for y in (Y, renamed))
        assert list(other.predict(X)) == [[names[label] for label in y] for y in one.predict(X)]
    else:
        X, Y = draw_classes(0)
        one, other = (EVERY[learner](MultiClass(), view=PLAIN).fit(X, y) for y in (Y, [names[label] for label in Y]))
        assert list(other.predict(X)) == [names[label] for label in one.predict(X)]
    assert np.array_equal(one.weights_.flat(), other.weights_.flat())


@pytest.mark.parametrize("learner", [*CONVEX, "hmm"])
@settings(max_examples=3)
@given(seed=seeds, order=st.permutations([0, 1, 2]))
def test_permuted_labels_permute_scores(learner, seed, order):
    X, Y = draw_sequences(seed)
    names = dict(zip("abc", np.array(list("abc"))[list(order)].tolist()))
    structure = Sequence(labels=list("abc"))
    one = EVERY[learner](structure, view=PLAIN).fit(X, Y)
    other = EVERY[learner](structure, view=PLAIN).fit(X, [[names[label] for label in y] for y in Y])
    for s, o in zip(one.decision_function(X), other.decision_function(X)):
        np.testing.assert_allclose(s, o[:, list(order)], atol=2e-3)
    pair, permuted = (model.weights_.transitions[6:].reshape(3, 3) for model in (one, other))
    np.testing.assert_allclose(pair, permuted[np.ix_(order, order)], atol=2e-3)


# -- order and number of examples ------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [*CONVEX, "hmm"])
@settings(max_examples=2)
@given(seed=seeds)
def test_the_order_of_examples_does_not_matter(learner, seed):
    X, Y = draw_sequences(seed, n=10)
    Y[4] = Y[7] = None
    order = np.random.default_rng(seed).permutation(10)
    one = EVERY[learner](Sequence(labels=list("abc")), view=PLAIN).fit(X, Y)
    other = EVERY[learner](Sequence(labels=list("abc")), view=PLAIN).fit([X[i] for i in order], [Y[i] for i in order])
    assert_same_scores(one, X, other, X)


WORDS = ["Ana", "left", "Rome", "at", "Noon", "(", "saw", ")", "Tom", "42"]


@each_learner
@settings(max_examples=2)
@given(seed=seeds)
def test_the_order_and_place_of_unlabeled_examples_does_not_matter(learner, seed):
    """Words of unlabeled sentences bring features; where those are numbered must not change anything."""
    rng = np.random.default_rng(seed)
    X = [rng.choice(WORDS[:6], rng.integers(1, 5)).tolist() for _ in range(6)]
    Y = [["N" if w[0].isupper() else "O" for w in x] for x in X]
    U = [rng.choice(WORDS, rng.integers(1, 5)).tolist() for _ in range(5)]
    model = EVERY[learner](Sequence(labels=["N", "O"]), view=TokenFeatures(window=1))
    after = model.fit(X + U, [*Y, *[None] * 5])
    scores, labels = after.decision_function(X + U), after.predict(X)
    before = model.fit(U[::-1] + X, [*[None] * 5, *Y])
    for s, o in zip(scores, before.decision_function(X + U)):
        np.testing.assert_allclose(s, o, atol=2e-3)
    if learner == "perceptron":
        assert list(before.predict(X)) == list(labels)


@each_convex
@settings(max_examples=2)
@given(seed=seeds)
def test_examples_twice_are_twice_the_C(learner, seed):
    X, Y = draw_sequences(seed)
    twice = CONVEX[learner](Sequence(labels=list("abc")), C=0.7, view=PLAIN).fit(X + X, Y + Y)
    once = CONVEX[learner](Sequence(labels=list("abc")), C=1.4, view=PLAIN).fit(X, Y)
    assert twice.objective_ == pytest.approx(once.objective_, rel=1e-4)
    assert_same_scores(twice, X, once, X)


# -- features --------------------------------------------------------------------------------------------------------


@each_convex
@settings(max_examples=2)
@given(seed=seeds, scale=st.sampled_from([0.1, 3.0]))
def test_scaled_features_are_another_C(learner, seed, scale):
    """w / s on s x gives the same scores for 1 / s^2 of the regulariser, which is the same as s^2 times the C."""
    X, Y = draw_classes(seed)
    scaled = CONVEX[learner](MultiClass(), C=0.5, view=PLAIN).fit(scale * X, Y)
    plain = CONVEX[learner](MultiClass(), C=0.5 * scale**2, view=PLAIN).fit(X, Y)
    assert_same_scores(scaled, scale * X, plain, X)


@each_convex
@settings(max_examples=2)
@given(seed=seeds)
def test_features_written_twice_count_as_one_of_root_two_times_the_size(learner, seed):
    X, Y = draw_classes(seed)
    twice, larger = np.hstack([X, X]), np.sqrt(2) * X
    a, b = (CONVEX[learner](MultiClass(), view=PLAIN).fit(x, Y) for x in (twice, larger))
    assert_same_scores(a, twice, b, larger)
    np.testing.assert_allclose(a.weights_.unary[:3], a.weights_.unary[3:], atol=2e-3)


@each_convex
@settings(max_examples=2)
@given(seed=seeds)
def test_rotated_features_give_the_same_scores(learner, seed):
    X, Y = draw_classes(seed)
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    a, b = (CONVEX[learner](MultiClass(), view=PLAIN).fit(x, Y) for x in (X, X @ rotation))
    assert_same_scores(a, X, b, X @ rotation)


@each_learner
@settings(max_examples=2)
@given(seed=seeds)
def test_the_order_of_features_and_empty_features_do_not_matter(learner, seed):
    X, Y = draw_classes(seed)
    shuffled = np.hstack([X[:, [2]], np.zeros((12, 1)), X[:, :2]])
    a, b = (EVERY[learner](MultiClass(), view=PLAIN).fit(x, Y) for x in (X, shuffled))
    assert_same_scores(a, X, b, shuffled)


@each_learner
@settings(max_examples=2)
@given(seed=seeds)
def test_dicts_lists_and_arrays_of_the_same_features_are_the_same(learner, seed):
    rng = np.random.default_rng(seed)
    counts = [rng.integers(0, 3, (rng.integers(1, 4), 3)) for _ in range(8)]
    counts[0][0] = [1, 2, 1]  # names all features first, in order
    Y = [["big" if row.sum() > 2 else "small" for row in x] for x in counts]
    dicts = [[{f"f{k}": int(v) for k, v in enumerate(row)} for row in x] for x in counts]
    lists = [[[f"f{k}" for k, v in enumerate(row) for _ in range(v)] for row in x] for x in counts]
    structure = Sequence(labels=["big", "small"])
    a = EVERY[learner](structure, view=PLAIN).fit([x.astype(float) for x in counts], Y)
    for x in (dicts, lists):
        b = EVERY[learner](structure, view=DictFeatures()).fit(x, Y)
        assert_same_scores(a, counts, b, x)


# -- structures that are special cases of others ---------------------------------------------------------------------


@each_learner
@settings(max_examples=2)
@given(seed=seeds)
def test_a_flat_taxonomy_is_plain_classes(learner, seed):
    X, Y = draw_classes(seed)
    flat = EVERY[learner](Taxonomy({"a": "top", "b": "top", "c": "top"}), view=PLAIN).fit(X, Y)
    plain = EVERY[learner](MultiClass(), view=PLAIN).fit(X, Y)
    assert_same_scores(flat, X, plain, X)


@pytest.mark.parametrize("learner", [*CONVEX, "perceptron"])
@pytest.mark.parametrize("order", [1, 2])
@settings(max_examples=2)
@given(seed=seeds)
def test_sequences_without_transitions_are_classes_of_tokens(learner, order, seed):
    X, Y = draw_classes(seed)
    structure = Sequence(loss="zero-one", transition_weight=0.0, order=order)
    tokens = EVERY[learner](structure, view=PLAIN).fit([x[None] for x in X], [[y] for y in Y])
    plain = EVERY[learner](MultiClass(), view=PLAIN).fit(X, Y)
    np.testing.assert_allclose(
        np.vstack(tokens.decision_function([x[None] for x in X])), plain.decision_function(X), atol=2e-3
    )


@each_learner
@settings(max_examples=2)
@given(seed=seeds)
def test_a_matrix_of_costs_one_is_the_zero_one_loss(learner, seed):
    X, Y = draw_classes(seed)
    costs, plain = (EVERY[learner](MultiClass(loss=loss), view=PLAIN).fit(X, Y) for loss in (1 - np.eye(3), "zero-one"))
    assert_same_scores(costs, X, plain, X)
