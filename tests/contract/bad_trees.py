"""Rows of docs/bad-input.md about parse trees."""

from pathlib import Path

from bad_input import SMOOTH, row

from accord import (
    CRF,
    HMM,
    PCFG,
    CoPerceptron,
    CoSVM,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    TransductiveSVM,
    Tree,
)
from accord.datasets import read_trees

LEARNERS = [StructuredPerceptron, StructuredSVM, CRF, PCFG, CoPerceptron, CoSVM, *SMOOTH]
X = [["dogs", "bark"], ["the", "dog", "saw", "Ana"]]
Y = ["(S (NP (N dogs)) (VP (V bark)))", "(S (NP (D the) (N dog)) (VP (V saw) (NP (N Ana))))"]


def quiet(learner):
    """A supervised co-learner does not say that unlabeled sentences are missing."""
    return learner.set_params(unlabeled_weight=0.0) if hasattr(learner, "unlabeled_weight") else learner


@row("tree-token", among=LEARNERS)
def _(make):
    quiet(make(Tree())).fit([X[0], ["the", "dog", 7, "Ana"]], Y)


@row("tree-y", among=LEARNERS)
def _(make):
    quiet(make(Tree())).fit(X, [Y[0], 3])


@row("tree-y-brackets", among=LEARNERS)
def _(make):
    quiet(make(Tree())).fit(X, [Y[0], Y[1][:-1]])


@row("tree-y-word", among=LEARNERS)
def _(make):
    quiet(make(Tree())).fit(X, [["S", ["N", "dogs"], "bark"], Y[1]])


@row("tree-leaves", among=LEARNERS)
def _(make):
    quiet(make(Tree())).fit([X[0], X[0]], Y)


@row("tree-words", among=LEARNERS)
def _(make):
    quiet(make(Tree())).fit([X[0], ["the", "dog", "saw", "Tom"]], Y)


@row("tree-rule", StructuredPerceptron, CRF)
def _(make):
    make(Tree()).partial_fit(X, Y).partial_fit([["dogs", "dogs"]], ["(S (NP (N dogs)) (NP (N dogs)))"])


@row("tree-no-parse", among=LEARNERS)
def _(make):
    quiet(make(Tree())).fit(X, Y).predict([X[0], ["bark", "bark"]])


@row("tree-empty", among=LEARNERS)
def _(make):
    assert quiet(make(Tree())).fit(X, Y).predict([[], X[0]])[0] == []


@row("tree-given-label", among=LEARNERS)
def _(make):
    quiet(make(Tree())).fit(X, Y).predict(X, given=[None, [("PP", 0, 2)]])


@row("tree-given-span", among=LEARNERS)
def _(make):
    quiet(make(Tree())).fit(X, Y).predict(X, given=[None, [("NP", 2, 5)]])


@row("tree-label-scores", among=LEARNERS)
def _(make):
    quiet(make(Tree())).fit(X, Y).decision_function(X)


@row("tree-loss", among=LEARNERS)
def _(make):
    quiet(make(Tree(loss="squared"))).fit(X, Y)


@row("tree-terminals", among=LEARNERS)
def _(make):
    quiet(make(Tree(terminals="letters"))).fit(X, Y)


@row("tree-span-features", among=LEARNERS)
def _(make):
    quiet(make(Tree(span_features="words"))).fit(X, Y)


@row("tree-horizontal", among=LEARNERS)
def _(make):
    quiet(make(Tree(horizontal=-1))).fit(X, Y)


@row("tree-vertical", among=LEARNERS)
def _(make):
    quiet(make(Tree(vertical=0))).fit(X, Y)


@row("tree-learner", HMM)
def _(make):
    make(Tree()).fit(X, Y)


@row("tree-solver", StructuredSVM)
def _(make):
    make(Tree(), solver="frank-wolfe").fit(X, Y)


@row("tree-balance", CoPerceptron, CoSVM, TransductiveSVM)
def _(make):
    make(Tree(), balance=True, unlabeled_weight=0.1).fit([*X, X[0]], [*Y, None])


@row("pcfg-structure", PCFG)
def _(make):
    make(Sequence()).fit(X, [["N", "V"], ["D", "N", "V", "N"]])


@row("pcfg-smoothing", PCFG)
def _(make):
    make(Tree(), smoothing=-1).fit(X, Y)


@row("treebank-brackets", None)
def _(make):
    Path("train.mrg").write_text("(S (N dogs) (V bark))\n(S (N Ana)\n   (V left)\n")
    read_trees("train.mrg")


@row("treebank-text", None)
def _(make):
    Path("train.mrg").write_text("(S (N dogs) (V bark))\nAna left\n")
    read_trees("train.mrg")
