"""The battery that every learner passes with every kind of structure: predictions, unlabeled examples."""

import numpy as np
import pytest
from bad_input import LEARNERS as ALL_CLASSES
from battery import CASES, LEARNERS, MULTI_VIEW, SEMI_SUPERVISED, all_cases, cover, each_case, is_defined, make
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from accord import CRF, HMM, MultiClass

each_class = pytest.mark.parametrize("cls", ALL_CLASSES)


@all_cases
def test_predictions_are_better_than_chance(fitted, learner, task):
    case = fitted(learner, task)
    labels = [label for y in case.Y_new for label in ([y] if case.model.structure_.single_row else y)]
    most_frequent = max(labels.count(label) for label in set(labels)) / len(labels)
    assert case.model.score(case.X, case.Y) > most_frequent + 0.1


@each_case
def test_score_is_the_fraction_of_right_labels(fitted, learner, task):
    case = fitted(learner, task)
    found = case.model.predict(case.X_new)
    if case.model.structure_.single_row:
        right = [a == b for a, b in zip(case.Y_new, found)]
    else:
        right = [a == b for y, z in zip(case.Y_new, found) for a, b in zip(y, z, strict=True)]
    assert case.model.score(case.X_new, case.Y_new) == pytest.approx(np.mean(right))
    partly = [None, *case.Y_new[1:]]
    assert case.model.score(case.X_new, partly) == pytest.approx(case.model.score(case.X_new[1:], case.Y_new[1:]))


@each_case
def test_k_best_starts_with_the_prediction(fitted, learner, task):
    case = fitted(learner, task)
    found = case.model.predict_k_best(case.X_new, k=4)
    assert [best[0][0] for best in found] == list(case.model.predict(case.X_new))
    n_labels = case.model.structure_.n_labels_
    for x, best in zip(case.X_new, found):
        scores = [score for _, score in best]
        assert scores == sorted(scores, reverse=True)
        assert len({repr(y) for y, _ in best}) == len(best)
        if case.model.structure.get_params().get("constraints") is None:
            assert len(best) == (4 if case.model.structure_.single_row else min(4, n_labels ** len(x)))


@each_case
def test_given_labels_are_kept(fitted, learner, task):
    case = fitted(learner, task)
    free = case.model.predict(case.X_new)
    labels = case.model.structure_.labels_
    if case.model.structure_.single_row:
        given = [labels[i % len(labels)] if i % 2 else None for i in range(len(free))]
        expected = [f if g is None else g for f, g in zip(free, given)]
        assert list(case.model.predict(case.X_new, given=given)) == list(expected)
        return
    given = [None if i % 3 == 0 else [None] * (len(y) - 1) + ["O"] for i, y in enumerate(free)]
    found = case.model.predict(case.X_new, given=given)
    assert all(y[-1] == "O" for y, g in zip(found, given) if g is not None)
    assert [y for y, g in zip(found, given) if g is None] == free[::3]
    as_predicted = case.model.predict(case.X_new, given=free)
    assert as_predicted == free
    # forced outputs are the best among those that keep the given label
    for y, g, best in zip(found, given, case.model.predict_k_best(case.X_new, k=5**5)):
        if g is not None:
            assert y == next(z for z, _ in best if z[-1] == "O")


@each_case
def test_streams_are_predicted_like_lists_and_nothing_like_nothing(fitted, learner, task):
    case = fitted(learner, task)
    model = case.model
    assert list(model.predict_iter(iter(list(case.X_new)), chunk_size=3)) == list(model.predict(case.X_new))
    assert list(model.predict([])) == []
    assert model.predict_k_best([], k=2) == []
    assert list(model.predict_iter(iter([]))) == []
    if isinstance(model, (CRF, HMM)):
        assert len(model.predict_marginals([])) == 0


@each_case
def test_scores_and_probabilities_of_labels(fitted, learner, task):
    case = fitted(learner, task)
    model, n_labels = case.model, case.model.structure_.n_labels_
    scores = model.decision_function(case.X_new)
    if model.structure_.single_row:
        assert scores.shape == (len(case.X_new), n_labels)
        assert [model.structure_.labels_[c] for c in scores.argmax(axis=1)] == list(model.predict(case.X_new))
    else:
        assert [s.shape for s in scores] == [(len(x), n_labels) for x in case.X_new]
    if isinstance(model, (CRF, HMM)):
        for p in model.predict_marginals(case.X_new):
            assert np.all(p >= 0)
            np.testing.assert_allclose(p.sum(axis=-1), 1.0)


@pytest.mark.parametrize(("learner", "task"), [case for case in CASES if case[1].startswith("token")])
def test_sentences_without_tokens_have_outputs_without_labels(learner, task):
    case = make(learner, task, n=12)
    empty = np.zeros((0, 3)) if task.startswith("token vectors") else []
    model = case.model.fit([*case.X, empty, empty], [*case.Y, [], None])
    assert model.predict([empty, case.X[0], empty])[::2] == [[], []]
    assert model.predict_k_best([empty], k=2) == [[([], 0.0)]]
    assert model.score([empty, case.X[0]], [[], case.Y[0]]) >= 0.0


@each_class
def test_unfitted_models_say_so(cls, tmp_path):
    model, X = cls(MultiClass()), [[0.0], [1.0]]
    calls = [
        lambda: model.predict(X),
        lambda: model.predict_k_best(X),
        lambda: model.decision_function(X),
        lambda: model.score(X, ["a", "b"]),
        lambda: next(model.predict_iter(iter(X))),
        lambda: model.save(tmp_path / "model"),
    ]
    if hasattr(model, "predict_marginals"):
        calls.append(lambda: model.predict_marginals(X))
    for call in calls:
        with pytest.raises(NotFittedError):
            call()
    assert not (tmp_path / "model").exists()


# -- unlabeled examples -----------------------------------------------------------------------------------------------


# Other views depend on the unlabeled inputs themselves (their scale, their span, their order of features).
SAME_FEATURES = (
    "classes",
    "taxonomy",
    "tokens",
    "tokens, iob2",
    "token dicts",
    "token vectors",
    "token vectors, order 2",
)


SUPERVISED = [learner for learner in LEARNERS if learner not in (*MULTI_VIEW, *SEMI_SUPERVISED)]


@pytest.mark.parametrize(
    ("learner", "task"), cover([(c, t) for c in SUPERVISED for t in SAME_FEATURES if is_defined(c, t)], set)
)
def test_supervised_learners_take_only_features_from_unlabeled_examples(learner, task):
    case = make(learner, task, n=15)
    alone = clone(case.model).fit(case.X, case.Y)
    X = np.vstack([case.X, case.X_new]) if isinstance(case.X, np.ndarray) else case.X + case.X_new
    both = case.model.fit(X, [*case.Y, *[None] * len(case.X_new)])
    np.testing.assert_allclose(both.weights_.transitions, alone.weights_.transitions, atol=1e-6)
    n_dims = alone.weights_.unary.shape[0]
    np.testing.assert_allclose(both.weights_.unary[:n_dims], alone.weights_.unary, atol=1e-6)
    assert not np.any(both.weights_.unary[n_dims:])
    assert list(both.predict(case.X)) == list(alone.predict(case.X))


@pytest.mark.parametrize("learner", [learner for learner in SEMI_SUPERVISED if is_defined(learner, "tokens")])
def test_semi_supervised_learners_predict_the_unlabeled_training_examples(learner):
    case = make(learner, "tokens", n=12)
    partly = [y if i % 3 else None for i, y in enumerate(case.Y)]
    model = case.model.fit(case.X, partly)
    unlabeled = case.X[::3]
    assert model.transduction_ == list(model.predict(unlabeled))
