"""Trees that are deep, empty, broken or of odd things."""

from __future__ import annotations

from typing import Any

from hostile import Table

from accord import CRF, PCFG, StructuredPerceptron, Tree
from accord.datasets.trees import as_tree, constituents, leaves

TABLE = Table()
X = [["dogs", "bark"], ["the", "dog", "saw", "Ana"]]
Y = ["(S (NP (N dogs)) (VP (V bark)))", "(S (NP (D the) (N dog)) (VP (V saw) (NP (N Ana))))"]


def fit(tree: Any, words: Any = ("dogs", "bark"), learner: Any = PCFG, **options: Any) -> Any:
    return learner(Tree(**options)).fit([list(words), X[1]], [tree, Y[1]])


def fitted() -> Any:
    return StructuredPerceptron(Tree(), random_state=0).fit(X, Y)


def chain(depth: int) -> list[Any]:
    """One word below so many nodes."""
    node: list[Any] = ["N", "dogs"]
    for _ in range(depth):
        node = ["S", node]
    return node


def comb(depth: int) -> str:
    """A tree of so many words, each a level deeper."""
    return "(S (N a) " * depth + "(N a)" + ")" * depth


def _recursive() -> list[Any]:
    node: list[Any] = ["S"]
    node.append(node)
    return node


TABLE.answered(
    "5,000 nodes above a word, as text", 1, lambda: len(leaves(as_tree("(S " * 5000 + "(N dogs)" + ")" * 5000)))
)
TABLE.answered("5,000 nodes above a word, as lists", 1, lambda: len(leaves(as_tree(chain(5000)))))
TABLE.answered("constituents of 5,000 nodes", 5000, lambda: len(constituents(as_tree(chain(5000)))))
TABLE.answered("5,000 words, each a level deeper", 5001, lambda: len(leaves(as_tree(comb(5000)))))
TABLE.answered(
    "learning from 5,000 nodes above a word", 1, lambda: len(_tokens(fit(chain(5000), ["dogs"]).predict([["dogs"]])))
)
TABLE.answered(
    "learning from 300 words, each a level deeper",
    30,
    lambda: len(_tokens(fit(comb(299), ["a"] * 300).predict([["a"] * 30]))),
)


def _tokens(trees: Any) -> list[str]:
    return leaves(as_tree(trees[0]))


for name, tree in {
    "nothing": "",
    "blanks": "  \n ",
    "brackets without anything": "()",
    "brackets in brackets": "(())",
    "a label alone": "(S)",
    "a label without brackets": "S",
    "too few closed": "(S (N dogs) (V bark)",
    "too many closed": "(S (N dogs) (V bark)))",
    "two trees": "(S (N dogs)) (S (V bark))",
    "one word too few": "(S (N dogs))",
    "another word": "(S (N dogs) (V barks))",
    "an empty list": [],
    "a list with an empty list": ["S", []],
    "a number as label": [1, ["N", "dogs"], ["V", "bark"]],
    "None as label": [None, ["N", "dogs"], ["V", "bark"]],
    "a number as word": ["S", ["N", 1], ["V", "bark"]],
    "None as word": ["S", ["N", None], ["V", "bark"]],
    "a dict": {"S": ["dogs", "bark"]},
    "bytes": b"(S (N dogs) (V bark))",
    "a number": 3.5,
    "a function": len,
    "a set": {"S"},
    "words beside nodes": ["S", "dogs", ["V", "bark"]],
    "a node without children": ["S", ["N", "dogs"], ["V"]],
    "a word of two": ["S", ["N", "dogs", "bark"]],
    "itself": _recursive(),
}.items():
    TABLE.refused(f"tree is {name}", "Y[0]", lambda tree=tree: fit(tree))
TABLE.refused("trees are text", "Y is a str", lambda: PCFG(Tree()).fit(X, "(S)"))
TABLE.refused("a tree of nothing for no words", "Y[0] is []", lambda: PCFG(Tree()).fit([[]], [[]]))
for name, word in {"a number": 3, "None": None, "bytes": b"dogs", "a list": ["dogs"]}.items():
    TABLE.refused(f"word is {name}", "X[0][1]", lambda word=word: fitted().predict([["dogs", word]]))
TABLE.refused("word is nothing", "X[0][1] is ''", lambda: fitted().predict([["dogs", ""]]))
TABLE.answered("word has brackets", ["dogs", "(S"], lambda: _words(fitted().predict([["dogs", "(S"]])[0]))
TABLE.answered(
    "word has a NUL and a surrogate", ["d\0", "\ud800"], lambda: _words(fitted().predict([["d\0", "\ud800"]])[0])
)


def _words(tree: Any) -> list[str]:
    return leaves(tree)


for name, brackets, part in (
    ("a number", 3, "given[0]"),
    ("text", "NP", "given[0]"),
    ("a bracket of one", [("NP",)], "given[0]"),
    ("a bracket of four", [("NP", 0, 1, 2)], "given[0]"),
    ("outside", [("NP", 0, 9)], "given[0]"),
    ("negative", [("NP", -1, 1)], "given[0]"),
    ("empty", [("NP", 1, 1)], "given[0]"),
    ("backwards", [("NP", 2, 1)], "given[0]"),
    ("of floats", [("NP", 0.5, 1.0)], "given[0]"),
    ("of text", [("NP", "0", "1")], "given[0]"),
    ("of an unknown label", [("QQ", 0, 1)], "given[0]"),
    ("huge", [("NP", 0, 2**70)], "given[0]"),
    ("of None", [None], "given[0]"),
):
    TABLE.refused(f"given is {name}", part, lambda brackets=brackets: fitted().predict([X[0]], given=[brackets]))
for name, k in {"0": 0, "1.5": 1.5, "text": "2", "None": None}.items():
    TABLE.refused(f"predict_k_best: k is {name}", "k is", lambda k=k: fitted().predict_k_best(X, k))
TABLE.answered("predict_k_best: a million", True, lambda: 1 <= len(fitted().predict_k_best(X[:1], 10**6)[0]) <= 10**6)
TABLE.refused("horizontal is text", "horizontal", lambda: fit(Y[0], horizontal="2"))
TABLE.refused("vertical is a million and a half", "vertical", lambda: fit(Y[0], vertical=1.5))
TABLE.answered("vertical is a million", 2, lambda: len(_tokens(fit(Y[0], vertical=10**6).predict([X[0]]))))
TABLE.answered("CRF on one word", 1, lambda: len(_tokens(fit("(S (N dogs))", ["dogs"], CRF).predict([["dogs"]]))))
TABLE.refused(
    "another rule in a batch", "Y[0]", lambda: CRF(Tree()).partial_fit(X, Y).partial_fit([["a"]], ["(Q (Z a))"])
)
