"""Small treebanks with all trees of their sentences listed, in the form in which `plain_chain` solves for weights."""

from dataclasses import dataclass
from functools import cache, cached_property

import enumerate_trees as et
import numpy as np
import plain_chain
from tree_cases import leaf_options, plain_grammar, random_tree, words_and_tags

from accord import TokenFeatures, Tree

MOST_TREES = 60
TAGS = ["x", "y"]
# one feature for each token and for each of its neighbours, so that features can be counted by name
WORDS = TokenFeatures(
    1, lower=False, affixes=None, shape=False, clues=False, case_positions=0, position=False, bias=False
)


@dataclass
class TreeData:
    """A training set of trees; ``structure`` is not fitted."""

    structure: Tree
    X: list
    Y: list

    view = WORDS

    @cached_property
    def examples(self):
        """The same with every tree of every sentence, its joint features and its loss."""
        fitted, view = Tree(**self.structure.get_params()).fit(self.Y), WORDS
        grammar = plain_grammar(fitted)
        seen = [[fitted.terminal(token) for token in x] for x in self.X]
        view.fit_rows(seen)
        names = {name: d for d, name in enumerate(view.feature_names(range(view.n_dims_)))}
        return [self._listed(fitted, grammar, names, x, t, y) for x, t, y in zip(self.X, seen, self.Y)]

    def _listed(self, fitted, grammar, names, x, tokens, y):
        trees, shown = listed_trees(fitted, grammar, x, self.Y)
        size = len(names) * fitted.n_nodes_ + fitted.n_transitions_
        phi = np.array([joint_feature(fitted, grammar, names, tokens, tree, size) for tree in trees])
        loss = np.array([et.losses(y, other)[self.structure.loss] for other in shown])
        return plain_chain.Listed(shown, phi, loss, shown.index(y))

    def listed(self, weights):
        """Accord's weights as the listed form has them."""
        return weights.flat()

    def problem(self, **margin):
        """What Accord's solvers see."""
        from accord.learners.inputs import with_tokens

        fitted = Tree(**self.structure.get_params()).fit(self.Y)
        rows = with_tokens(fitted, WORDS.fit_rows(fitted.view_inputs(self.X)), self.X)
        return fitted.problem(rows, fitted.encode(self.Y), **margin)


def listed_trees(fitted, grammar, x, Y):
    """All trees of a sentence, also as nested lists."""
    trees = et.all_trees(grammar, leaf_options(fitted, Y, x))
    words = [token if isinstance(token, str) else token[0] for token in x]
    return trees, [et.nested(grammar, tree, words) for tree in trees]


def joint_feature(fitted, grammar, names, tokens, tree, size):
    """Counts of the parts of a tree, each that stands at a token with all features of that token."""
    g, k = fitted.grammar_, len(fitted.anchors_)
    n_tags = len(g.tags) if fitted.terminals == "words" else 0
    n_nodes = n_tags + 3 * k
    column = {"first": n_tags, "last": n_tags + k, "split": n_tags + 2 * k}
    first = {"rule": 0, "leaf": len(g.rules), "start": len(g.rules) + g.n_leaves}
    width = first["start"] + g.n_symbols
    phi = np.zeros(size)

    def at_token(t, node):
        for shift in (-1, 0, 1):
            where = f"{shift:+d}" if shift else "0"
            inside = 0 <= t + shift < len(tokens)
            name = f"token={tokens[t + shift]}" if inside else "boundary"
            phi[names[f"{where}:{name}"] * n_nodes + node] += 1.0

    transitions = phi[len(names) * n_nodes :]
    for kind, *key in et.parts(grammar, tree):
        if kind in column:
            at_token(key[0], column[kind] + key[1])
        elif kind == "width":
            transitions[width + key[0] * k + key[1]] += 1.0
        else:
            transitions[first[kind] + key[-1]] += 1.0
            if kind == "leaf" and n_tags:
                at_token(key[0], g.tags.index(g.symbols[key[1]].labels[-1]))
    return phi


@cache
def treebank(seed=0, n=4, longest=4, loss=None, **options):
    """Random trees over few words, each sentence with two of its trees: nothing separates them, so slacks matter."""
    of_loss = {} if loss is None else {"loss": loss}
    return TreeData(Tree(**of_loss, **options), *drawn(seed, n, longest, **options))


@cache
def drawn(seed, n, longest, **options):
    """Sentences and trees; no loss takes part in that."""
    rng = np.random.default_rng(seed)
    structure = Tree(**options)
    while True:
        lengths = rng.integers(1, longest + 1, n)
        lengths[0] = longest
        Y = [random_tree(rng, int(length), ["A", "B"], TAGS, list("abc")) for length in lengths]
        X = [[word if structure.terminals == "words" else (word, tag) for word, tag in words_and_tags(y)] for y in Y]
        fitted = Tree(**options).fit(Y)
        grammar = plain_grammar(fitted)
        trees = [listed_trees(fitted, grammar, x, Y)[1] for x in X]
        if max(map(len, trees)) <= MOST_TREES and sum(len(found) > 1 for found in trees) >= 2:
            # the grammar stays the same, because it can make the other trees already
            others = [found[-1] if found[0] == y else found[0] for found, y in zip(trees, Y)]
            return X + X, Y + others


KINDS = {
    "words": {"rare": 0},
    "words, spans of symbols, no memory": {"rare": 1, "span_features": "symbol", "horizontal": 0},
    "words, rules alone": {"rare": 0, "span_features": None},
    "pairs, spans of rules, parents": {"terminals": "tags", "span_features": "rule", "vertical": 2},
    "pairs, rules alone": {"terminals": "tags", "span_features": None, "horizontal": None},
}
