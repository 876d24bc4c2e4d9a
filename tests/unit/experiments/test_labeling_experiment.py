"""Simulated annotators: what answers cost, and when the error of random labels is reached."""

import numpy as np

from accord.datasets import embedded_ner, gaussian_classes
from accord.datasets.people import people
from accord.experiments.annotators import RANDOM, SPANS, Goal, OfOutputs, OfRecords
from accord.experiments.labeling import AT, NEEDED, Labeling, figures_of
from accord.experiments.sentences import chain_of
from accord.labeling.project import BETWEEN
from accord.structures.chains.multiclass import MultiClass
from accord.views.dense import ArrayFeatures
from accord.views.text import TokenFeatures


def test_when_the_goal_is_reached():
    curve = [(10, 0.5), (30, 0.2), (50, 0.3), (90, 0.1), (120, 0.0)]
    found = figures_of(curve, Goal(100, 0.25))
    assert found[NEEDED.name] == 0.3
    assert [found[metric.name] for metric in AT] == [0.5, 0.2, 0.3, 0.3, 0.1]
    assert figures_of(curve[:1], Goal(100, 0.25))[NEEDED.name] == 1.0  # not reached


def test_sentences_and_spans_cost_tokens():
    X, Y = embedded_ner(60, random_state=0)
    sizes = {"first": 5, "step": 3, "random": 20}
    answers = OfOutputs(3, X, Y, (X[:10], Y[:10]), chain_of(Y), TokenFeatures(), sizes, max_iter=20, tol=1e-2)
    goal = answers.goal()
    order = np.random.default_rng(3).permutation(60)
    assert goal.cost == sum(len(X[i]) for i in order[: len(answers.known)])
    assert goal.cost >= sum(len(X[i]) for i in order[:20])
    curve = answers.curve("entropy", 0.5 * goal.cost)
    assert curve[0][0] == sum(len(X[i]) for i in order[:5])
    assert len(set(answers.known)) == len(answers.known)
    assert curve[-1][0] == sum(len(X[i]) for i in answers.known)
    spans = answers.curve(SPANS, 0.5 * goal.cost)
    given = sum(label is not None for y in answers.parts.values() for label in y)
    assert 0 < given == spans[-1][0] - spans[0][0]
    for i, y in answers.parts.items():  # answers are true
        assert all(label in (None, true) for label, true in zip(y, Y[i]))


def test_classes_begin_with_a_cover():
    X, y = gaussian_classes(80, n_features=4, separation=3.0, random_state=0)
    sizes = {"first": 6, "step": 4, "random": 20}
    answers = OfOutputs(0, X, y, (X, y), MultiClass(), ArrayFeatures(), sizes)
    assert answers.goal().cost == 22  # six, and four at a time until there are twenty
    first = answers.curve("balance", 1.0)[0]
    assert first[0] == 6
    assert sorted(answers.known) != sorted(np.random.default_rng(0).permutation(80)[:6].tolist())


def test_questions_about_records_are_those_of_the_page():
    records, clusters = people(40, random_state=0)
    answers = OfRecords(0, records, np.asarray(clusters))
    places = {key: k for k, key in enumerate(answers.live.project.keys)}
    for strategy in (RANDOM, "entropy"):
        curve = answers.curve(strategy, 20)
        assert [cost for cost, _ in curve] == [0, 10, 20]
        assert all(0.0 <= error <= 1.0 for _, error in curve)
        found = answers.fit().clusters()
        for key, answer in answers.asked.items():
            one, other = (found[places[part]] for part in key.split(BETWEEN))
            assert (one == other) == (answer == "same")
    assert set(answers.asked.values()) == {"same", "different"}


def test_which_strategies_are_compared_where():
    tasks = Labeling().tasks(False, 0)
    by_data = {task.setting["data"]: set() for task in tasks}
    for task in tasks:
        by_data[task.setting["data"]].add(task.method)
    assert SPANS in by_data["Spanish"]
    assert "change" in by_data["20 newsgroups"]
    assert by_data["Cora"] == {RANDOM, "entropy"}
