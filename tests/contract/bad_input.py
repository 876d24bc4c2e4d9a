"""What can be wrong with the input, one function a row of docs/bad-input.md: outputs, and too little of anything.

A function gets ``make``, which builds a learner, does the wrong thing and returns nothing. What is refused before any
learner's own code runs is tried with one learner, another one in each row, so that each learner meets many rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from accord import (
    CRF,
    HMM,
    CoPerceptron,
    CoSVM,
    GradientCoSVM,
    GradientSVM,
    MultiClass,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    Taxonomy,
    TransductiveSVM,
)

SMOOTH = [GradientSVM, TransductiveSVM, GradientCoSVM]
LEARNERS = [StructuredPerceptron, StructuredSVM, CRF, HMM, CoPerceptron, CoSVM, *SMOOTH]
ROWS: dict[str, "Row"] = {}

SENTENCES = [["Tom", "left"], ["Ana", "saw", "Tom"], ["Eva"]]
TAGS = [["P", "O"], ["P", "O", "P"], ["P"]]
TREE = {"cat": "animal", "dog": "animal", "car": "thing"}


@dataclass
class Row:
    """One row of the table."""

    name: str
    run: Callable
    learners: list


def row(name, *learners, among=LEARNERS):
    """Register a function to be tried with each of these learners, or else with one of those that share the code."""

    def register(function):
        ROWS[name] = Row(name, function, list(learners) or [among[len(ROWS) % len(among)]])
        return function

    return register


# -- outputs ----------------------------------------------------------------------------------------------------------


@row("lengths")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS[:2])


@row("ragged")
def _(make):
    make(Sequence()).fit([["a"] * 6] * 18, [["O"] * 6] * 17 + [["O"] * 5])


@row("y-missing")
def _(make):
    make(Sequence()).fit(SENTENCES, None)


@row("y-no-list")
def _(make):
    make(MultiClass()).fit([[1.0], [2.0]], "ab")


@row("y-label-for-sequence")
def _(make):
    make(Sequence()).fit(SENTENCES, [["P", "O"], "P", ["P"]])


@row("y-list-for-class")
def _(make):
    make(MultiClass()).fit([[1.0], [2.0]], ["a", ["b"]])


@row("y-token-unlabeled", *LEARNERS)
def _(make):
    model = make(Sequence()).fit(SENTENCES, [["P", "O"], ["P", None, "P"], ["P"]])
    assert model.predict([["Tom", "left"]]) == [["P", "O"]]


@row("y-tokens-all-unlabeled", *LEARNERS)
def _(make):
    fits = (make(Sequence(), random_state=0).fit(SENTENCES, [y, *TAGS[1:]]) for y in ([None, None], None))
    hidden, unlabeled = (model.predict(SENTENCES) for model in fits)
    assert hidden == unlabeled


@row("y-no-label")
def _(make):
    make(Sequence()).fit(SENTENCES, [["P", "O"], ["P", ["O"], "P"], ["P"]])


@row("label-undeclared")
def _(make):
    make(Sequence(labels=["O", "P"])).fit(SENTENCES, [None, ["P", "Q", "P"], ["P"]])


@row("label-not-in-taxonomy")
def _(make):
    make(Taxonomy(TREE), emission="gaussian").fit([[1.0], [2.0], [3.0]], [None, "cat", "zebra"])


@row("label-inner-node")
def _(make):
    make(Taxonomy(TREE), emission="gaussian").fit([[1.0], [2.0], [3.0]], [None, "cat", "animal"])


@row("label-unknown-in-batch", StructuredPerceptron, CRF)
def _(make):
    make(Sequence()).partial_fit(SENTENCES, TAGS).partial_fit([["Rome"]], [["L"]])


@row("label-unknown-given")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS).predict([["Eva"], ["Eva", "left"]], given=[None, [None, "L"]])


@row("given-lengths")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS).predict(SENTENCES, given=[None])


@row("given-ragged")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS).predict(SENTENCES, given=[None, ["P"], None])


@row("given-impossible")
def _(make):
    model = make(Sequence(constraints="iob2")).fit([["Ana", "Lee"]], [["B-P", "I-P"]])
    model.predict([["Ana"], ["Lee", "Ana"]], given=[None, ["I-P", None]])


@row("constraints-broken", among=[learner for learner in LEARNERS if learner is not HMM])
def _(make):
    make(Sequence(constraints="iob2")).fit([["Ana"], ["Lee", "left"]], [["B-P"], ["I-P", "O"]])


@row("constraints-broken-in-part")
def _(make):
    make(Sequence(constraints="iob2")).fit([["Ana", "Lee"], ["Lee", "left"]], [["B-P", "I-P"], ["I-P", None]])


@row("label-measured")
def _(make):
    make(MultiClass(), emission="gaussian").fit([[float(i)] for i in range(40)], [i + 0.25 for i in range(40)])


@row("label-numbers")
def _(make):
    make(MultiClass(), emission="gaussian").fit([[1.0], [2.0], [1.1], [2.2]], [0.5, 1.5, 0.5, 1.5])


@row("label-minus-one")
def _(make):
    make(MultiClass(), emission="gaussian").fit([[1.0], [2.0], [3.0], [1.2]], [0, 1, -1, -1])


@row("label-infinite")
def _(make):
    make(MultiClass(), emission="gaussian").fit([[1.0], [2.0]], [float("inf"), 1.0])


@row("y-column")
def _(make):
    make(MultiClass(), emission="gaussian").fit([[1.0], [2.0]], np.array([["a"], ["b"]]))


@row("score-without-labels")
def _(make):
    make(Sequence()).fit(SENTENCES, TAGS).score(SENTENCES, [None, None, None])


# -- too little -------------------------------------------------------------------------------------------------------


@row("nothing")
def _(make):
    make(Sequence()).fit([], [])


@row("all-unlabeled")
def _(make):
    make(Sequence()).fit(SENTENCES, [None, None, None])


@row("one-class", *LEARNERS)
def _(make):
    model = make(MultiClass(), emission="gaussian").fit([[1.0], [2.0]], ["a", "a"])
    assert list(model.predict([[3.0]])) == ["a"]


@row("empty-sentence", *LEARNERS)
def _(make):
    model = make(Sequence()).fit([[], *SENTENCES], [[], *TAGS])
    assert model.predict([[], ["Tom"], []]) == [[], ["P"], []]


@row("only-empty-sentences", *LEARNERS)
def _(make):
    make(Sequence(labels=["O", "P"])).fit([[], []], [[], []])


@row("no-labels-in-first-batch", StructuredPerceptron, CRF)
def _(make):
    make(Sequence()).partial_fit(SENTENCES, [None, None, None])


@row("not-fitted")
def _(make):
    make(Sequence()).predict(SENTENCES)
