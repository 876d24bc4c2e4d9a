"""Matchings against enumeration: best, k best, most violating, infeasible ones; and the structure's whole contract."""

import enumerate_matchings as em
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord import CRF, CoSVM, InfeasibleError, InputError, Matching, StructuredPerceptron, StructuredSVM
from accord.evaluation import check_structure

SCORES = st.one_of(st.integers(-3, 3).map(float), st.floats(-2, 2), st.just(-np.inf))


@st.composite
def cases(draw):
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    scores = [[draw(SCORES) for _ in range(m)] for _ in range(n)]
    return np.array(scores), draw(st.booleans())


def pairs(y, parts):
    return frozenset(zip(*(a.tolist() for a in np.nonzero(y.reshape(parts.shape)))))


def numbers(matching, parts):
    y = np.zeros(parts.shape, np.int32)
    for i, j in matching:
        y[i, j] = 1
    return y.ravel()


@given(cases(), st.integers(1, 30))
@settings(max_examples=70)
def test_k_best_are_those_of_the_enumeration(case, k):
    parts, partial = case
    expected = em.ranked(parts.tolist(), partial)
    structure = Matching(partial=partial)
    found = structure.k_best(parts, k)
    np.testing.assert_allclose([s for _, s in found], [s for s, _ in expected[:k]], atol=1e-9)
    assert len({pairs(y, parts) for y, _ in found}) == len(found)
    for y, value in found:
        assert em.score(parts.tolist(), pairs(y, parts)) == pytest.approx(value)
        assert structure.score(parts, y) == pytest.approx(value)
    if expected:
        assert structure.decode(parts)[1] == pytest.approx(expected[0][0])
    else:
        with pytest.raises(InfeasibleError):
            structure.decode(parts)


@given(cases(), st.data())
@settings(max_examples=50)
def test_the_most_violating_matching(case, data):
    parts, partial = case
    parts = np.where(np.isfinite(parts), parts, -5.0)
    every = em.ranked(parts.tolist(), partial)
    of_truth, truth = data.draw(st.sampled_from(every))
    structure = Matching(partial=partial)
    found, violation = structure.oracle(parts, numbers(truth, parts))
    assert violation == pytest.approx(max(em.loss(truth, y) + value - of_truth for value, y in every))
    assert structure.loss_between(numbers(truth, parts), found) == em.loss(truth, pairs(found, parts))


@pytest.mark.parametrize("partial", [False, True])
def test_the_whole_contract(partial):
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(n, m, 3)) for n, m in ((2, 3), (3, 2), (1, 1), (3, 3))]
    every = [[sorted(y) for y in em.matchings(*x.shape[:2], partial)] for x in X]
    Y = [options[-1] for options in every]
    check_structure(Matching(partial=partial), X, Y, lambda x: every[[x is other for other in X].index(True)])


def test_lists_of_words_and_features_of_your_own():
    X = [(["dog", "cat"], ["cats", "dogs", "owls"]), (["owl"], ["cats", "owls"])]
    Y = [[(0, 1), (1, 0)], [(0, 1)]]
    new = [(["cat", "owl", "dog"], ["owls", "dogs", "cats"])]
    expected = [[(0, 2), (1, 0), (2, 1)]]
    assert StructuredSVM(Matching(), random_state=0).fit(X, Y).predict(new) == expected
    alike = Matching(features=lambda a, b: {"prefix": float(b.startswith(a))})
    assert StructuredPerceptron(alike, random_state=0).fit(X, Y).predict(new) == expected
    assert CoSVM(Matching(), random_state=0, unlabeled_weight=0.5).fit([*X, *new], [*Y, None]).transduction_ == expected


def test_unlabeled_and_empty_inputs():
    X = [(["a"], ["a"]), (["b", "a"], ["a", "b"]), ([], ["a"])]
    model = StructuredPerceptron(Matching(), random_state=0).fit(X, [[(0, 0)], None, []])
    assert model.predict([([], []), (["a"], [])]) == [[], []]
    assert model.score(X, [[(0, 0)], None, []]) == 1.0


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([(["a"], ["b"])], [[(0, 1)]], r"Y\[0\] has the pair \(0, 1\), but the lists of X\[0\] have 1 and 1 items"),
        ([(["a"], ["b"])], [[(0,)]], r"Y\[0\] is \[\(0,\)\]; Matching expects a list of pairs"),
        ([(["a", "b"], ["b"])], [[(0, 0), (1, 0)]], r"Y\[0\] matches item 0 of the second list twice"),
        ([(["a"], ["b"])], [[]], r"Y\[0\] has 0 pairs, but 1 can be made; use Matching\(partial=True\)"),
        ([["a", "b", "c"]], [[(0, 0)]], r"X\[0\] is a list; Matching expects two lists"),
        ([("ab", "ba")], [[(0, 0)]], r"X\[0\] is a tuple; Matching expects two lists"),
    ],
)
def test_bad_input(X, Y, message):
    with pytest.raises(InputError, match=message):
        StructuredPerceptron(Matching()).fit(X, Y)


def test_what_it_cannot_do_is_said_with_what_can():
    X, Y = [(["a"], ["b"])], [[(0, 0)]]
    with pytest.raises(InputError, match=r"CRF needs probabilities of outputs \(as Sequence, .*StructuredSVM"):
        CRF(Matching()).fit(X, Y)
    with pytest.raises(InputError, match="solver='frank-wolfe' needs"):
        StructuredSVM(Matching(), solver="frank-wolfe").fit(X, Y)
    with pytest.raises(InputError, match="norm=2 needs"):
        StructuredSVM(Matching(), norm=2).fit(X, Y)
    with pytest.raises(InputError, match="given: nothing can be given"):
        StructuredPerceptron(Matching()).fit(X, Y).predict(X, given=[[(0, 0)]])
