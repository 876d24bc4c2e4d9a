"""Memory is foreseen: what does not fit is refused before it is made, and what need not be made is not."""

import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from accord import (
    CRF,
    HMM,
    CoPerceptron,
    CoSVM,
    GradientSVM,
    MultiClass,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    Taxonomy,
    TokenFeatures,
    TransductiveSVM,
    memory,
)
from accord.exceptions import InputError
from accord.packed import rows as packed_rows
from accord.packed.weights import Parts, Weights
from accord.structures.chains import losses

MANY = 20_000
TOKENS = [["a", "b", "c", "a"], ["b"], ["c", "c", "a"], ["a", "b"], ["c", "b", "a", "a", "b"]]
LABELS = [["x", "y", "z", "x"], ["y"], ["z", "z", "x"], ["x", "y"], ["z", "y", "x", "x", "y"]]
PARTLY = [["x", None, "z", "x"], ["y"], ["z", None, None], ["x", "y"], ["z", "y", "x", None, "y"]]


def peak(call):
    """What a call returns, and the bytes of arrays that it had at the same time."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# -- what is available ------------------------------------------------------------------------------------------------
def test_memory_of_this_machine_is_known(monkeypatch):
    monkeypatch.delenv("ACCORD_MEMORY", raising=False)
    available = memory.available_bytes()
    assert available is None or available > 1e6


def test_users_can_set_a_limit(monkeypatch):
    monkeypatch.setenv("ACCORD_MEMORY", "12345")
    assert memory.available_bytes() == 12345
    for wrong in ("2 GB", "-1", "1e9"):
        monkeypatch.setenv("ACCORD_MEMORY", wrong)
        with pytest.raises(InputError, match=f"ACCORD_MEMORY is '{wrong}'; expected a number of bytes"):
            memory.available_bytes()


def test_the_limit_of_a_container_counts(tmp_path):
    assert memory._of_group(str(tmp_path)) is None
    (tmp_path / "memory.current").write_text("600\n")
    (tmp_path / "memory.stat").write_text("anon 400\ninactive_file 150\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._of_group(str(tmp_path)) is None
    (tmp_path / "memory.max").write_text("1000\n")
    assert memory._of_group(str(tmp_path)) == 1000 - 600 + 150
    older = tmp_path / "older" / "memory"
    older.mkdir(parents=True)
    for name, text in (("limit_in_bytes", "500"), ("usage_in_bytes", "700"), ("stat", "total_inactive_file 50")):
        (older / f"memory.{name}").write_text(text)
    assert memory._of_group(str(older.parent)) == 0


def test_a_refusal_says_what_is_needed_and_what_to_do(monkeypatch):
    monkeypatch.setenv("ACCORD_MEMORY", str(2**30))
    tables = {"crumbs": 2.0**20, "a table of squares": 2.0**31, "another": 2.0**29}
    with pytest.raises(InputError) as error:
        memory.check(tables, "Use less")
    assert str(error.value) == (
        "this needs about 2.5 GiB of memory, but 1.0 GiB are available (a table of squares 2.0 GiB; another 0.5 GiB). "
        "Use less, or set ACCORD_MEMORY to the bytes that may be used"
    )
    memory.check({"a table": 2.0**30}, "Use less")
    assert memory.fits({"a table": 2.0**30})
    assert not memory.fits(tables)


# -- refused before it is made ----------------------------------------------------------------------------------------
LEARNERS = {
    "perceptron": StructuredPerceptron,
    "SVM": StructuredSVM,
    "SVM, Frank-Wolfe": lambda s: StructuredSVM(s, solver="frank-wolfe"),
    "CRF": CRF,
    "CRF, SGD": lambda s: CRF(s, solver="sgd"),
    "gradient SVM": lambda s: GradientSVM(s, solver="primal"),
    "transductive SVM": lambda s: TransductiveSVM(s, solver="primal"),
    "co-perceptron": lambda s: CoPerceptron(s, unlabeled_weight=0.1),
    "co-SVM": lambda s: CoSVM(s, unlabeled_weight=0.1),
    "HMM": HMM,
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_fit_that_does_not_fit_is_refused(name, monkeypatch):
    monkeypatch.setenv("ACCORD_MEMORY", "2000000000")
    X = sp.csr_array((np.ones(4), ([0, 1, 2, 3], [5, 7, 40_000, 5])), shape=(4, 499_999))  # and a bias
    model = LEARNERS[name](MultiClass(labels=list(range(10_000))))

    def fit():
        with pytest.raises(InputError) as error:
            model.fit(X, [3, 77, 9_999, None])
        return str(error.value)

    message, used = peak(fit)
    assert used < 2e8
    assert "500,000 features x 10,000 labels" in message
    assert "but 1.9 GiB are available" in message
    assert "Use fewer features (min_count of the view), or fewer labels" in message


def test_batches_are_foreseen(monkeypatch):
    monkeypatch.setenv("ACCORD_MEMORY", "100000")
    X, labels = np.eye(3, 500), [f"label {i}" for i in range(20)]
    for model in (StructuredPerceptron(MultiClass()), CRF(MultiClass(), solver="sgd")):
        with pytest.raises(InputError, match=r"copies of weights of 50\d features x 20 labels"):
            model.partial_fit(X, labels[:3], classes=labels)


def test_transitions_are_foreseen(monkeypatch):
    monkeypatch.setenv("ACCORD_MEMORY", "2000000000")
    structure = Sequence(labels=[f"{i}" for i in range(20_000)])
    for learner, advice in ((StructuredPerceptron, "averaged=False"), (StructuredSVM, "Perceptron"), (CRF, "sgd")):
        with pytest.raises(InputError, match=rf"tables of 400,040,000 transitions.*{advice}"):
            learner(structure).fit([["a", "b"]], [["1", "2"]])


def test_dual_variables_are_foreseen(monkeypatch):
    monkeypatch.setenv("ACCORD_MEMORY", "12500000")
    structure = Sequence(labels=[f"{i}" for i in range(150)])
    X, Y = [["a", "b"]] * 100, [["1", "2"]] * 100
    with pytest.raises(InputError, match=r'100 examples x 22,800 transitions.*solver="cutting-plane"'):
        StructuredSVM(structure, solver="frank-wolfe").fit(X, Y)
    StructuredSVM(structure).fit(X[:1], Y[:1])


def test_costs_of_a_taxonomy_are_foreseen(monkeypatch):
    monkeypatch.setenv("ACCORD_MEMORY", "100000000")
    taxonomy = Taxonomy({f"leaf {i}": f"branch {i % 7}" for i in range(5000)})
    with pytest.raises(InputError, match=r"costs of 5,000 x 5,000 classes .*MultiClass"):
        taxonomy.fit([])


def test_what_is_refused_can_be_allowed(monkeypatch):
    monkeypatch.setenv("ACCORD_MEMORY", "500")
    model = StructuredPerceptron(MultiClass())
    with pytest.raises(InputError, match="set ACCORD_MEMORY"):
        model.fit(np.eye(20), list("ab") * 10)
    monkeypatch.setenv("ACCORD_MEMORY", "10000000")
    model.fit(np.eye(20), list("ab") * 10)


def test_lbfgs_remembers_less_where_memory_is_short(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 40)), [f"{i}" for i in rng.integers(5, size=60)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = CRF(MultiClass()).fit(X, Y)
    size = 8 * whole.weights_.unary.size
    monkeypatch.setenv("ACCORD_MEMORY", str(12 * size))
    with pytest.warns(UserWarning, match=r"L-BFGS remembers \d steps instead of 6"):
        short = CRF(MultiClass()).fit(X, Y)
    assert short.objective_ == pytest.approx(whole.objective_, rel=1e-4)
    monkeypatch.setenv("ACCORD_MEMORY", str(8 * size))
    with pytest.raises(InputError, match="8 copies of weights"):
        CRF(MultiClass()).fit(X, Y)


# -- not made at all --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "learner",
    [StructuredPerceptron, StructuredSVM, lambda structure: CRF(structure, max_iter=5), HMM],
    ids=["perceptron", "SVM", "CRF", "HMM"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_very_many_classes(learner):
    X = np.eye(3)

    def fit_and_predict():
        model = learner(MultiClass(labels=list(range(MANY)))).fit(X, [3, 77, 19_999])
        return model.predict(X)

    found, used = peak(fit_and_predict)
    assert list(found) == [3, 77, 19_999]
    assert used < 4e7  # a number for every pair of classes would be 3 GB


def test_classes_take_no_steps():
    s = MultiClass(labels=list(range(MANY))).fit([])
    assert s.chain(np.empty(0))[1].size == 0
    unary = np.zeros((1, MANY))
    unary[0, 12] = 1.0
    assert s.decode(s.parts(unary))[0].tolist() == [12]
    assert s.marginals(s.parts(unary)).sum() == pytest.approx(1.0)
    with pytest.raises(InputError, match=r"parts.unary has shape \(2, 20000\); expected \(1, 20000\)"):
        s.decode(Parts(np.zeros((2, MANY)), *s.chain(np.empty(0))))


def test_an_input_of_several_rows_is_no_class():
    model = StructuredPerceptron(MultiClass(), view=TokenFeatures()).fit([["a"], ["b"]], ["x", "y"])
    with pytest.raises(InputError, match="MultiClass expects one row per input"):
        model.predict([["a", "b"], []])


def test_costs_of_wrong_labels_are_not_kept_for_every_pair():
    structure, used = peak(lambda: Sequence(labels=[f"{i}" for i in range(5000)]).fit([]))
    assert structure.loss_.cost.shape == structure.loss_.level.shape == (5000, 1)
    assert used < 5e6


@pytest.mark.parametrize(
    ("weights", "options"),
    [(None, {}), ({"x": 2.0, "y": 0.5}, {"rescaling": "slack", "norm": 2}), ({"x": 0.3, "y": 0.0}, {})],
)
def test_shared_costs_are_those_of_a_matrix(weights, options, monkeypatch):
    def fit(structure, **more):
        return (
            StructuredSVM(structure, C=0.1, tol=0.1, random_state=0, **options, **more)
            .fit(TOKENS, LABELS)
            .weights_.flat()
        )

    shared = Sequence(label_weights=weights)
    found = fit(shared)
    by_label = np.array([(weights or {}).get(label, 1.0) for label in "xyz"])
    matrix = losses.cost(by_label[:, None] * (1.0 - np.eye(3)), average=False, single=False)
    monkeypatch.setattr(Sequence, "_loss", lambda self: matrix)
    np.testing.assert_array_equal(fit(shared), found)


# -- a part at a time -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("Y", [LABELS, PARTLY])
@pytest.mark.parametrize("view", [None, TokenFeatures(window=2)])
def test_scores_are_made_for_some_examples_at_a_time(Y, view, monkeypatch):
    def problem():
        model = CRF(Sequence(), view=view)
        rows, y, _ = model._prepare(TOKENS, Y)
        model.structure_.fit(LABELS)
        found = model._problem(rows, y)
        rng = np.random.default_rng(0)
        zero = found.zero_weights()
        return found, Weights(rng.normal(size=zero.unary.shape), rng.normal(size=zero.transitions.shape))

    whole, weights = problem()
    assert len(whole._parts) == 1
    monkeypatch.setattr(memory, "SCORES", 30)
    parts, _ = problem()
    assert len(parts._parts) > 1
    assert sum(part.n_examples for part in parts._parts) == len(TOKENS)
    (value, gradient), (value_in_parts, gradient_in_parts) = (p.log_likelihood(weights) for p in (whole, parts))
    assert value_in_parts == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(gradient_in_parts.flat(), gradient.flat(), atol=1e-12)
    np.testing.assert_array_equal(parts.impute(weights), whole.impute(weights))
    filled = whole.impute(weights)
    np.testing.assert_array_equal(
        parts.relabeled(filled).violations(weights), whole.relabeled(filled).violations(weights)
    )


@pytest.mark.parametrize("structure", [Sequence(), MultiClass()])
def test_predictions_do_not_depend_on_how_many_are_made_at_a_time(structure, monkeypatch):
    X, Y = (TOKENS, LABELS) if not structure.single_row else (np.eye(6), list("abcabc"))
    model = CRF(structure).fit(X, Y)
    X = X * 3 if not structure.single_row else np.tile(X, (3, 1))
    found, marginals, best = model.predict(X), model.predict_marginals(X), model.predict_k_best(X)
    monkeypatch.setattr(memory, "SCORES", 1)
    monkeypatch.setattr(packed_rows, "MOST_KEPT", 0)
    assert model._chunk() == 1
    model._forget_products()
    assert list(model.predict(X)) == list(found)
    assert model.predict_k_best(X) == best
    for a, b in zip(model.predict_marginals(X), marginals):
        np.testing.assert_array_equal(a, b)


def test_programs_that_run_long_give_memory_back_where_the_c_library_can(monkeypatch):
    asked = []
    for library in (SimpleNamespace(mallopt=lambda *setting: asked.append(setting)), SimpleNamespace()):
        monkeypatch.setattr(memory.ctypes, "CDLL", lambda name, found=library: found)
        memory.give_back_early()
    assert asked == [(-1, 2**20), (-8, 1)]  # M_TRIM_THRESHOLD, M_ARENA_MAX; the second one has no such settings
