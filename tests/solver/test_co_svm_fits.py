"""Fits of the co-support vector machine: what the weights are made of, special cases, and problems solved by hand."""

import itertools

import numpy as np
import plain_chain
import pytest
from chain_features import joint_features
from co_svm_cases import EVERY, make, views
from solver_cases import with_one_machine

from accord import (
    ArrayFeatures,
    CoSVM,
    KernelFeatures,
    MultiClass,
    RandomSplit,
    Select,
    Sequence,
    StructuredSVM,
    Taxonomy,
    TokenFeatures,
)
from accord.datasets import embedded_ner, gaussian_classes
from accord.solvers import co_svm
from accord.structures.chains.consensus import ChainConsensusProblem

each_machine = pytest.mark.parametrize(("rescaling", "norm"), list(itertools.product(["margin", "slack"], [1, 2])))
PLAIN = ArrayFeatures(bias=False)


def capture(monkeypatch):
    """What a fit leaves: {"problem": .., "blocks": .., "solvers": ..}; a later fit overwrites it."""
    found = {}
    train, solver = co_svm.train, co_svm.CuttingPlane

    def listening(problem, *args, **kwargs):
        new_blocks = problem.new_blocks
        problem.new_blocks = lambda n: found.setdefault("blocks", new_blocks(n))
        found.clear()
        found.update(problem=problem, solvers=[])
        return train(problem, *args, **kwargs)

    def kept(*args):
        found["solvers"].append(solver(*args))
        return found["solvers"][-1]

    monkeypatch.setattr(co_svm, "train", listening)
    monkeypatch.setattr(co_svm, "CuttingPlane", kept)
    return found


TREE = {"c0": "left", "c1": "left", "c2": "right", "left": "all", "right": "all"}


def points(n_labeled=9, n=26):
    X, y = gaussian_classes(n, n_classes=3, n_features=4, separation=2.5, random_state=0)
    first = {label: y.index(label) for label in set(y)}
    return X, [label if i < n_labeled or i == first[label] else None for i, label in enumerate(y)]


def sentences(n_labeled=5, n=14):
    X, Y = embedded_ner(n, random_state=1)
    return X, [y if i < n_labeled else None for i, y in enumerate(Y)]


def partly_labeled():
    X, Y = embedded_ner(12, random_state=1)
    return X, [
        y if i < 4 else [label if t % 3 == i % 3 else None for t, label in enumerate(y)] for i, y in enumerate(Y)
    ]


HALVES = [Select([0, 1]), Select([2, 3])]
KERNELS = [KernelFeatures(Select([0, 1]), kernel="rbf", gamma=0.5), KernelFeatures(kernel="poly", degree=2, gamma=0.1)]
WORDS = RandomSplit(TokenFeatures(window=1))
FITS = {
    "classes": (MultiClass(), HALVES, points),
    "classes, one view": (MultiClass(), Select([0, 1, 2, 3]), points),
    "classes, kernels": (MultiClass(), KERNELS, points),
    "taxonomy": (Taxonomy(TREE), HALVES, points),
    "sentences": (Sequence(), WORDS, sentences),
    "sentences, three views, iob2": (Sequence(constraints="iob2"), RandomSplit(TokenFeatures(window=0), 3), sentences),
    "sentences, second order": (Sequence(order=2, loss="zero-one"), WORDS, sentences),
    "sentences, F1": (
        Sequence(loss="f1"),
        {"near": TokenFeatures(window=0), "wide": TokenFeatures(window=1)},
        sentences,
    ),
    "sentences, partly labeled": (Sequence(), WORDS, partly_labeled),
}


@pytest.mark.parametrize(("name", "rescaling", "norm"), with_one_machine(FITS))
def test_weights_are_those_of_the_constraints(monkeypatch, name, rescaling, norm):
    """w = sum of alpha times scaled differences of joint features, over labeled working sets and unlabeled blocks."""
    structure, views, data = FITS[name]
    C, C_u = 0.5, 0.4
    found = capture(monkeypatch)
    gains = []
    visit_unlabeled = ChainConsensusProblem.visit_unlabeled
    monkeypatch.setattr(
        ChainConsensusProblem,
        "visit_unlabeled",
        lambda *args: gains.append(visit_unlabeled(*args)) or gains[-1],
    )
    model = CoSVM(
        structure, views, C=C, unlabeled_weight=C_u, rescaling=rescaling, norm=norm, ramp=2, max_iter=4, random_state=0
    ).fit(*data())
    problem, blocks = found["problem"], found["blocks"]
    assert min(gain for *_, steps, gain in gains if steps) >= -1e-9, "the dual fell in a subspace step"
    assert sum(steps for _, _, steps, _ in gains) > 20
    fitted = model.structure_
    for v in range(problem.n_views):
        w = np.zeros_like(model.view_weights_[v].flat())
        for working_set in found["solvers"][v].sets:
            for c in working_set:
                w[c.indices] += c.alpha * c.values
        labeled_only = w.copy()
        features = problem.channels[v].matrix().toarray()
        for i, p in itertools.product(problem.unlabeled, np.flatnonzero(blocks.learner == v)):
            lo, hi = problem.offsets[i : i + 2]
            for k in range(blocks.size[i, p]):
                good = joint_features(fitted, features[lo:hi], blocks.target[p, lo:hi]).flat()
                bad = joint_features(fitted, features[lo:hi], blocks.output[p, k, lo:hi]).flat()
                w += blocks.alpha[i, p, k] * blocks.scale[i, p, k] * (good - bad)
        np.testing.assert_allclose(model.view_weights_[v].flat(), w, atol=1e-8)
        assert not np.allclose(w, labeled_only), "no unlabeled example holds up a margin"
        # a view has no weights outside its features
        assert not model.view_weights_[v].unary[~features.any(axis=0)].any()
    share = np.array([np.mean(problem.y[lo:hi] >= 0) for lo, hi in itertools.pairwise(problem.offsets)])
    if norm == 1:
        assert np.all(blocks.alpha.sum(axis=2) <= (C * (share + (1 - share) * C_u))[:, None] * (1 + 1e-9))
    assert np.all(blocks.alpha >= 0)
    np.testing.assert_allclose(model.weights_.flat(), sum(w.flat() for w in model.view_weights_), atol=1e-10)


EVERY_TASK = sorted({name for name, _ in EVERY})


@pytest.mark.parametrize(("name", "rescaling", "norm"), with_one_machine(EVERY_TASK))
def test_one_view_and_nothing_unlabeled_is_the_structured_svm(name, rescaling, norm):
    data = make(name, 1).data
    C = 0.7
    best, _ = plain_chain.svm_solve(data.examples, C, rescaling, norm)
    options = {"C": C, "rescaling": rescaling, "norm": norm, "tol": 1e-4, "random_state": 0}
    model = CoSVM(data.structure, PLAIN, unlabeled_weight=0, **options).fit(data.X, data.Y)
    svm = StructuredSVM(data.structure, PLAIN, max_iter=5000, **options).fit(data.X, data.Y)
    primal = plain_chain.svm_primal(data.examples, data.listed(model.weights_), C, rescaling, norm)
    assert model.converged_
    assert primal == pytest.approx(best, rel=1e-3)
    assert primal == pytest.approx(svm.objective_, rel=1e-3)
    assert list(model.predict(data.X)) == list(svm.predict(data.X))


@pytest.mark.parametrize(
    ("name", "n_views", "unlabeled_weight", "rescaling", "norm"),
    with_one_machine(
        [
            ("classes, costs", 2, 0),
            ("classes, costs", 3, 1e-9),
            ("sequence, Hamming", 2, 1e-9),
            ("sequence, Hamming", 3, 0),
        ]
    ),
)
def test_without_unlabeled_examples_each_view_is_a_structured_svm(name, n_views, unlabeled_weight, rescaling, norm):
    """Also if there are unlabeled examples that count next to nothing: they must not end the passes early."""
    case = make(name, n_views)
    data, C = case.data, 0.7
    X = np.vstack([data.X, data.X[:1]]) if data.structure.single_row else [*data.X, data.X[0]]
    model = CoSVM(
        data.structure, views(n_views), C=C, rescaling=rescaling, norm=norm, unlabeled_weight=unlabeled_weight,
        tol=1e-3, ramp=0, max_iter=1000, random_state=0,
    ).fit(X, [*data.Y, None])  # fmt: skip
    for v in range(n_views):
        seen = [plain_chain.Listed(e.outputs, e.phi * case.mask(v), e.loss, e.true) for e in data.examples]
        best, _ = plain_chain.svm_solve(seen, C, rescaling, norm)
        w = data.listed(model.view_weights_[v])
        assert not w[~case.mask(v)].any()
        assert plain_chain.svm_primal(seen, w, C, rescaling, norm) == pytest.approx(best, rel=5e-3)


def two_columns(C, **options):
    return CoSVM(
        MultiClass(labels=["a", "b"]), [Select([0], PLAIN), Select([1], PLAIN)], C=C, ramp=0, tol=1e-6, random_state=0,
        **options,
    )  # fmt: skip


def test_two_views_and_two_classes_by_hand():
    """One labeled example, (1, 1) of class a, and one unlabeled, (2, -1/2); C = 1/4, C_u = 1/2.

    With t = w_a - w_b a view has w = (t / 2, -t / 2), |w|^2 / 2 = t^2 / 4, and t x is by how much it prefers a. It pays
    C max(0, 1 - t) for the labeled example. The first view says a for the unlabeled one, with the margin g1 = 2 t1, and
    the second b, with g2 = t2 / 2. So the first pays C C_u g2 (1 + 2 t1) for not saying b, and the second
    C C_u g1 (1 + t2 / 2) for not saying a. Setting the derivatives to zero, with the peer's margin fixed:

        t1 / 2 = C - 2 C C_u g2 = 1/4 - t2 / 8       t2 / 2 = C - C C_u g1 / 2 = 1/4 - t1 / 8

    which t1 = t2 = 2/5 solve: all slacks are positive (3/5, 9/5 and 6/5), the margins 4/5 and 1/5 below 1.
    """
    model = two_columns(0.25, unlabeled_weight=0.5).fit(np.array([[1.0, 1.0], [2.0, -0.5]]), ["a", None])
    one, two = (w.unary for w in model.view_weights_)
    np.testing.assert_allclose(one, [[0.2, -0.2], [0.0, 0.0]], atol=1e-5)
    np.testing.assert_allclose(two, [[0.0, 0.0], [0.2, -0.2]], atol=1e-5)
    assert model.converged_
    assert model.predict_views([[2.0, -0.5]]) == [["a"], ["b"]]
    assert model.history_[-1]["disagreement"] == 1.0
    assert model.transduction_ == ["a"], "2 * 0.4 > 0.5 * 0.4"


def test_an_agreeing_pair_by_hand():
    """The unlabeled (2, 1/2) and C = 1, C_u = 1/2: both views say a.

    Alone, a view has t = 1 with the dual variable 1/2. The first is content with the unlabeled one: 2 t1 = 2 > 1. Its
    margin, cut to 1, makes the second pay C_u max(0, 1 - t2 / 2): at t2 = 1 the slope on the left is 1/2 - 1 - 1/4 < 0,
    on the right 1/2 - 1/4 > 0, so t2 = 1 stays, though the labeled example's variable falls to 1/4.
    """
    model = two_columns(1.0, unlabeled_weight=0.5).fit(np.array([[1.0, 1.0], [2.0, 0.5]]), ["a", None])
    np.testing.assert_allclose(model.view_weights_[0].unary[0], [0.5, -0.5], atol=1e-5)
    np.testing.assert_allclose(model.view_weights_[1].unary[1], [0.5, -0.5], atol=1e-5)
    # a larger C_u pulls it over: t2 / 2 = C C_u / 2 + (0 from the labeled one) has t2 = C C_u
    for C, C_u in ((4.0, 0.4), (1.0, 1.6)):
        model = two_columns(C, unlabeled_weight=C_u).fit(np.array([[1.0, 1.0], [2.0, 0.5]]), ["a", None])
        np.testing.assert_allclose(model.view_weights_[1].unary[1], [0.8, -0.8], atol=1e-5)


def binary_co_svm(X, y, columns, C, C_u, orders):
    """Two views, labels +1, -1 and 0 (unlabeled): dual coordinate ascent for min |w|^2 / 2 + C sum of weighted slacks.

    A class has half of the vector w of the binary machine, the other one minus that, so |.|^2 is half as large: the
    multiclass machine with C is the binary one with 2 C, and its dual variables are half as large.
    """
    w = [np.zeros(X.shape[1]) for _ in columns]
    alpha = np.zeros((len(columns), len(y)))
    target = np.zeros((len(columns), len(y)))
    seen = [X * np.isin(np.arange(X.shape[1]), c) for c in columns]

    def set_alpha(v, i, sign, value):
        w[v] += (value * sign - alpha[v, i] * target[v, i]) * seen[v][i]
        alpha[v, i], target[v, i] = value, sign

    def ascend(v, i, sign, budget):
        rest = w[v] - alpha[v, i] * target[v, i] * seen[v][i]
        set_alpha(v, i, sign, np.clip((1 - sign * (seen[v][i] @ rest)) / (seen[v][i] @ seen[v][i]), 0.0, budget))

    for labeled, unlabeled in orders:
        for v, order in enumerate(labeled):
            for i in order:
                ascend(v, i, y[i], 2 * C)
        for i in unlabeled:
            for v in (0, 1):
                set_alpha(v, i, 0.0, 0.0)
            for _ in range(10):
                scores = [seen[v][i] @ w[v] for v in (0, 1)]
                for v in (0, 1):
                    peer = scores[1 - v]
                    ascend(v, i, np.sign(peer), 2 * C * C_u * min(abs(peer), 1.0))
    return w


@pytest.mark.parametrize(("seed", "C_u"), [*((seed, 0.6) for seed in range(2)), (5, 2)])
def test_binary_classes_are_a_binary_co_svm(seed, C_u):
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], 14)
    X = truth[:, None] * [0.8, 0.6, 1.0, 0.4] + rng.normal(size=(14, 4))
    y = np.where(np.arange(14) < 6, truth, 0)
    y[:2] = 1, -1
    columns, C, passes = [[0, 1], [2, 3]], 0.5, 80
    labeled, unlabeled = np.flatnonzero(y), np.flatnonzero(y == 0)
    orders = []
    draw = np.random.default_rng(seed)

    def draw_labeled():
        return [labeled[draw.permutation(6)] for _ in columns]

    for _ in range(passes):  # labeled, unlabeled, and labeled again
        first, middle, last = draw_labeled(), draw.permutation(np.arange(6, 14)), draw_labeled()
        orders += [(first, middle), (last, [])]
    expected = binary_co_svm(X, y, columns, C, C_u, orders)
    assert np.array_equal(unlabeled, np.arange(6, 14))
    model = CoSVM(
        MultiClass(labels=["+", "-"]), [Select(c, PLAIN) for c in columns], C=C, unlabeled_weight=C_u, ramp=0, tol=1e-7,
        max_iter=passes, freeze=False, random_state=seed,
    ).fit(X, [{1: "+", -1: "-", 0: None}[label] for label in y])  # fmt: skip
    for v in (0, 1):
        np.testing.assert_allclose(model.view_weights_[v].unary @ [1.0, -1.0], expected[v], atol=2e-3)
        np.testing.assert_allclose(model.view_weights_[v].unary @ [1.0, 1.0], 0.0, atol=1e-9)


@each_machine
def test_self_training_holds_its_own_predictions_to_the_margin(rescaling, norm):
    """One view: unlabeled examples of a class are pushed away from the others, which labels alone do not ask for."""
    X, Y = points(n_labeled=3)
    options = {"C": 1.0, "rescaling": rescaling, "norm": norm, "random_state": 0, "max_iter": 20, "ramp": 5}
    plain = CoSVM(MultiClass(), Select([0, 1, 2, 3]), unlabeled_weight=0, **options).fit(X, Y)
    taught = CoSVM(MultiClass(), Select([0, 1, 2, 3]), unlabeled_weight=1.0, **options).fit(X, Y)

    def short_of_margin(model):
        scores = np.sort(model.decision_function([x for x, y in zip(X, Y) if y is None]), axis=1)
        return float(np.mean(np.maximum(0.0, 1.0 - (scores[:, -1] - scores[:, -2]))))

    assert short_of_margin(taught) < 0.8 * short_of_margin(plain)
