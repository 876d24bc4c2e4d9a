"""Random small treebanks, sentences and weights, once as Accord takes them and once as plain data for enumeration.

Hypothesis draws the options and a seed; numpy draws treebank, sentence and scores from the seed.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import enumerate_trees as et
import numpy as np
from hypothesis import strategies as st

from accord.structures.trees.tree import Tree

STYLES = ["real", "small", "ties", "minus infinity", "large"]  # small: losses count for more than scores
ROOTS = ["free", "TOP", "some TOP", "same"]
SPAN_FEATURES = ["label", "symbol", "rule", None]
# what a word looks like decides about its tags if it is rare or unknown: letters here look alike, and so do numbers
WORDS = list("abcdef") + ["1", "23"]
MOST_TREES = 80


@dataclass
class Case:
    """A sentence and a structure, in both forms."""

    structure: Tree
    treebank: list = field(repr=False)
    tokens: list
    words: list  # what stands below the tags
    nodes: np.ndarray = field(repr=False)
    transitions: np.ndarray = field(repr=False)
    grammar: et.Plain = field(repr=False)
    scores: dict = field(repr=False)
    trees: list = field(repr=False)  # all of the sentence, those with a score of minus infinity too
    rng: np.random.Generator = field(repr=False)

    @property
    def parts(self):
        return self.structure.parts(self.tokens, self.nodes, self.transitions)

    @property
    def ranking(self):
        return et.ranked(self.grammar, self.scores, self.trees)

    @cached_property
    def by_rows(self):
        """The trees by the arrays that stand for them."""
        return {key(et.as_rows(tree)): tree for tree in self.trees}

    def nested(self, tree):
        return et.nested(self.grammar, tree, self.words)


# -- treebanks ------------------------------------------------------------------------------------------------------
def pick(rng, items):
    """One of the items; ``rng.choice`` would make an array of them first, which takes most of the time."""
    return items[int(rng.integers(len(items)))]


def random_tree(rng, n_tokens, labels, tags, words):
    """A phrase or a tagged word, sometimes below a chain of single children."""
    if n_tokens == 1:
        tree = [pick(rng, tags), pick(rng, words)]
    else:
        n_children = min(n_tokens, pick(rng, [2, 2, 2, 2, 3, 4]))
        cuts = sorted((1 + rng.permutation(n_tokens - 1)[: n_children - 1]).tolist())
        sizes = [right - left for left, right in pairwise([0, *cuts, n_tokens])]
        tree = [pick(rng, labels), *(random_tree(rng, size, labels, tags, words) for size in sizes)]
    while rng.random() < 0.2:
        tree = [pick(rng, labels), tree]
    return tree


def random_treebank(rng, root):
    """Up to ten trees over few labels and tags, which sometimes share a name; ``root`` says what is at their top."""
    labels = ["A", "B", "C", "D"][: pick(rng, [1, 2, 2, 3, 4])]
    tags = (["x", "y", "z"] if rng.random() < 0.7 else ["x", "A", "z"])[: pick(rng, [1, 2, 2, 3])]
    words = WORDS[: rng.integers(2, len(WORDS) + 1)]
    trees = [
        random_tree(rng, pick(rng, [1, 2, 3, 4, 5, 6, 5, 6]), labels, tags, words)
        for _ in range(pick(rng, [1, 3, 5, 7, 10]))
    ]
    for i, tree in enumerate(trees):
        if root == "TOP" or (root == "some TOP" and (rng.random() < 0.7 or et.is_tag(tree))):
            trees[i] = ["TOP", tree]
        elif root == "some TOP":
            trees[i] = ["TOP", *tree[1:]]
        elif root == "same":
            trees[i] = ["A", tree]
    return trees


def words_and_tags(tree):
    return [(tree[1], tree[0])] if et.is_tag(tree) else [pair for child in tree[1:] for pair in words_and_tags(child)]


def tags_of_word(word, treebank, rare):
    """Tags that a word may have: those seen with it; for rare and unknown words those of rare words that look alike,
    else of all rare words, else of all words."""
    pairs = [pair for tree in treebank for pair in words_and_tags(tree)]
    seen = [w for w, _ in pairs]
    if seen.count(word) > rare:
        return {tag for w, tag in pairs if w == word}
    of_rare = [pair for pair in pairs if seen.count(pair[0]) <= rare]
    alike = {tag for w, tag in of_rare if w.isdigit() == word.isdigit()}
    return alike or {tag for _, tag in of_rare} or {tag for _, tag in pairs}


# -- the two forms --------------------------------------------------------------------------------------------------
def plain_grammar(structure):
    """The grammar of a fitted structure as plain data; the anchors by definition, found by their names."""
    g, kind = structure.grammar_, structure.span_features
    rules = [tuple(rule) for rule in g.rules.tolist()]
    symbols = [tuple(symbol) for symbol in g.symbols]
    starts = {s for s, count in enumerate(g.start_counts) if count > 0}
    plain = et.Plain(symbols, g.n_leaves, rules, starts, g.root)
    if kind == "label":
        names = [labels[0] if siblings is None else "@" + labels[-1] for labels, siblings, _ in symbols]
        of = [structure.anchors_.index(name) for name in names]
        plain.rule_anchor, plain.leaf_anchor = [of[parent] for parent, _, _ in rules], of[: g.n_leaves]
    elif kind == "symbol":
        plain.rule_anchor, plain.leaf_anchor = [parent for parent, _, _ in rules], list(range(g.n_leaves))
    elif kind == "rule":
        plain.rule_anchor = list(range(len(rules)))
        plain.leaf_anchor = list(range(len(rules), len(rules) + g.n_leaves))
    return plain


def leaf_options(structure, treebank, tokens):
    """The leaf symbols that each token may be."""
    symbols = structure.grammar_.symbols[: structure.grammar_.n_leaves]
    if structure.terminals == "tags":
        allowed = [{token if isinstance(token, str) else token[1]} for token in tokens]
    else:
        allowed = [tags_of_word(token, treebank, structure.rare) for token in tokens]
    return [[i for i, (labels, _, _) in enumerate(symbols) if labels[-1] in tags] for tags in allowed]


def plain_scores(structure, nodes, transitions):
    """Weights and scores of tokens as nested lists, by the layout that the structure documents."""
    g, k = structure.grammar_, len(structure.anchors_)
    n_tags = len(g.tags) if structure.terminals == "words" else 0
    vector = transitions.tolist()
    rule, vector = vector[: len(g.rules)], vector[len(g.rules) :]
    leaf, vector = vector[: g.n_leaves], vector[g.n_leaves :]
    start, vector = vector[: g.n_symbols], vector[g.n_symbols :]
    rows = nodes.tolist()
    at_leaf = []
    for row in rows:
        of_tag = dict(zip(g.tags, row[:n_tags]))
        at_leaf.append([leaf[i] + of_tag.get(g.symbols[i].labels[-1], 0.0) for i in range(g.n_leaves)])
    return {
        "rule": rule,
        "leaf": at_leaf,
        "start": start,
        "width": [vector[i * k : (i + 1) * k] for i in range(11)],
        "first": [row[n_tags : n_tags + k] for row in rows],
        "last": [row[n_tags + k : n_tags + 2 * k] for row in rows],
        "split": [row[n_tags + 2 * k :] for row in rows],
    }


def random_tokens(rng, structure, treebank):
    """The words or tags of a tree of the treebank, or any; sometimes some that are not known."""
    pairs = words_and_tags(pick(rng, treebank))
    if rng.random() < 0.25:
        tags = structure.grammar_.tags if rng.random() < 0.8 else [*structure.grammar_.tags, "unseen"]
        pairs = [(pick(rng, WORDS), pick(rng, tags)) for _ in range(rng.integers(0, 7))]
    if structure.terminals == "words":
        return [word for word, _ in pairs], [word for word, _ in pairs]
    if rng.random() < 0.5:
        return [tag for _, tag in pairs], [tag for _, tag in pairs]
    return pairs, [word for word, _ in pairs]


def random_sentence(rng, structure, treebank, grammar):
    """(tokens, words, all their trees); cut off at the end if there are too many."""
    tokens, words = random_tokens(rng, structure, treebank)
    while True:
        try:
            return tokens, words, et.all_trees(grammar, leaf_options(structure, treebank, tokens), MOST_TREES)
        except et.TooMany:
            tokens, words = tokens[:-1], words[:-1]


def random_weights(rng, style, shape):
    if style == "ties":
        return rng.integers(-1, 2, shape).astype(float)
    weights = rng.normal(size=shape) * {"large": 10.0, "small": 0.1}.get(style, 1.0)
    if style == "minus infinity":
        weights[rng.random(shape) < 0.06] = -np.inf
    return weights


def make_case(rng, style="real", root="free", loss="f1", **options):
    """A case from a seeded generator."""
    treebank = random_treebank(rng, root)
    structure = Tree(loss=loss, **options).fit(treebank)
    grammar = plain_grammar(structure)
    # sentences with many trees say most, but those with one and those without must come, too
    sentences = [random_sentence(rng, structure, treebank, grammar) for _ in range(pick(rng, [1, 3, 5]))]
    tokens, words, trees = max(sentences, key=lambda sentence: len(sentence[2]))
    nodes = random_weights(rng, style, (len(tokens), structure.n_nodes_))
    transitions = random_weights(rng, style, structure.n_transitions_)
    scores = plain_scores(structure, nodes, transitions)
    return Case(structure, treebank, tokens, words, nodes, transitions, grammar, scores, trees, rng)


@st.composite
def cases(draw, span_features, terminals, styles=STYLES):
    return make_case(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        style=draw(st.sampled_from(styles)),
        root=draw(st.sampled_from(ROOTS)),
        span_features=span_features,
        terminals=terminals,
        horizontal=draw(st.sampled_from([None, 0, 1, 2])),
        vertical=draw(st.sampled_from([1, 2, 3])),
        rare=draw(st.sampled_from([0, 1, 2])),
    )


KINDS = [(span_features, terminals) for span_features in SPAN_FEATURES for terminals in ("words", "tags")]
EVERY_KIND = {f"{a or 'no spans'}, {b}": cases(a, b) for a, b in KINDS}
SMOOTH = {f"{a or 'no spans'}, {b}": cases(a, b, ["real", "ties"]) for a, b in KINDS}


# -- comparing -----------------------------------------------------------------------------------------------------
def close(value, expected):
    """Equal up to rounding."""
    return value == expected or abs(value - expected) <= 1e-10 * max(1.0, abs(expected)) + 1e-10


def array(tree):
    return np.array(et.as_rows(tree), np.int32)


def key(y):
    return tuple(map(tuple, np.asarray(y).tolist()))
