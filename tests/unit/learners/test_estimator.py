"""What scikit-learn expects of estimators: classes, probabilities, coefficients, columns."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from row_tables import each_row
from scipy.special import softmax
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score

import accord
from accord import (
    CRF,
    HMM,
    RLSR,
    ArrayFeatures,
    CoPerceptron,
    CoRLSR,
    KernelFeatures,
    MultiClass,
    Select,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    Taxonomy,
    TransductiveSVM,
)
from accord.exceptions import InputError
from accord.learners.estimator import label_array, n_columns

RNG = np.random.default_rng(0)
CLASS = np.arange(30) % 3
ROWS = 2.0 * np.eye(3)[CLASS] + RNG.normal(size=(30, 3)) + [0.0, 5.0, -3.0]
NAMES = np.array(["cat", "dog", "fox"])[CLASS]
TREE = {"cat": "feline", "dog": "canine", "fox": "canine", "feline": "all", "canine": "all"}


@each_row(
    ("labels", "kind"),
    [
        (["b", "a", "ccc"], "U"),
        ([3, 1, 2], "i"),
        ([0.5, 1.5], "f"),
        ([True, False], "b"),
        ([True, "yes"], "O"),
        ([1, 2.5], "O"),
        ([("a", 1), ("b", 2)], "O"),
        (["a\0", "a"], "O"),  # NumPy's text ends where zeros begin
        ([10**30, 1], "O"),
        ([np.int64(4), np.int64(5)], "i"),
    ],
)
def test_arrays_of_labels_hold_them_as_they_are(labels, kind):
    found = label_array(labels)
    assert found.dtype.kind == kind
    assert found.shape == (len(labels),)
    assert [(type(a), a) for a in found.tolist()] == [
        (type(b), b) for b in (x.item() if isinstance(x, np.generic) else x for x in labels)
    ]


@pytest.mark.parametrize("structure", [MultiClass(), Taxonomy(TREE)], ids=["classes", "taxonomy"])
@pytest.mark.parametrize("learner", [CRF, lambda s: HMM(s, emission="gaussian")], ids=["crf", "hmm"])
def test_probabilities_of_classes(structure, learner, tmp_path):
    model = learner(structure).fit(ROWS, NAMES)
    probabilities = model.predict_proba(ROWS)
    assert model.classes_.tolist() == ["cat", "dog", "fox"]
    np.testing.assert_allclose(probabilities, softmax(model.decision_function(ROWS), axis=1), atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(ROWS)), probabilities, atol=1e-12)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(ROWS)).all()
    assert model.predict_proba(ROWS[:0]).shape == (0, 3)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(accord.load(tmp_path / "model").predict_proba(ROWS), probabilities)


def test_logarithms_of_probabilities_that_are_too_small_for_numbers():
    model = CRF(MultiClass()).fit(ROWS, NAMES)
    far = 1e4 * (ROWS - ROWS.mean(axis=0))
    assert np.all(np.isfinite(model.predict_log_proba(far)))
    assert (model.predict_proba(far) == 0.0).any()


def test_only_classes_have_probabilities_and_classes():
    X, Y = [["Ana", "left"]], [["PER", "O"]]
    tagger = CRF(Sequence()).fit(X, Y)
    for name in ("predict_proba", "predict_log_proba", "classes_", "coef_", "n_features_in_", "feature_names_in_"):
        assert not hasattr(tagger, name)
        assert not hasattr(CRF(MultiClass()), name) or name.startswith("predict")
    assert not hasattr(StructuredSVM(MultiClass(), tol=0.1).fit(ROWS[:6], NAMES[:6]), "predict_proba")


def test_scores_of_two_classes_say_how_far_the_second_is_ahead():
    two = np.where(NAMES == "fox", "dog", NAMES)
    model = CRF(MultiClass()).fit(ROWS, two)
    scores = model.decision_function(ROWS)
    assert scores.shape == (30,)
    assert (model.classes_[(scores > 0).astype(int)] == model.predict(ROWS)).all()
    np.testing.assert_allclose(1 / (1 + np.exp(-scores)), model.predict_proba(ROWS)[:, 1])
    assert model.coef_.shape == (1, 3)
    np.testing.assert_allclose(ROWS @ model.coef_[0] + model.intercept_, scores)


LINEAR = {
    "plain": (CRF(MultiClass()), ROWS),
    "standardised": (CRF(MultiClass(), view=ArrayFeatures(standardize=True)), ROWS),
    "standardised, sparse": (CRF(MultiClass(), view=ArrayFeatures(standardize=True)), sp.csr_array(ROWS)),
    "no bias": (StructuredSVM(MultiClass(), view=ArrayFeatures(bias=False), C=0.03), ROWS),
    "taxonomy": (StructuredPerceptron(Taxonomy(TREE), random_state=0), ROWS),
    "views": (CoPerceptron(MultiClass(), random_state=0), ROWS),
    "truth values": (HMM(MultiClass()), (ROWS > ROWS.mean(axis=0)).astype(float)),
    "balanced": (TransductiveSVM(MultiClass(), balance=True, unlabeled_weight=0.1, random_state=0), ROWS),
    "frame": (CRF(MultiClass()), pd.DataFrame(ROWS, columns=["u", "v", "w"])),
}


@pytest.mark.parametrize("case", LINEAR)
def test_coefficients_give_the_scores(case):
    model, X = LINEAR[case]
    partly = [None if i % 5 == 4 else name for i, name in enumerate(NAMES)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, partly if case == "balanced" else NAMES)
    assert model.coef_.shape == (3, 3)
    found = np.asarray(X @ model.coef_.T) + model.intercept_
    np.testing.assert_allclose(found, model.decision_function(X), atol=1e-9)


@each_row(
    "model",
    [
        CRF(MultiClass(), view=KernelFeatures()),
        CRF(MultiClass(), view=Select([0, 1])),
        HMM(MultiClass(), emission="gaussian"),
    ],
    ids=["kernel", "part of the columns", "squares"],
)
def test_without_linear_scores_there_are_no_coefficients(model):
    model.fit(ROWS, NAMES)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "intercept_")


@pytest.mark.parametrize(
    "model", [CRF(MultiClass()), CoPerceptron(MultiClass(), random_state=0), RLSR(), CoRLSR(random_state=0)], ids=repr
)
def test_columns_are_known_and_kept_in_files(model, tmp_path):
    y = NAMES if hasattr(model, "structure") else ROWS.sum(axis=1)
    frame = pd.DataFrame(ROWS, columns=["u", "v", "w"])
    model.fit(frame, y)
    model.save(tmp_path / "model")
    for fitted in (model, accord.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert fitted.n_features_in_ == 3
        assert fitted.feature_names_in_.tolist() == ["u", "v", "w"]
    model.fit(ROWS[:, :2], y)
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")


@each_row(
    ("X", "width"),
    [
        (ROWS, 3),
        (ROWS.tolist(), 3),
        (list(ROWS), 3),
        (sp.csr_array(ROWS), 3),
        ([["Ana", "left"]], None),
        ([{"a": 1}], None),
        ([ROWS, ROWS], None),
        (ROWS[None], None),
        ([], None),
        (["some text"], None),
    ],
)
def test_what_has_columns(X, width):
    assert n_columns(X) == width


def test_cross_validation_cuts_rows_and_columns_of_precomputed_kernels():
    y = ROWS.sum(axis=1)
    options = {"eta": 0.1, "standardize": False}
    found = cross_val_score(RLSR(kernel="precomputed", **options), rbf_kernel(ROWS, gamma=0.2), y, cv=3)
    np.testing.assert_allclose(found, cross_val_score(RLSR(kernel="rbf", gamma=0.2, **options), ROWS, y, cv=3))


# -- labels that are numbers ------------------------------------------------------------------------------------------
def test_minus_one_means_unlabeled_on_request(tmp_path):
    y = np.where(np.arange(30) % 4 == 1, -1, CLASS)
    partly = [None if label == -1 else int(label) for label in y]
    for make in (
        lambda structure: CoPerceptron(structure, unlabeled_weight=0.1, random_state=0),
        lambda structure: StructuredSVM(structure, C=0.03, random_state=0),
        lambda structure: TransductiveSVM(structure, unlabeled_weight=0.1, random_state=0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = make(MultiClass(unlabeled=-1)).fit(ROWS, y)
        expected = make(MultiClass()).fit(ROWS, partly)
        assert model.classes_.tolist() == [0, 1, 2]
        np.testing.assert_array_equal(model.weights_.unary, expected.weights_.unary)
        assert getattr(model, "transduction_", None) == getattr(expected, "transduction_", None)
        assert model.score(ROWS, y) == expected.score(ROWS, partly)
        if isinstance(model, StructuredSVM) and not isinstance(model, TransductiveSVM):
            assert model.support_outputs() == expected.support_outputs()
    model.save(tmp_path / "model")
    assert accord.load(tmp_path / "model").structure_.unlabeled == -1
    tree = Taxonomy({0: "low", 1: "low", 2: "high"}, unlabeled=-1)
    assert StructuredPerceptron(tree, random_state=0).fit(ROWS, y).classes_.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match="unlabeled is"):
        CRF(MultiClass(unlabeled=[1])).fit(ROWS, y)


def warnings_of(y, structure=None):
    X = np.random.default_rng(1).normal(size=(len(y), 2))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        StructuredPerceptron(structure or MultiClass(), random_state=0).fit(X, y)
    return [str(w.message) for w in seen]


def test_minus_one_beside_other_numbers_is_warned_of():
    assert "MultiClass(unlabeled=-1)" in warnings_of([0, 1, -1, -1])[0]
    assert "MultiClass(unlabeled=-1)" in warnings_of(np.array([0, 1, 2, -1]))[0]
    for y in ([-1, 1, 1, -1], [-2, -1, 0, 1], ["-1", "0", "1", "1"], [0, 1, 2, 3], [True, False, True, True]):
        assert warnings_of(y) == []
    assert warnings_of([0, 1, -1, -1], MultiClass(labels=[-1, 0, 1])) == []
    assert warnings_of([0, 1, -1, -1], MultiClass(unlabeled=-1)) == []


def test_classes_that_look_like_measurements():
    prices = [9.99, 4.5, 9.99, 20.0]
    assert "RLSR" in warnings_of(prices)[0]
    assert warnings_of(prices, MultiClass(labels=[4.5, 9.99, 20.0])) == []
    assert warnings_of([str(p) for p in prices]) == []
    assert "RLSR" in warnings_of(list(range(100, 130)))[0], "a whole number for each example"
    assert "RLSR" in warnings_of([f"{i}.99" for i in range(30)])[0], "as a table has them"
    assert warnings_of([f"{i}.99" for i in range(20)]) == []
    assert warnings_of(["nan", "inf", *map(str, range(30))]) == [], "names among them"
    assert warnings_of(list(range(25)) * 4) == [], "many classes, with several examples each"
    assert warnings_of(pd.Series([0, 1, None, 1])) == [], "pandas makes fractions of whole numbers beside None"
    with pytest.raises(InputError, match=r"Unknown label type: .*continuous.*RLSR"):
        warnings_of(np.random.default_rng(0).normal(size=50))
