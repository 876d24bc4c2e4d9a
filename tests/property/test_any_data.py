"""Whatever the data, fitting gives a model whose predictions are outputs of the inputs."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord import CRF, HMM, MultiClass, Sequence, StructuredPerceptron, StructuredSVM

SEQUENCE_LEARNERS = {
    "perceptron": lambda s: StructuredPerceptron(s, max_iter=2, random_state=0),
    "svm": lambda s: StructuredSVM(s, max_iter=20, random_state=0),
    "frank-wolfe": lambda s: StructuredSVM(s, max_iter=5, solver="frank-wolfe", random_state=0),
    "crf": lambda s: CRF(s, max_iter=10),
    "sgd": lambda s: CRF(s, max_iter=2, solver="sgd", random_state=0),
    "hmm": lambda s: HMM(s, max_iter=2, random_state=0),
    "gaussian hmm": lambda s: HMM(s, emission="gaussian", max_iter=2, random_state=0),
}

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
labels = st.sampled_from(["O", "B-X", "I-X"])
sentences = st.lists(st.lists(st.tuples(words, labels), max_size=4), min_size=1, max_size=6)
numbers = st.floats(-1e6, 1e6, allow_subnormal=False)


@pytest.mark.parametrize("learner", SEQUENCE_LEARNERS)
@settings(max_examples=8)
@given(sentences=sentences, unlabeled=st.sets(st.integers(0, 5)), constraints=st.sampled_from([None, "iob2"]))
def test_any_words(learner, sentences, unlabeled, constraints):
    X = [[word for word, _ in sentence] for sentence in sentences]
    Y = [None if i in unlabeled else [label for _, label in s] for i, s in enumerate(sentences)]
    structure = Sequence(labels=["O", "B-X", "I-X"], constraints=constraints)
    if all(y is None for y in Y) or not any(X):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SEQUENCE_LEARNERS[learner](structure).fit(X, Y)
    assert np.all(np.isfinite(model.weights_.flat()))
    inputs = [*X, [], ["entirely", "new", "words"]]
    found = model.predict(inputs)
    assert [len(y) for y in found] == [len(x) for x in inputs]
    assert {label for y in found for label in y} <= {"O", "B-X", "I-X"}
    if constraints == "iob2":
        assert all(b != "I-X" or a in ("B-X", "I-X") for y in found for a, b in zip([None, *y], y))
    assert list(pickle.loads(pickle.dumps(model)).predict(inputs)) == list(found)
    for y, best in zip(found, model.predict_k_best(inputs, k=3**4)):
        own = next(score for z, score in best if z == y)
        assert own >= best[0][1] - 1e-9 * max(1.0, abs(own)), "equal up to rounding, where several outputs are best"


@pytest.mark.parametrize("learner", [name for name in SEQUENCE_LEARNERS if name != "hmm"])
@settings(max_examples=8)
@given(data=st.data(), n_dims=st.integers(1, 3))
def test_any_numbers(learner, data, n_dims):
    rows = data.draw(st.lists(st.lists(numbers, min_size=n_dims, max_size=n_dims), min_size=1, max_size=8))
    Y = data.draw(st.lists(st.sampled_from([0, 1, 2, None]), min_size=len(rows), max_size=len(rows)))
    if all(y is None for y in Y):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SEQUENCE_LEARNERS[learner](MultiClass()).fit(rows, Y)
    assert np.all(np.isfinite(model.weights_.flat()))
    assert set(model.predict(rows)) <= {y for y in Y if y is not None}
    assert np.all(np.isfinite(model.decision_function(rows)))
    if isinstance(model, (CRF, HMM)):
        np.testing.assert_allclose(model.predict_marginals(rows).sum(axis=1), 1.0)
    if isinstance(model, StructuredSVM):
        assert model.dual_objective_ <= model.objective_ * (1 + 1e-6) + 1e-9
