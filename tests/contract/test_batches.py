"""partial_fit and fit_batches of the perceptron and the stochastic CRF."""

import numpy as np
import pytest
from battery import TREE, classes, token_dicts, token_vectors, tokens

import accord
from accord import (
    CRF,
    ArrayFeatures,
    ConcatenatedViews,
    DictFeatures,
    InputError,
    KernelFeatures,
    MultiClass,
    Sequence,
    StructuredPerceptron,
    Taxonomy,
    TokenFeatures,
)

ONLINE = {
    "perceptron": lambda s, **p: StructuredPerceptron(s, random_state=0, **p),
    "plain perceptron": lambda s, **p: StructuredPerceptron(s, averaged=False, random_state=0, **p),
    "crf": lambda s, **p: CRF(s, solver="sgd", C=0.1, random_state=0, **p),
}
DATA = {
    "classes": (MultiClass(), ArrayFeatures(), classes),
    "taxonomy": (Taxonomy(TREE), ArrayFeatures(), classes),
    "tokens": (Sequence(), TokenFeatures(window=1), tokens),
    "tokens, two views": (Sequence(), ConcatenatedViews([TokenFeatures(window=1), TokenFeatures(window=0)]), tokens),
    "token dicts": (Sequence(order=2), DictFeatures(window=1), token_dicts),
    "token vectors": (Sequence(), ArrayFeatures(), token_vectors),
}
each_learner = pytest.mark.parametrize("learner", ONLINE)
each_data = pytest.mark.parametrize("data", DATA)
ALL_LABELS = {"single": ["bus", "car", "cat", "dog"], "tokens": ["B-LOC", "B-PER", "I-PER", "O"]}


def split(X, Y, size):
    """The data in batches."""
    return [(X[k : k + size], Y[k : k + size]) for k in range(0, len(Y), size)]


def labels_of(structure):
    return ALL_LABELS["single" if structure.single_row else "tokens"]


@each_data
@pytest.mark.parametrize("averaged", [True, False])
def test_perceptron_on_batches_is_one_pass_over_all_data(data, averaged):
    structure, view, make = DATA[data]
    X, Y = make(24)
    options = {"view": view, "averaged": averaged, "shuffle": False}
    whole = StructuredPerceptron(structure, max_iter=1, **options).fit(X, Y)
    parts = StructuredPerceptron(structure, **options).fit_batches(split(X, Y, 7), classes=labels_of(structure))
    assert list(parts.predict(X)) == list(whole.predict(X))
    if data != "tokens, two views":  # views side by side leave gaps when they grow
        np.testing.assert_allclose(parts.weights_.flat(), whole.weights_.flat(), atol=1e-12)


@each_data
def test_perceptron_on_one_batch_again_and_again_is_many_passes(data):
    structure, view, make = DATA[data]
    X, Y = make(24)
    once = StructuredPerceptron(structure, view=view, max_iter=1, shuffle=False).fit(X, Y)
    whole = StructuredPerceptron(structure, view=view, max_iter=3, shuffle=False).fit(X, Y)
    again = StructuredPerceptron(structure, view=view, shuffle=False)
    for _ in range(len(whole.history_)):
        again.partial_fit(X, Y)
    assert again.history_ == whole.history_
    np.testing.assert_allclose(again.weights_.flat(), whole.weights_.flat(), atol=1e-12)
    assert not np.array_equal(again.weights_.flat(), once.weights_.flat())


@each_learner
@each_data
def test_batches_may_come_from_a_generator(learner, data):
    structure, view, make = DATA[data]
    X, Y = make(24)
    one_by_one = ONLINE[learner](structure, view=view)
    for batch_X, batch_Y in split(X, Y, 5):
        assert one_by_one.partial_fit(batch_X, batch_Y, classes=labels_of(structure)) is one_by_one
    streamed = ONLINE[learner](structure, view=view)
    for _ in range(2):  # the second time it starts anew
        found = streamed.fit_batches((batch for batch in split(X, Y, 5)), classes=labels_of(structure))
        assert found is streamed
        assert np.array_equal(streamed.weights_.flat(), one_by_one.weights_.flat())
    assert list(streamed.predict(X)) == list(one_by_one.predict(X))
    assert streamed.score(X, Y) > 0.5


def test_stochastic_crf_on_repeated_batches_nears_the_optimum():
    """A stream of 150 copies of the data has the optimum of the data with 150 times the C."""
    X, Y = token_vectors(20)
    halves = split(X, Y, 10)
    model = CRF(Sequence(), view=ArrayFeatures(), solver="sgd", C=1.0 / 150, random_state=0)
    model.fit_batches(batch for _ in range(150) for batch in halves)
    exact = CRF(Sequence(), view=ArrayFeatures(), C=1.0, tol=1e-10).fit(X, Y)
    assert model.n_seen_ == 150 * 20
    w = model.weights_.flat()
    log_p = sum(log_probability(model, x, y) for x, y in zip(X, Y))
    assert exact.objective_ <= 0.5 * w @ w - log_p <= 1.07 * exact.objective_


def log_probability(model, x, y):
    """log p(y | x): the score of y against the sum over all outputs."""
    best = model.predict_k_best([x], k=4 ** len(x))[0]
    scores = np.array([score for _, score in best])
    own = next(score for z, score in best if z == y)
    return own - np.logaddexp.reduce(scores)


# -- growing ----------------------------------------------------------------------------------------------------------


@each_learner
@pytest.mark.parametrize("view", [TokenFeatures(window=0), DATA["tokens, two views"][1]], ids=["tokens", "two views"])
def test_words_of_later_batches_are_learned(learner, view):
    model = ONLINE[learner](Sequence(), view=view)
    first = ([["Ana", "left"], ["left", "Ana"]], [["P", "O"], ["O", "P"]])
    later = ([["zzz", "123"], ["123", "zzz"]], [["P", "O"], ["O", "P"]])
    model.partial_fit(*first)
    n_dims = model.weights_.unary.shape[0]
    for _ in range(5):
        model.partial_fit(*later).partial_fit(*first)
    assert model.weights_.unary.shape[0] == model.view_.n_dims_ > n_dims
    assert model.predict(first[0] + later[0]) == first[1] + later[1]
    assert model.predict([["unseen"]]) in ([["P"]], [["O"]])


@each_learner
def test_batches_without_labels_only_bring_features(learner):
    X, Y = tokens(12)
    model = ONLINE[learner](Sequence(), view=TokenFeatures(window=1)).partial_fit(X, Y)
    before, weights = model.predict(X), model.weights_.flat()
    model.partial_fit([["brand", "new", "words"]], [None])
    assert model.weights_.unary.shape[0] == model.view_.n_dims_
    assert np.count_nonzero(model.weights_.flat()) == np.count_nonzero(weights)
    assert model.predict(X) == before
    assert len(model.predict([["brand", "new"]])[0]) == 2
    model.partial_fit(X, Y)
    assert model.score(X, Y) > 0.5


@each_learner
def test_the_first_batch_may_be_unlabeled_if_the_classes_are_given(learner):
    X, Y = tokens(12)
    with pytest.raises(InputError, match=r"the first batch has no labeled example: pass classes=\[\.\.\.\]"):
        ONLINE[learner](Sequence()).partial_fit(X, [None] * 12)
    model = ONLINE[learner](Sequence()).partial_fit(X, [None] * 12, classes=ALL_LABELS["tokens"])
    assert not hasattr(model, "weights_")
    assert model.partial_fit(X, Y).score(X, Y) > 0.5
    X, Y = classes(12)
    tree = ONLINE[learner](Taxonomy(TREE)).partial_fit(X, [None] * 12)
    assert tree.partial_fit(X, Y).score(X, Y) > 0.3


@each_learner
def test_a_label_of_a_later_batch_must_have_been_announced(learner):
    X, Y = tokens(12)
    model = ONLINE[learner](Sequence(), view=TokenFeatures())
    model.partial_fit(X, Y)
    before, n_dims = model.predict(X), model.view_.n_dims_
    with pytest.raises(InputError, match=r"Y\[1\]\[0\] is 'B-NEW', which is not one of the labels"):
        model.partial_fit([["some", "new"], ["words"]], [["O", "O"], ["B-NEW"]])
    assert model.view_.n_dims_ == n_dims, "a batch that is refused leaves no trace"
    assert model.predict(X) == before
    announced = ONLINE[learner](Sequence()).partial_fit(X, Y, classes=[*ALL_LABELS["tokens"], "B-NEW"])
    for _ in range(10):
        announced.partial_fit([["New", "words"]], [["B-NEW", "O"]])
    assert announced.predict([["New", "words"]]) == [["B-NEW", "O"]]


@each_learner
def test_a_batch_that_is_refused_leaves_a_working_model(learner):
    X, Y = tokens(12)
    model = ONLINE[learner](Sequence(), view=TokenFeatures())
    with pytest.raises(InputError, match=r"Y\[0\] has 1 labels but X\[0\] has 2 tokens"):
        model.partial_fit([["a", "b"]], [["O"]])
    model.partial_fit(X, Y)
    before = model.predict(X)
    with pytest.raises(InputError, match=r"Y\[1\] has 1 labels but X\[1\] has 2 tokens"):
        model.partial_fit([["quite"], ["other", "words"]], [["O"], ["O"]])
    assert model.predict(X) == before
    assert model.weights_.unary.shape[0] == model.view_.n_dims_
    assert model.partial_fit([["quite"], ["other", "words"]], [["O"], ["O", "O"]]).predict([["quite", "other"]])


def test_kernel_views_do_not_grow():
    X, Y = classes(12)
    model = StructuredPerceptron(MultiClass(), view=KernelFeatures()).partial_fit(X, Y)
    with pytest.raises(NotImplementedError, match="KernelFeatures cannot grow; fit it on all inputs at once"):
        model.partial_fit(X, Y)


def test_no_batches_are_an_error():
    with pytest.raises(InputError, match="batches: no labeled example in any batch"):
        StructuredPerceptron(Sequence()).fit_batches(iter([]))


# -- going on after fit and after loading -----------------------------------------------------------------------------


@each_learner
def test_training_goes_on_after_fit_and_after_loading(learner, tmp_path):
    X, Y = tokens(24)
    for solver in ("sgd", "lbfgs") if learner == "crf" else (None,):
        model = ONLINE[learner](Sequence(), view=TokenFeatures())
        if solver:
            model.set_params(solver=solver, C=1.0)
        model.fit(X, Y)
        model.save(tmp_path / "model")
        before = model.weights_.flat()
        for going_on in (model, accord.load(tmp_path / "model")):
            going_on.partial_fit(X[:1], Y[:1])
            after = going_on.weights_.flat()
            # one more example moves the weights, but does not start from zero
            assert np.linalg.norm(after - before) < 0.5 * np.linalg.norm(before)
            assert going_on.score(X, Y) > 0.9


def test_perceptron_that_makes_no_mistake_keeps_its_weights_after_loading(tmp_path):
    X, Y = tokens(24)
    model = StructuredPerceptron(Sequence(), random_state=0, max_iter=50).fit(X, Y)
    assert model.score(X, Y) == 1.0
    model.save(tmp_path / "model")
    again = accord.load(tmp_path / "model").partial_fit(X, Y)
    assert again.history_[-1]["wrong_outputs"] == 0
    assert np.array_equal(again.weights_.flat(), model.weights_.flat())
