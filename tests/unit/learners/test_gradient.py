"""GradientSVM, TransductiveSVM and GradientCoSVM as users see them: what unlabeled data bring, stopping and going on,
Ctrl-C, copies, hidden labels, wrong parameters."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from row_tables import each_row
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from threadpoolctl import threadpool_limits

import accord
from accord import (
    ArrayFeatures,
    GradientCoSVM,
    GradientSVM,
    InputError,
    KernelFeatures,
    MultiClass,
    RandomSplit,
    Select,
    Sequence,
    TokenFeatures,
    TransductiveSVM,
)
from accord.datasets import embedded_ner, gaussian_classes
from accord.solvers import transduction

X, Y_ALL = embedded_ner(18, random_state=0)
Y = [y if i % 3 == 0 else None for i, y in enumerate(Y_ALL)]
X_NEW, Y_NEW = embedded_ner(12, random_state=1)
POINTS, CLASSES_ALL = gaussian_classes(60, n_classes=3, n_features=4, separation=2.0, random_state=0)
CLASSES = [label if i < 12 else None for i, label in enumerate(CLASSES_ALL)]
MAKERS = {
    "gradient-svm": lambda s, **p: GradientSVM(s, **p),
    "tsvm": lambda s, **p: TransductiveSVM(s, **{"unlabeled_weight": 0.2, "ramp": 3, **p}),
    "gradient-co-svm": lambda s, **p: GradientCoSVM(
        s, **{"unlabeled_weight": 0.2, "ramp": 3, "max_iter": 30, "random_state": 0, **p}
    ),
}
each_learner = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
CONTINUED = {name: MAKERS[name] for name in ("gradient-svm", "tsvm")}


def two_clusters(seed=0, n=60):
    """Two long clusters with a gap between them; the labeled pair lies so that its widest margin cuts through both."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([np.column_stack([rng.uniform(-3, 3, n), rng.normal(scale=0.15, size=n) + c]) for c in (-1, 1)])
    truth = ["low"] * n + ["high"] * n
    X[0], X[n] = [-0.5, -1.0], [0.5, 1.0]
    return X, truth, [truth[i] if i in (0, n) else None for i in range(2 * n)]


# -- what unlabeled examples bring -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("solver", ["primal", "expansion"])
def test_the_boundary_moves_into_the_gap(seed, solver):
    points, truth, labels = two_clusters(seed)
    options = {"C": 10.0, "solver": solver}
    plain = GradientSVM(MultiClass(), **options).fit(points, labels)
    taught = TransductiveSVM(MultiClass(), unlabeled_weight=0.5, **options).fit(points, labels)
    assert plain.score(points, truth) < 0.9
    assert taught.score(points, truth) == 1.0

    def crowd(model):
        return int(np.sum(np.abs(model.decision_function(points)) < 0.5))

    assert crowd(taught) < 0.1 * crowd(plain)
    assert taught.transduction_ == list(taught.predict([x for x, y in zip(points, labels) if y is None]))


def test_kernels_and_sequences():
    points, truth, labels = two_clusters()
    view = KernelFeatures(kernel="rbf", gamma=0.5)
    model = TransductiveSVM(MultiClass(), view=view, C=10.0, unlabeled_weight=0.5).fit(points, labels)
    assert model.score(points, truth) > 0.8
    tagger = TransductiveSVM(Sequence(constraints="iob2"), unlabeled_weight=0.1, ramp=3).fit(X, Y)
    assert tagger.score(X_NEW, Y_NEW) > 0.7
    assert all(h["unlabeled_weight"] <= 0.1 for h in tagger.history_)
    assert tagger.history_[-1]["unlabeled_weight"] == 0.1


def test_weight_rises_after_the_labels_have_been_learned():
    model = TransductiveSVM(MultiClass(), unlabeled_weight=0.5, ramp=4).fit(POINTS, CLASSES)
    weights = [h["unlabeled_weight"] for h in model.history_]
    assert sorted(weights) == weights
    assert weights[0] == 0.0
    assert len({w for w in weights if 0 < w < 0.5}) == 4
    assert [h["C"] for h in model.history_[:3]] == pytest.approx([0.01, 0.1, 1.0])
    names = {"round", "objective", "C", "unlabeled_weight", "n_constraints", "added", "dropped", "label_changes"}
    assert all(h.keys() == names | {"cg_iterations"} for h in model.history_)
    assert [h["round"] for h in model.history_] == list(range(1, model.n_iter_ + 1))
    assert model.history_[-1]["added"] == model.history_[-2]["added"] == 0


def test_auto_falls_back_to_labels_alone():
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(60, 3)), ["a", "b"] * 30
    model = TransductiveSVM(MultiClass(), random_state=0).fit(noise, labels[:12] + [None] * 48)
    assert [entry["unlabeled_weight"] for entry in model.auto_report_] == [0.0, 0.1, 1.0]
    assert sum(entry["chosen"] for entry in model.auto_report_) == 1
    chosen = next(entry for entry in model.auto_report_ if entry["chosen"])
    assert model.unlabeled_weight_ == chosen["unlabeled_weight"] == 0
    plain = GradientSVM(MultiClass()).fit(noise, labels[:12] + [None] * 48)
    assert np.array_equal(plain.weights_.flat(), model.weights_.flat())


def test_auto_takes_what_pays():
    """Two long clusters with a gap between them, which eight labels alone do not show."""
    rng = np.random.default_rng(2)
    x, high = rng.uniform(-3, 3, 300), np.arange(300) % 2 == 0
    points = np.column_stack([x, np.where(high, 0.5, -0.5) + 0.15 * rng.normal(size=300)])
    truth = ["high" if h else "low" for h in high]
    labels = truth[:8] + [None] * 292
    model = TransductiveSVM(MultiClass(), random_state=1).fit(points, labels)
    errors = {e["unlabeled_weight"]: sum(e["fold_errors"]) for e in model.auto_report_}
    assert model.unlabeled_weight_ > 0
    assert errors[model.unlabeled_weight_] < errors[0.0]
    assert model.score(points, truth) > GradientSVM(MultiClass()).fit(points, labels).score(points, truth)


# -- several views -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_views", [1, 3])  # two in all other tests
def test_any_number_of_views(n_views):
    views = RandomSplit(TokenFeatures(window=1), n_views)
    model = GradientCoSVM(Sequence(), views, unlabeled_weight=0.2, ramp=2, max_iter=40, random_state=0).fit(X, Y)
    assert model.n_views_ == n_views
    assert model.score(X_NEW, Y_NEW) > 0.7
    assert len(model.transduction_) == 12


def test_views_teach_each_other():
    """A view that has not seen a label learns it from its peer; without unlabeled examples the views disagree more."""
    halves = [Select([0, 1]), Select([2, 3])]
    options = {"views": halves, "ramp": 3, "random_state": 0}
    alone = GradientCoSVM(MultiClass(), unlabeled_weight=0, **options).fit(POINTS, CLASSES)
    taught = GradientCoSVM(MultiClass(), unlabeled_weight=1.0, **options).fit(POINTS, CLASSES)
    assert taught.disagreement(POINTS) < alone.disagreement(POINTS)


# -- stopping and going on ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["primal", "expansion"])
@pytest.mark.parametrize("make", CONTINUED.values(), ids=CONTINUED)
@pytest.mark.parametrize("tagging", [False, True])
def test_a_fit_can_be_stopped_and_continued(make, solver, tagging):
    structure, inputs, outputs = (Sequence(), X[:9], Y[:9]) if tagging else (MultiClass(), POINTS, CLASSES)
    whole = make(structure, solver=solver).fit(inputs, outputs)
    assert whole.converged_
    model = make(structure, solver=solver, max_iter=2, warm_start=True)
    rounds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        while not (rounds and model.converged_):
            model.fit(inputs, outputs)
            rounds.append(model.n_iter_)
            model = pickle.loads(pickle.dumps(model))
    assert len(rounds) > 1
    assert rounds[0] == 2
    assert model.n_iter_ == whole.n_iter_
    np.testing.assert_allclose(model.weights_.flat(), whole.weights_.flat(), rtol=1e-9, atol=1e-12)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-12)
    assert list(model.predict(inputs)) == list(whole.predict(inputs))


@pytest.mark.parametrize("tagging", [False, True])
def test_views_that_teach_each_other_can_be_stopped_and_continued(tagging):
    """They need not come to rest, so rounds are counted."""
    structure, inputs, outputs = (Sequence(), X[:12], Y[:12]) if tagging else (MultiClass(), POINTS, CLASSES)
    options = {"unlabeled_weight": 0.2, "ramp": 3, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = GradientCoSVM(structure, max_iter=12, **options).fit(inputs, outputs)
        model = GradientCoSVM(structure, max_iter=4, warm_start=True, **options)
        for n_rounds in (4, 8, 12):
            model.fit(inputs, outputs)
            assert model.n_iter_ <= n_rounds
            model = pickle.loads(pickle.dumps(model))
        assert model.history_[: whole.n_iter_] == whole.history_
        np.testing.assert_allclose(model.weights_.flat(), whole.weights_.flat(), rtol=1e-9, atol=1e-12)
        with pytest.raises(InputError, match=r"^warm_start=True goes on with the last fit, but X is not that"):
            model.fit(inputs[:-1], outputs[:-1])
        with pytest.raises(InputError, match="the features of the views is not that of that fit"):
            model.set_params(views=RandomSplit(), random_state=1).fit(inputs, outputs)
    assert list(model.predict(inputs)) == list(whole.predict(inputs))


def test_going_on_with_other_data_is_refused_and_the_model_is_kept():
    model = GradientSVM(MultiClass(), warm_start=True).fit(POINTS, CLASSES)
    before = model.predict(POINTS)
    other = [CLASSES[4], *CLASSES[1:4], CLASSES[0], *CLASSES[5:]]
    assert other != CLASSES
    cases = {
        "X": [(POINTS[:10], CLASSES[:10]), (1.5 * POINTS, CLASSES), (POINTS[:, :1], CLASSES)],
        "Y": [(POINTS, other), (POINTS, [c and f"other {c}" for c in CLASSES])],
    }
    for name, data in cases.items():
        for x, y in data:
            with pytest.raises(InputError, match=f"^warm_start=True goes on with the last fit, but {name} is not that"):
                model.fit(x, y)
            assert list(model.predict(POINTS)) == list(before)
    model.fit(POINTS, CLASSES)
    model.set_params(warm_start=False).fit(POINTS[:50], CLASSES[:50])


def test_without_warm_start_every_fit_begins_anew():
    model = GradientSVM(MultiClass()).fit(POINTS, CLASSES)
    again = model.n_iter_
    assert model.fit(POINTS, CLASSES).n_iter_ == again
    assert not [name for name in vars(model) if name == "_training"]


def test_too_few_rounds_are_announced():
    with pytest.warns(ConvergenceWarning, match=r"^stopped after max_iter=2 rounds before the working sets settled"):
        GradientSVM(Sequence(), max_iter=2).fit(X, Y)


@pytest.fixture
def interrupt(monkeypatch):
    """``interrupt(k)``: Ctrl-C is pressed in the k-th round."""

    def install(k):
        original, calls = transduction._round, itertools.count(1)

        def call(*args):
            if next(calls) == k:
                raise KeyboardInterrupt
            return original(*args)

        monkeypatch.setattr(transduction, "_round", call)

    return install


@pytest.mark.parametrize("k", [1, 2, 4])
@each_learner
def test_ctrl_c_leaves_a_usable_model(make, k, interrupt):
    interrupt(k)
    name = "passes" if make is MAKERS["gradient-co-svm"] else "rounds"
    with pytest.warns(UserWarning, match=f"^interrupted after {k - 1} {name}: the model is what was learned so far$"):
        model = make(Sequence()).fit(X, Y)
    assert model.n_iter_ == len(model.history_) == k - 1
    assert len(model.predict(X_NEW)) == len(X_NEW)
    if k == 4:
        assert model.score(X_NEW, Y_NEW) > 0.5
    pickle.loads(pickle.dumps(model)).predict(X_NEW)


def test_an_interrupted_fit_goes_on(interrupt, monkeypatch):
    whole = TransductiveSVM(MultiClass(), unlabeled_weight=0.2, ramp=3).fit(POINTS, CLASSES)
    model = TransductiveSVM(MultiClass(), unlabeled_weight=0.2, ramp=3, warm_start=True)
    interrupt(5)
    with pytest.warns(UserWarning, match="interrupted after 4 rounds"):
        model.fit(POINTS, CLASSES)
    monkeypatch.undo()
    model.fit(POINTS, CLASSES)
    np.testing.assert_allclose(model.weights_.flat(), whole.weights_.flat(), rtol=1e-9, atol=1e-12)


def test_ctrl_c_while_weights_are_compared_leaves_nothing_half_done(interrupt):
    model = TransductiveSVM(MultiClass(), unlabeled_weight=0.2, random_state=0).fit(POINTS, CLASSES)
    interrupt(6)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(unlabeled_weight="auto").fit(POINTS, CLASSES)
    with pytest.raises(NotFittedError):
        model.predict(POINTS)


# -- copies, hidden labels, parameters ---------------------------------------------------------------------------------


def test_a_balanced_model_is_saved_with_its_constants(tmp_path):
    model = TransductiveSVM(MultiClass(), unlabeled_weight=0.2, balance=True).fit(POINTS, CLASSES)
    assert np.abs(model.bias_).max() > 0
    model.save(tmp_path / "model.accord")
    copy = accord.load(tmp_path / "model.accord")
    np.testing.assert_array_equal(copy.decision_function(POINTS), model.decision_function(POINTS))
    assert list(copy.predict(POINTS)) == list(model.predict(POINTS))
    assert list(clone(copy).fit(POINTS, CLASSES).predict(POINTS)) == list(model.predict(POINTS))


@each_learner
def test_hidden_labels_are_guessed(make):
    labels = [None if y is None else [None if t % 3 == 2 else label for t, label in enumerate(y)] for y in Y[:12]]
    model = make(Sequence()).fit(X[:12], labels)
    assert model.score(X_NEW, Y_NEW) > 0.6


@each_learner
def test_hidden_labels_everywhere(make):
    labels = [[None, *y[1:]] for y in Y_ALL[:5]]
    model = make(Sequence()).fit(X[:5], labels)
    assert model.score(X[:5], Y_ALL[:5]) > 0.7


@each_learner
def test_a_hinge_and_a_true_maximum_work(make):
    # far apart: on classes that overlap, views that teach each other may go wrong
    points, classes = gaussian_classes(60, n_classes=3, n_features=4, separation=6.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = make(MultiClass(), epsilon=0.0, rho=np.inf, max_iter=30)
        model.fit(points, [label if i < 12 else None for i, label in enumerate(classes)])
    assert model.score(points, classes) > 0.9


@each_learner
def test_labels_that_break_the_constraints(make):
    with pytest.warns(UserWarning, match="1 of 3 labeled outputs break the constraints"):
        model = make(Sequence(constraints="iob2")).fit(
            [["Ana"], ["Lee", "left"], ["Tom", "Ray"], ["Eva"]], [["B-P"], ["I-P", "O"], ["B-P", "I-P"], None]
        )
    assert model.predict([["Lee"]]) in ([["O"]], [["B-P"]])


BAD = [
    ({"C": 0}, "C is 0; expected a positive number"),
    ({"epsilon": -1}, "epsilon is -1; expected a number, 0 or more"),
    ({"rho": -1.0}, "rho is -1.0; expected a number from 0 (sum) to inf (maximum)"),
    ({"tol": 0}, "tol is 0; expected a positive number"),
    ({"max_iter": 0}, "max_iter is 0; expected"),
    ({"solver": "newton"}, 'solver is \'newton\'; expected "auto", "primal" or "expansion"'),
    ({"random_state": "today"}, "random_state is 'today'; expected None, a whole number, 0 or more, or a generator"),
]
BAD_UNLABELED = [
    ({"ramp": -1}, "ramp is -1; expected a whole number, 0 or more"),
    ({"unlabeled_weight": -0.1}, "unlabeled_weight is -0.1; expected a number"),
    ({"unlabeled_weight": "much"}, "unlabeled_weight is 'much'; expected a number"),
]


@each_row(
    ("name", "options", "message"),
    [(name, *bad) for name in MAKERS for bad in BAD]
    + [(name, *bad) for name in ("tsvm", "gradient-co-svm") for bad in BAD_UNLABELED]
    + [("tsvm", {"tau": -1.0}, "tau is -1.0; expected a positive number")],
)
def test_parameters_that_make_no_sense(name, options, message):
    with pytest.raises(InputError) as error:
        MAKERS[name](MultiClass(), **options).fit(POINTS, CLASSES)
    assert str(error.value).startswith(message)


def test_a_kernel_matrix_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setenv("ACCORD_MEMORY", "1000")
    with pytest.raises(InputError, match=r'needs about .* of memory.* Use solver="primal", or'):
        GradientSVM(MultiClass(), view=ArrayFeatures(), solver="expansion").fit(POINTS, CLASSES)


def test_going_on_with_other_sparse_data_is_refused():
    one, two = (sp.csr_array(np.eye(6)[order]) for order in (np.arange(6), [1, 0, 3, 2, 5, 4]))
    model = GradientSVM(MultiClass(), warm_start=True).fit(one, list("aabbab"))
    with pytest.raises(InputError, match="but X is not that"):
        model.fit(two, list("aabbab"))


@pytest.mark.parametrize(
    ("name", "value"), [("structure", MultiClass(loss=2.0 - 2.0 * np.eye(3))), ("solver", "primal"), ("balance", True)]
)
def test_going_on_with_another_task_is_refused(name, value):
    labels = [*CLASSES[:20], *[None] * (len(CLASSES) - 20)]
    model = TransductiveSVM(MultiClass(), unlabeled_weight=0.1, solver="expansion", warm_start=True).fit(POINTS, labels)
    with pytest.raises(InputError, match=f"but {name} is not that"):
        model.set_params(**{name: value}).fit(POINTS, labels)


def test_going_on_with_another_constant_reaches_its_optimum():
    model = GradientSVM(MultiClass(), C=0.01, tol=1e-6, warm_start=True).fit(POINTS, CLASSES)
    found = model.set_params(C=10.0).fit(POINTS, CLASSES).objective_
    assert found == pytest.approx(GradientSVM(MultiClass(), C=10.0, tol=1e-6).fit(POINTS, CLASSES).objective_, rel=1e-4)


def test_working_sets_settle_at_the_constant_that_was_asked_for():
    """One sequence whose worst output at small C is not the worst in the end."""
    x, y = [np.array([[3.0, 0.0], [0.0, 3.0], [3.0, 1.0]])], [list("abb")]
    model = GradientSVM(Sequence(normalize=False), ArrayFeatures(), C=0.5).fit(x, y)
    assert model.converged_
    assert model.objective_ == pytest.approx(0.5333, abs=1e-3)


@pytest.mark.parametrize("rho", [1e3, 1e6, 1e9])
def test_a_sharp_maximum_learns_as_the_maximum_does(rho):
    sharp, largest = (GradientSVM(MultiClass(), rho=r).fit(POINTS, CLASSES).objective_ for r in (rho, np.inf))
    assert sharp == pytest.approx(largest, rel=0.01)


@pytest.mark.parametrize("cls", [GradientSVM, TransductiveSVM, GradientCoSVM])
def test_examples_without_tokens(cls):
    model = cls(Sequence(), random_state=0).fit([[], ["x", "y"], ["x"]], [[], ["a", "b"], None])
    assert model.predict([["x"], []]) == [["a"], []]
    only = GradientSVM(Sequence(labels=["a", "b"]), solver="expansion").fit([[], ["x"]], [[], None])
    assert only.predict([[]]) == [[]]


def test_an_unlabeled_input_without_an_output_is_named():
    chain = Sequence(labels=["I-X", "I-Y"], constraints="iob2")
    model = TransductiveSVM(chain, unlabeled_weight=0.1)
    no_output = pytest.raises(accord.InfeasibleError, match=r"^X\[1\]: no output satisfies")
    with pytest.warns(UserWarning, match="break the constraints"), no_output:  # which training leaves out
        model.fit([["u"], ["v"], ["u", "v"]], [["I-X"], None, ["I-X", "I-X"]])


@each_row(
    ("name", "value"),
    [
        ("C", "a"),
        ("C", None),
        ("epsilon", None),
        ("tau", "x"),
        ("tau", 0),
        ("ramp", None),
        ("ramp", 2.5),
        ("max_iter", 2.5),
        ("tol", np.inf),
        ("rho", -1),
        ("unlabeled_weight", np.array([1, 2])),
    ],
)
def test_bad_values_are_named(name, value):
    with pytest.raises(InputError, match=f"^{name} is "):
        TransductiveSVM(MultiClass(), **{name: value}).fit(POINTS, CLASSES)


def test_ctrl_c_inside_a_compiled_function(monkeypatch):
    """Compiled functions turn an interrupt into a SystemError that was caused by it."""
    real, calls = transduction._round, []

    def interrupted(*args):
        calls.append(None)
        if len(calls) == 3:
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
        return real(*args)

    monkeypatch.setattr(transduction, "_round", interrupted)
    with pytest.warns(UserWarning, match="interrupted after 2 rounds"):
        model = GradientSVM(MultiClass(), tol=1e-8).fit(POINTS, CLASSES)
    assert len(model.predict(POINTS)) == len(POINTS)
    monkeypatch.setattr(transduction, "_round", lambda *args: (_ for _ in ()).throw(SystemError("other")))
    with pytest.raises(SystemError, match="other"):
        GradientSVM(MultiClass()).fit(POINTS, CLASSES)


@pytest.mark.parametrize("name", MAKERS)
def test_a_fit_does_not_depend_on_the_threads_of_blas(name):
    found = []
    for n_threads in (1, 2):
        model = MAKERS[name](Sequence(), solver="expansion", max_iter=8, tol=1e-6, random_state=0)
        with threadpool_limits(n_threads, "blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found.append(model.fit(X, Y).weights_.flat())
    np.testing.assert_array_equal(*found)
