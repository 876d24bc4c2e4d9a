"""Sequences in which some labels are hidden: what is accepted, what it means, and that it pays, with every learner."""

import numpy as np
import pytest
from row_tables import each_row
from sklearn.exceptions import ConvergenceWarning

from accord import (
    CRF,
    HMM,
    DictFeatures,
    InfeasibleError,
    InputError,
    MultiClass,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    TokenFeatures,
)
from accord.datasets import embedded_ner

NAMES = Sequence(constraints="iob2")
WORDS = TokenFeatures(window=1)
MAKERS = {
    "perceptron": lambda **options: StructuredPerceptron(random_state=0, **options),
    "cutting planes": lambda **options: StructuredSVM(C=0.1, tol=0.1, random_state=0, **options),
    "Frank-Wolfe": lambda **options: StructuredSVM(solver="frank-wolfe", C=0.1, tol=0.1, random_state=0, **options),
    "CRF": lambda **options: CRF(**options),
    "stochastic CRF": lambda **options: CRF(solver="sgd", max_iter=20, random_state=0, **options),
    "HMM": lambda **options: HMM(random_state=0, **options),
}
ONLINE = ["perceptron", "stochastic CRF"]
each_learner = pytest.mark.parametrize("name", MAKERS)
each_online = pytest.mark.parametrize("name", ONLINE)


def make(name, structure=NAMES, view=WORDS):
    return MAKERS[name](structure=structure, view=view)


def hide(Y, share, seed=0):
    """About that share of the labels replaced by None."""
    rng = np.random.default_rng(seed)
    return [[None if rng.random() < share else label for label in y] for y in Y]


def same(a, b):
    return np.array_equal(a.weights_.flat(), b.weights_.flat())


X, Y = embedded_ner(36, random_state=0)
X_NEW, Y_NEW = embedded_ner(60, random_state=99)


# -- it pays ----------------------------------------------------------------------------------------------------------


@each_learner
def test_hidden_labels_are_better_than_dropped_sentences(name):
    """Six complete sentences, and thirty of which half the labels are hidden: far better than the six alone."""
    partial = make(name).fit(X, Y[:6] + hide(Y[6:], 0.5)).score(X_NEW, Y_NEW)
    dropped = make(name).fit(X, Y[:6] + [None] * 30).score(X_NEW, Y_NEW)
    complete = make(name).fit(X, Y).score(X_NEW, Y_NEW)
    assert partial > dropped + 0.05
    assert partial > complete - 0.08


@each_learner
def test_no_sentence_needs_all_its_labels(name):
    model = make(name).fit(X[:24], hide(Y[:24], 0.4))
    assert model.score(X_NEW, Y_NEW) > 0.75


def test_the_likelihood_improves_on_guessing_that_hidden_tokens_are_outside():
    """Taking None for "O", as one would have to without partial labels, loses the names."""
    hidden = hide(Y, 0.5)
    outside = [[label or "O" for label in y] for y in hidden]
    is_name = [[label if label != "O" else None for label in y] for y in Y_NEW]
    forced, guessed = (make("CRF", Sequence()).fit(X, labels).score(X_NEW, is_name) for labels in (hidden, outside))
    assert forced > guessed + 0.2


# -- what it means ----------------------------------------------------------------------------------------------------


@each_learner
def test_a_sentence_of_nothing_but_none_is_unlabeled(name):
    unlabeled = [y if i % 3 else None for i, y in enumerate(Y[:6])]
    hidden = [y if i % 3 else [None] * len(y) for i, y in enumerate(Y[:6])]
    a, b = (make(name).fit(X[:6], labels) for labels in (unlabeled, hidden))
    assert same(a, b)
    assert getattr(a, "transduction_", None) == getattr(b, "transduction_", None)
    assert getattr(a, "history_", None) == getattr(b, "history_", None)


@each_learner
def test_what_a_data_frame_makes_of_none_is_none(name):
    hidden = hide(Y[:4], 0.3)
    a = make(name).fit(X[:4], hidden)
    for missing in (float("nan"), np.float64("nan"), pytest.importorskip("pandas").NA):
        other = [[missing if label is None else label for label in y] for y in hidden]
        b = make(name).fit(X[:4], other)
        assert same(a, b)
        assert a.structure_.labels_ == b.structure_.labels_ == sorted({label for y in hidden for label in y if label})
        assert b.score(X[:4], other) == a.score(X[:4], hidden)


def test_arrays_of_labels_may_have_holes():
    rows = [["f"], ["g"], ["f"]]
    numbers = HMM(Sequence(), view=DictFeatures()).fit([rows, rows], [np.array([1.0, np.nan, 1.0]), [1.0, 2.0, 1.0]])
    assert numbers.structure_.labels_ == [1.0, 2.0]
    objects = HMM(Sequence(), view=DictFeatures()).fit([rows, rows], [(1.0, None, 1.0), np.array([1.0, 2.0, 1.0])])
    assert same(numbers, objects)


def test_label_numbers():
    s = Sequence(labels=["a", "b"]).fit([])
    numbers = s.encode([["b", None], [None]])
    assert numbers.tolist() == [1, -1, -1]
    assert numbers.dtype == np.int32
    with pytest.raises(InputError, match=r"^Y\[0\]\[1\] is 'x', which is not one of the labels \['a', 'b'\]"):
        s.encode([[None, "x"]])
    with pytest.raises(InputError, match=r"^Y\[1\] is None"):
        MultiClass(labels=["a"]).fit([]).encode(["a", None])


@each_learner
def test_score_counts_annotated_tokens_only(name):
    model = make(name).fit(X[:5], Y[:5])
    predicted = model.predict(X_NEW[:2])
    wrong = "O" if predicted[1][0] != "O" else "B-PER"
    truth = [[None] * len(y) for y in predicted]
    truth[0][1], truth[1][0], truth[1][2] = predicted[0][1], wrong, predicted[1][2]
    assert model.score(X_NEW[:2], truth) == pytest.approx(2 / 3)
    assert model.score(X_NEW[:2], [None, truth[1]]) == pytest.approx(1 / 2)
    with pytest.raises(InputError, match="no labels to score against"):
        model.score(X_NEW[:2], [None, [None] * len(truth[1])])


def test_the_perceptron_counts_only_given_labels_as_wrong():
    model = StructuredPerceptron(NAMES, view=WORDS, random_state=0, max_iter=1).fit(X, hide(Y, 0.9))
    given = sum(label is not None for y in hide(Y, 0.9) for label in y)
    assert 0 < model.history_[0]["wrong_tokens"] <= given


def test_counts_of_labels_that_are_known(monkeypatch):
    """Before Baum-Welch an HMM counts given labels and the moves between two that are."""
    monkeypatch.setattr(HMM, "_check_params", lambda self: None)
    rows = [["f"], ["f"], ["g"], ["f"], ["f"]]
    hmm = HMM(Sequence(), view=DictFeatures(), smoothing=1.0, max_iter=0).fit([rows], [["x", "x", "y", None, "x"]])
    start, end, pair = np.split(np.exp(hmm.weights_.transitions), [2, 4])
    np.testing.assert_allclose(start, [2 / 3, 1 / 3])
    # x goes to x, to y and to the end; where y goes, and what goes to the last x, is not known
    np.testing.assert_allclose(pair, [2 / 6, 2 / 6, 1 / 3, 1 / 3])
    np.testing.assert_allclose(end, [2 / 6, 1 / 3])
    on = 1 / (1 + np.exp(-hmm.weights_.unary))
    np.testing.assert_allclose(on, [[4 / 5, 1 / 3], [1 / 5, 2 / 3]])


# -- rounds of the support vector machine ---------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["cutting-plane", "frank-wolfe"])
def test_the_machine_guesses_until_nothing_changes(solver):
    hidden = hide(Y[:20], 0.85)
    options = {"structure": NAMES, "view": WORDS, "C": 0.001, "tol": 0.001, "random_state": 0, "solver": solver}
    svm = StructuredSVM(**options).fit(X[:20], hidden)
    changed = [entry["changed"] for entry in svm.history_ if "changed" in entry]
    assert 2 <= len(changed) <= 5, "the guess of the perceptron was final"
    assert all(changed[:-1])
    assert [e["round"] for e in svm.history_] == sorted(e["round"] for e in svm.history_)
    assert svm.history_[-1]["round"] == len(changed)
    # nothing changes any more: the machine is the one of the labels it guesses
    assert changed[-1] == 0
    labeled = [i for i, y in enumerate(hidden) if any(y)]
    guessed = svm.predict([X[i] for i in labeled], given=[hidden[i] for i in labeled])
    complete = StructuredSVM(**options).fit([X[i] for i in labeled], guessed)
    assert complete.objective_ == pytest.approx(svm.objective_, rel=1e-3)


def test_complete_labels_take_no_rounds():
    for solver in ("cutting-plane", "frank-wolfe"):
        svm = StructuredSVM(NAMES, C=0.1, tol=0.1, solver=solver, random_state=0).fit(X[:10], Y[:10])
        assert svm.history_
        assert all("round" not in entry for entry in svm.history_)
    assert HMM(NAMES).fit(X[:10], Y[:10]).log_likelihood_ == []


def test_support_outputs_name_the_sentences_of_the_caller():
    hidden = [[None] * len(Y[0]), None, *hide(Y[2:8], 0.3)]
    svm = make("cutting planes").fit(X[:8], hidden)
    support = svm.support_outputs()
    assert support
    for i, wrong, alpha in support:
        assert 2 <= i < 8
        assert len(wrong) == len(X[i])
        assert alpha > 0


def test_a_machine_that_stops_early_says_so():
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        StructuredSVM(NAMES, solver="frank-wolfe", max_iter=1, tol=1e-6, random_state=0).fit(X[:10], hide(Y[:10], 0.5))


# -- repetition, threads, batches ---------------------------------------------------------------------------------


@each_learner
def test_the_same_seed_gives_the_same_model(name):
    hidden = hide(Y[:5], 0.5)
    assert same(make(name).fit(X[:5], hidden), make(name).fit(X[:5], hidden))


def test_the_number_of_threads_does_not_change_a_bit():
    rng = np.random.default_rng(0)
    many = [[{"w": f"w{k}"} for k in rng.integers(0, 50, rng.integers(1, 4))] for _ in range(2500)]
    labels = [[f"l{int(token['w'][1:]) % 3}" if rng.random() < 0.5 else None for token in x] for x in many]
    fits = [CRF(Sequence(), view=DictFeatures(), max_iter=4, n_jobs=k, tol=1e-9) for k in (1, 2)]
    with pytest.warns(ConvergenceWarning):
        one, two = (fit.fit(many, labels) for fit in fits)
    assert same(one, two)
    assert one.history_ == sorted(one.history_, reverse=True)


@each_online
def test_batches(name):
    """One batch is one pass of fit; further batches go on learning."""
    hidden = hide(Y, 0.5)
    labels = sorted({label for y in Y for label in y})
    model = make(name).set_params(max_iter=1)
    if name == "perceptron":  # a CRF merges features before it fits
        assert same(make(name).set_params(max_iter=1).fit(X, hidden), make(name).partial_fit(X, hidden, labels))
    for _ in range(10):
        for first in range(0, 36, 12):
            model.partial_fit(X[first : first + 12], hidden[first : first + 12], labels)
    assert model.score(X_NEW, Y_NEW) > 0.75


@each_online
def test_a_batch_of_nothing_but_none_teaches_nothing(name):
    model = make(name).partial_fit(X[:20], Y[:20])
    before = model.predict(X_NEW)
    model.partial_fit(X[20:30], [[None] * len(x) for x in X[20:30]])
    assert model.predict(X_NEW) == before
    with pytest.raises(InputError, match="the first batch has no labeled example"):
        make(name).partial_fit(X[:2], [[None] * len(x) for x in X[:2]])


# -- errors -----------------------------------------------------------------------------------------------------------

PEOPLE = [["Ana"], ["Tom", "Lee"], ["Tom", "met", "Ana", "Lee"]]


@each_learner
@pytest.mark.parametrize("labels", [["O", "I-P", None, None], ["I-P", None, "O", "O"], [None, "O", "I-P", None]])
def test_labels_that_no_allowed_output_has(name, labels):
    model = make(name)
    with pytest.raises(InfeasibleError, match=r"^Y\[2\]: no output that the constraints allow has its labels"):
        model.fit(PEOPLE, [None, ["B-P", "I-P"], labels])
    assert not hasattr(model, "structure_")
    model.fit(PEOPLE, [None, ["B-P", "I-P"], [None, "I-P", "O", None]])


@each_online
def test_a_batch_with_impossible_labels_changes_nothing(name):
    model = make(name).partial_fit(PEOPLE[:2], [["B-P"], ["B-P", "I-P"]], classes=["B-P", "I-P", "O"])
    n_dims = model.weights_.unary.shape[0]
    with pytest.raises(InfeasibleError, match=r"^Y\[1\]: "):
        model.partial_fit([["new"], ["words", "here"]], [["O"], ["I-P", None]])
    assert model.weights_.unary.shape[0] == n_dims
    assert len(model.predict([["new"]])) == 1


@each_row("name", ["perceptron", "cutting planes", "CRF", "stochastic CRF"])
def test_complete_labels_that_break_the_constraints_free_the_others(name):
    """Then training ignores the constraints, as it does without hidden labels; predictions obey them."""
    with pytest.warns(UserWarning, match="1 of 2 labeled outputs break the constraints"):
        model = make(name).fit(PEOPLE, [None, ["O", "I-P"], ["O", None, "B-P", "I-P"]])
    assert all("I-P" not in y[:1] for y in model.predict(PEOPLE))


@each_learner
def test_lengths_and_labels_are_checked_as_ever(name):
    with pytest.raises(InputError, match=r"^Y\[1\] has 3 labels but X\[1\] has 2 tokens$"):
        make(name).fit(PEOPLE[:2], [["B-P"], [None, "O", None]])
    with pytest.raises(InputError, match=r"^Y\[1\] has 3 labels but X\[1\] has 2 tokens$"):
        make(name, Sequence(labels=["B-P", "O"])).fit(PEOPLE[:2], [["B-P"], [None, None, None]])
    with pytest.raises(InputError, match=r"^Y\[1\]\[1\] is a list; expected a label"):
        make(name).fit(PEOPLE[:2], [["B-P"], [None, ["O"]]])
    with pytest.raises(InputError, match=r"^Y\[1\]\[1\] is 'X', which is not among labels="):
        make(name, Sequence(labels=["B-P", "O"])).fit(PEOPLE[:2], [["B-P"], [None, "X"]])
    with pytest.raises(InputError, match="all 2 examples are unlabeled"):
        make(name).fit(PEOPLE[:2], [None, [None, None]])


def test_classes_have_no_parts():
    with pytest.raises(InputError, match=r"^Y\[1\] is a list; MultiClass expects one label per input$"):
        CRF(MultiClass()).fit([[1.0], [2.0]], ["a", [None]])
