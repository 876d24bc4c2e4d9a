"""Both treebanks, as distributed and cleaned: read, cleaned, binarised and back, written, scored.

Needs a local data folder; set ACCORD_DATA.
"""

import io
from functools import cache

import pytest
from test_plain_pcfg import check

from accord.datasets import available, data_home, read_trees, write_trees
from accord.datasets.trees import Symbol, as_tree, binarise, clean, constituents, debinarise, leaves, tags
from accord.evaluation import COLLINS, PAPERS, bracket_scores, draw_svg, draw_text
from accord.exceptions import InputError

FILES = {
    "ptb_wsj_sample/wsj.raw.mrg.gz": 3914,
    "ptb_wsj_sample/wsj.clean.mrg.gz": 3914,
    "cess_esp/cess_esp.raw.mrg.gz": 6000,
    "cess_esp/cess_esp.clean.mrg.gz": 6000,
}

each_markovisation = pytest.mark.parametrize(("horizontal", "vertical"), [(None, 1), (0, 1), (1, 2), (2, 3)])


@cache
def bank(file):
    try:
        present = available()
    except InputError as error:
        pytest.skip(f"no data folder: {error}")
    if file.partition("/")[0] not in present:
        pytest.skip(f"the data folder named by ACCORD_DATA has no {file}")
    return read_trees(data_home() / file)


@pytest.mark.parametrize("file", list(FILES)[:2])
def test_every_twentieth_tree_is_read_and_written(file):
    check_writing(bank(file)[::20])


@pytest.mark.long
@pytest.mark.parametrize(("file", "n_trees"), FILES.items())
def test_every_tree_is_read_and_written(file, n_trees):
    trees = bank(file)
    assert len(trees) == n_trees
    check_writing(trees)


def check_writing(trees):
    target = io.StringIO()
    write_trees(trees, target)
    target.seek(0)
    assert read_trees(target) == trees


def test_cleaning_the_distributed_trees():
    raw, expected = bank("ptb_wsj_sample/wsj.raw.mrg.gz"), bank("ptb_wsj_sample/wsj.clean.mrg.gz")
    different = [i for i, (tree, good) in enumerate(zip(raw, expected)) if clean(tree) != good]
    assert different == []


@each_markovisation
@pytest.mark.parametrize("file", list(FILES)[:2])
def test_every_twentieth_binary_tree_leads_back(file, horizontal, vertical):
    check_binary(bank(file)[::20], horizontal, vertical)


@pytest.mark.long
@each_markovisation
@pytest.mark.parametrize("file", FILES)
def test_every_binary_tree_leads_back(file, horizontal, vertical):
    check_binary(bank(file), horizontal, vertical)


def check_binary(trees, horizontal, vertical):
    for i, tree in enumerate(trees):
        binary = binarise(tree, horizontal, vertical)
        assert debinarise(binary) == tree, i
        assert leaves(binary) == leaves(tree), i


def test_markovisation_merges_symbols():
    trees = bank("ptb_wsj_sample/wsj.clean.mrg.gz")

    def symbols(horizontal, vertical=1):
        found = set()
        for tree in trees[:500]:
            waiting = [binarise(tree, horizontal, vertical)]
            while waiting:
                node = waiting.pop()
                found.add(node[0])
                waiting += [child for child in node[1:] if not isinstance(child, str)]
        assert all(isinstance(symbol, Symbol) for symbol in found)
        return len(found)

    sizes = [symbols(h) for h in (0, 1, 2, None)]
    assert sizes == sorted(set(sizes))
    assert symbols(1, 1) < symbols(1, 2) < symbols(1, 3)


def test_scores_of_a_flattened_treebank():
    """Without noun phrases there is nothing wrong, but what is missing is known from counting them."""
    trees = bank("ptb_wsj_sample/wsj.clean.mrg.gz")[:400]
    perfect = bracket_scores(trees, trees)
    assert (perfect.f1, perfect.exact, perfect.tag_accuracy, perfect.mean_crossing) == (1, 1, 1, 0)
    flat = [without(tree, "NP") for tree in trees]
    missing = sum(label == "NP" for tree in trees for label, _, _ in constituents(tree))
    total = sum(len(constituents(tree)) - 1 for tree in trees)  # without the root
    scores = bracket_scores(trees, flat, options=PAPERS)
    assert scores.totals == (total, total - missing, total - missing)
    assert (scores.precision, scores.no_crossing) == (1, 1)
    assert 0 < bracket_scores(trees, flat, options=COLLINS).f1 < 1


def without(tree, label):
    """The tree with the children of phrases of this label in their place."""
    children = []
    for child in tree[1:]:
        below = child if isinstance(child, str) else without(child, label)
        if below[0] == label and not isinstance(below[1], str):
            children += below[1:]
        else:
            children.append(below)
    return [tree[0], *children]


@pytest.mark.long
def test_every_hundredth_tree_can_be_drawn():
    for tree in bank("cess_esp/cess_esp.clean.mrg.gz")[::100]:
        assert draw_text(tree).split("\n")[-1].split() == leaves(tree)
        assert draw_text(tree, width=1).count("\n") == len(constituents(tree)) + len(tags(tree)) - 1
        assert draw_svg(tree).count("<text") == len(constituents(tree)) + 2 * len(tags(tree))
        assert as_tree(tree) == tree


@pytest.mark.parametrize("n_trees", [60, pytest.param(550, marks=pytest.mark.long)])
@pytest.mark.parametrize("terminals", ["words", "tags"])
@pytest.mark.parametrize("file", [file for file in FILES if "clean" in file])
def test_relative_counts_are_those_of_n_ary_rules(file, terminals, n_trees):
    """Log probabilities of trees, best trees and sentences, against a grammar of n-ary rules."""
    check(sorted(bank(file), key=lambda tree: len(leaves(tree)))[300 : 300 + n_trees], terminals)
