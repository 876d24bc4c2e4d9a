"""Kernel perceptron and kernel SVM, trained on explicit features, against direct dual implementations."""

import itertools

import enumerate_losses as el
import numpy as np
import plain_kernel
import pytest
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from accord import KernelFeatures, MultiClass, Sequence, StructuredPerceptron, StructuredSVM, TokenFeatures

N_TRAIN = 8


def draw(structure, seed=0, n=14, n_dims=2):
    """Inputs of one or a few rows whose labels follow from the place in the plane and the label before."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n):
        x = rng.normal(size=(1 if structure == "classes" else rng.integers(1, 4), n_dims))
        y = (np.hypot(*x.T) > 1.1) + 1 * (x[:, 0] > 0.8)
        X.append(x)
        Y.append((y + (rng.random(y.size) < 0.2)) % 3)
    Y[0][:], Y[1][:], Y[2][:] = 0, 1, 2
    return X, Y


KERNELS = {
    "rbf": ({"kernel": "rbf", "gamma": 0.8}, lambda a, b: rbf_kernel(a, b, gamma=0.8)),
    "poly": (
        {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0},
        lambda a, b: polynomial_kernel(a, b, degree=2, gamma=0.5, coef0=1.0),
    ),
    "linear": ({"kernel": "linear"}, lambda a, b: a @ b.T),
    "callable": ({"kernel": lambda a, b: np.exp(a @ b.T)}, lambda a, b: np.exp(a @ b.T)),
}


class Case:
    """The same data for Accord (lists of matrices) and for the dual learners (kernel values)."""

    def __init__(self, structure, kernel):
        X, Y = draw(structure)
        arguments, function = KERNELS[kernel]
        rows = np.vstack(X)
        ends = np.cumsum([len(x) for x in X])
        self.inputs = [list(range(end - len(x), end)) for end, x in zip(ends, X)]
        self.K = function(rows, rows)
        self.transitions = structure == "sequence"
        self.listed = plain_kernel.list_outputs(self.K, self.inputs, 3, self.transitions)
        self.true = [self.listed.find(i, y) for i, y in enumerate(Y[:N_TRAIN])]
        self.view = KernelFeatures(**arguments)
        if self.transitions:
            self.structure, self.X, self.Y = Sequence(normalize=True), X, [y.tolist() for y in Y]
        else:
            self.structure, self.X, self.Y = MultiClass(), np.vstack(X), [int(y[0]) for y in Y]

    def predictions(self, expansion):
        """Outputs of all inputs, best first score by score."""
        scores = self.listed.gram @ expansion
        found = [self.listed.of(i) for i in range(len(self.inputs))]
        best = [here[np.argmax(scores[here])] for here in found]
        outputs = [list(self.listed.outputs[k]) for k in best]
        return (outputs if self.transitions else [y[0] for y in outputs]), scores[best]


each_structure = pytest.mark.parametrize("structure", ["classes", "sequence"])
each_kernel = pytest.mark.parametrize("kernel", KERNELS)


@pytest.mark.parametrize("transitions", [False, True])
def test_the_joint_gram_matrix_follows_the_formula(transitions):
    rng = np.random.default_rng(0)
    K, inputs = rng.normal(size=(4, 4)), [[0, 1, 2], [3]]
    listed = plain_kernel.list_outputs(K, inputs, 2, transitions)
    assert len(listed.outputs) == 8 + 2
    for k, (i, y) in enumerate(zip(listed.owner, listed.outputs)):
        for m, (j, z) in enumerate(zip(listed.owner, listed.outputs)):
            expected = plain_kernel.joint_kernel(K, inputs[i], y, inputs[j], z, transitions)
            assert listed.gram[k, m] == pytest.approx(expected)


@each_structure
@each_kernel
def test_perceptron_predicts_what_its_dual_predicts(kernel, structure):
    case = Case(structure, kernel)
    for averaged, max_iter in itertools.product((True, False), (1, 2, 7)):
        check_perceptron(case, averaged, max_iter)


def check_perceptron(case, averaged, max_iter):
    primal = StructuredPerceptron(case.structure, view=case.view, max_iter=max_iter, averaged=averaged, shuffle=False)
    primal.fit(case.X[:N_TRAIN], case.Y[:N_TRAIN])
    alpha = plain_kernel.perceptron(case.listed, case.true, max_iter, averaged)
    expected, scores = case.predictions(alpha)
    assert list(primal.predict(case.X)) == list(expected), (averaged, max_iter)
    found = np.array([best[0][1] for best in primal.predict_k_best(case.X, k=1)])
    # the averages differ by the number of examples they are divided by
    ratio = found @ scores / (scores @ scores)
    np.testing.assert_allclose(found, ratio * scores, atol=1e-8)
    if averaged:
        assert ratio == pytest.approx(1.0 / (1 + N_TRAIN * len(primal.history_)))
    else:
        assert ratio == pytest.approx(1.0)


@each_structure
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_svm_reaches_the_optimum_of_its_dual(kernel, structure, rescaling, norm):
    case = Case(structure, kernel)
    C, loss = 2.0, el.hamming
    svm = StructuredSVM(
        case.structure, view=case.view, C=C, norm=norm, rescaling=rescaling, reoptimize="all", tol=1e-7, random_state=0
    ).fit(case.X[:N_TRAIN], case.Y[:N_TRAIN])
    value, expansion = plain_kernel.svm_dual(case.listed, case.true, loss, C, rescaling, norm)
    assert svm.objective_ == pytest.approx(value, rel=1e-5)
    assert svm.dual_objective_ == pytest.approx(value, rel=1e-5)
    scores = case.listed.gram @ expansion
    for i, (y, best) in enumerate(zip(svm.predict(case.X), svm.predict_k_best(case.X, k=100))):
        here = case.listed.of(i)
        np.testing.assert_allclose([score for _, score in best], np.sort(scores[here])[::-1], atol=2e-3)
        # at an optimum several wrong outputs may violate a margin equally, so the best one need not be unique
        assert scores[case.listed.find(i, np.atleast_1d(y))] >= scores[here].max() - 2e-3


def test_precomputed_kernel_values_do_the_same():
    case = Case("sequence", "rbf")
    train = [t for tokens in case.inputs[:N_TRAIN] for t in tokens]
    X = [case.K[np.ix_(tokens, train)] for tokens in case.inputs]
    options = {"C": 2.0, "tol": 1e-6, "random_state": 0}
    direct = StructuredSVM(Sequence(), view=case.view, **options).fit(case.X[:N_TRAIN], case.Y[:N_TRAIN])
    given = StructuredSVM(Sequence(), view=KernelFeatures(kernel="precomputed"), **options)
    given.fit(X[:N_TRAIN], case.Y[:N_TRAIN])
    assert given.objective_ == pytest.approx(direct.objective_, rel=1e-5)
    best = [[y[0][1] for y in model.predict_k_best(inputs, k=1)] for model, inputs in ((given, X), (direct, case.X))]
    np.testing.assert_allclose(*best, atol=2e-3)


def test_nystroem_with_all_landmarks_is_exact():
    case = Case("classes", "rbf")
    view = KernelFeatures(kernel="rbf", gamma=0.8, method="nystroem", n_components=N_TRAIN, tol=0.0, random_state=0)
    options = {"C": 2.0, "tol": 1e-6, "random_state": 0}
    exact = StructuredSVM(MultiClass(), view=case.view, **options).fit(case.X[:N_TRAIN], case.Y[:N_TRAIN])
    sampled = StructuredSVM(MultiClass(), view=view, **options).fit(case.X[:N_TRAIN], case.Y[:N_TRAIN])
    assert sampled.objective_ == pytest.approx(exact.objective_, rel=1e-5)
    np.testing.assert_allclose(sampled.decision_function(case.X), exact.decision_function(case.X), atol=2e-3)


def test_polynomial_kernel_over_token_features():
    """Degree-2 kernel of windows of words, as in the papers' supervised experiment."""
    X = [["Ana", "left", "Rome"], ["Tom", "saw", "Ana"], ["in", "Rome"], ["Tom", "left"], ["Rome", "saw", "Tom"]]
    Y = [["P", "O", "L"], ["P", "O", "P"], ["O", "L"], ["P", "O"], ["L", "O", "P"]]
    base = TokenFeatures(window=1)
    matrix = base.fit_rows(X).matrix().toarray()
    K = (matrix @ matrix.T + 1.0) ** 2
    ends = np.cumsum([len(x) for x in X])
    inputs = [list(range(end - len(x), end)) for end, x in zip(ends, X)]
    listed = plain_kernel.list_outputs(K, inputs, 3, True)
    true = [listed.find(i, ["LOP".index(label) for label in y]) for i, y in enumerate(Y[:4])]
    expansion = plain_kernel.perceptron(listed, true, 10, True)
    scores = listed.gram @ expansion
    expected = [listed.outputs[max(listed.of(i), key=lambda k: scores[k])] for i in range(5)]
    model = StructuredPerceptron(Sequence(), view=KernelFeatures(base, kernel="poly", degree=2), shuffle=False)
    found = model.fit([*X[:4], X[4]], [*Y[:4], None]).predict(X)
    assert found == [["LOP"[c] for c in y] for y in expected]
