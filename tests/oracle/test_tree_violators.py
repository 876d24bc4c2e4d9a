"""Trees that violate margins most, against enumeration; and how much is found where that is not exact."""

import itertools

import enumerate_trees as et
import numpy as np
import pytest
from enumerate_chain import violation
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tree_cases import EVERY_KIND, array, close, key, make_case, words_and_tags

each_kind = pytest.mark.parametrize("kind", EVERY_KIND)
SETTINGS = [(rescaling, norm) for rescaling in ("margin", "slack") for norm in (1, 2)]


def losses_and_gains(case, true):
    """{rows: (loss, what the score is larger by)} of all trees but the excluded ones: listed once for all settings."""
    shown, own = case.nested(true), et.score(case.grammar, case.scores, true)
    return {
        key(et.as_rows(tree)): (et.losses(shown, case.nested(tree))[case.structure.loss], value - own)
        for value, tree in case.ranking
    }


def all_violations(listed, rescaling, norm):
    """{rows: violation}"""
    return {rows: violation(loss, gain, rescaling, norm) for rows, (loss, gain) in listed.items()}


@each_kind
@pytest.mark.parametrize("loss", ["zero-one", "hamming", "f1"])
@settings(max_examples=8)
@given(data=st.data(), pick=st.integers(0, 1000))
def test_most_violated_tree(loss, kind, data, pick):
    """The returned tree has the returned violation; it is the largest where the structure says it is exact."""
    case = data.draw(EVERY_KIND[kind])
    ranking, s = case.ranking, case.structure
    assume(ranking)
    s.loss = loss
    true = ranking[pick % len(ranking)][1]
    longest = max(len(words_and_tags(tree)) for tree in case.treebank)
    listed = losses_and_gains(case, true)
    for (rescaling, norm), length in itertools.product(SETTINGS, (0, max(longest, len(case.tokens)))):
        every = all_violations(listed, rescaling, norm)
        s.exact_length = length
        found, value = s.oracle(case.parts, array(true), rescaling, norm)
        largest = max(every.values())
        assert close(every[key(found)], value)
        assert value >= 0.0
        adds_up = loss == "zero-one" or (loss, rescaling, norm) == ("hamming", "margin", 1)
        assert s.exact(rescaling, norm) == (adds_up or length > 0)
        if s.exact(rescaling, norm):
            assert close(value, largest)
        else:
            assert value <= largest or close(value, largest)
            best = [every[key(et.as_rows(tree))] for score, tree in ranking if close(score, ranking[0][0])]
            assert value >= min(best) or close(value, min(best)), "worse than plain decoding"


@pytest.mark.parametrize("loss", ["hamming", "f1"])
def test_what_is_declared_inexact_finds_most(loss):
    """Within 5 % of the largest violation for 9 of 10 trees."""
    for setting, ratios in shortfalls(loss, 200).items():
        assert len(ratios) > 40, setting
        assert np.mean(np.array(ratios) >= 0.95) >= 0.9, setting


def shortfalls(loss, n_seeds):
    """By setting, what part of the largest violation was found, for sentences with several trees."""
    ratios = {setting: [] for setting in SETTINGS}
    for seed in range(n_seeds):
        options = {"terminals": "tags", "horizontal": seed % 3, "exact_length": 0}
        case = make_case(np.random.default_rng(seed), loss=loss, **options)
        if len(case.trees) > 2:
            true = case.trees[case.rng.integers(len(case.trees))]
            listed = losses_and_gains(case, true)
            for setting in SETTINGS:
                largest = max(all_violations(listed, *setting).values())
                value = case.structure.oracle(case.parts, array(true), *setting)[1]
                ratios[setting] += [value / largest] if largest > 1e-9 else []
    return ratios
