"""Tests of differences against SciPy, enumeration and published tables."""

import itertools
import math

import numpy as np
import pytest
from row_tables import each_row
from scipy import stats

from accord.evaluation import (
    corrected_resampled_t_test,
    holm,
    paired_t_test,
    wilcoxon_critical_value,
    wilcoxon_signed_ranks,
)
from accord.exceptions import InputError

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=25), RNG.normal(0.4, 1, size=25)
ALTERNATIVES = ["two-sided", "less", "greater"]


@each_row("alternative", ALTERNATIVES)
def test_paired_t_agrees_with_scipy(alternative):
    ours, theirs = paired_t_test(A, B, alternative), stats.ttest_rel(A, B, alternative=alternative)
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.difference == pytest.approx((A - B).mean())


@each_row("alternative", ALTERNATIVES)
def test_wilcoxon_agrees_with_scipy_without_ties(alternative):
    ours = wilcoxon_signed_ranks(A, B, alternative)
    theirs = stats.wilcoxon(A, B, alternative=alternative, method="exact")
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.w_plus + ours.w_minus == 25 * 26 / 2
    if alternative == "two-sided":
        assert ours.statistic == theirs.statistic == min(ours.w_plus, ours.w_minus)


@each_row("alternative", ALTERNATIVES)
@each_row("zeros", ["discard", "split"])
def test_wilcoxon_is_exact_with_ties_and_zeros(alternative, zeros):
    d = np.array([1, -1, 2, 2, -3, 0, 4, 0, 5.0])
    kept = d[d != 0] if zeros == "discard" else d
    ranks = stats.rankdata(np.abs(kept))
    share = ranks[kept == 0].sum() / 2
    free = ranks[kept != 0]
    sums = np.array([free @ np.array(signs) for signs in itertools.product((0, 1), repeat=len(free))]) + share
    w_plus = ranks[kept > 0].sum() + share
    below, above = np.mean(sums <= w_plus), np.mean(sums >= w_plus)
    expected = {"less": below, "greater": above, "two-sided": min(1, 2 * min(below, above))}[alternative]
    ours = wilcoxon_signed_ranks(d, np.zeros(9), alternative, zeros)
    assert ours.w_plus == w_plus
    assert ours.p_value == pytest.approx(expected)


def test_one_sided_statistic_is_the_rank_sum_against_the_alternative():
    a, b = [1.0, 2.0, 3.0, 9.0], [2.0, 4.0, 6.0, 8.5]
    less, greater = (wilcoxon_signed_ranks(a, b, side) for side in ("less", "greater"))
    assert (less.statistic, less.w_plus, less.w_minus) == (1.0, 1.0, 9.0)
    assert greater.statistic == 9.0
    assert less.p_value == pytest.approx(2 / 16)


def test_wilcoxon_normal_approximation_for_many_pairs():
    a = RNG.normal(size=300)
    ours = wilcoxon_signed_ranks(a, np.full(300, 0.1))
    theirs = stats.wilcoxon(a - 0.1, method="approx", correction=True)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-6)


def test_published_critical_values():
    assert wilcoxon_critical_value(32, 0.005) == 128  # thesis 4.4.1
    assert wilcoxon_critical_value(10, 0.05, two_sided=True) == 8
    assert wilcoxon_critical_value(5, 0.05) == 0
    assert wilcoxon_critical_value(4, 0.05) == -1


def test_no_difference_and_constant_difference():
    same = paired_t_test([1, 2, 3], [1, 2, 3])
    assert (same.statistic, same.p_value) == (0.0, 1.0)
    assert wilcoxon_signed_ranks([1, 2], [1, 2]).p_value == 1.0
    constant = paired_t_test([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])
    assert (constant.statistic, constant.p_value) == (-math.inf, 0.0)


def test_corrected_t_is_more_careful():
    plain, corrected = paired_t_test(A, B), corrected_resampled_t_test(A, B, n_train=100, n_test=50)
    d = A - B
    expected = d.mean() / math.sqrt(d.var(ddof=1) * (1 / 25 + 0.5))
    assert corrected.statistic == pytest.approx(expected)
    assert corrected.p_value == pytest.approx(2 * stats.t.sf(abs(expected), 24))
    assert corrected.p_value > plain.p_value


def test_holm():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    with pytest.raises(InputError, match="between 0 and 1"):
        holm([0.5, 1.5])


def test_summaries_are_sentences():
    text = paired_t_test([1, 2, 3.5], [2, 3, 4], names=("coSVM", "SVM")).summary
    assert text.startswith("coSVM is below SVM by 0.8333 on average over 3 pairs (paired t test: t = -5, p = 0.0")
    assert "W = 0, p = 0.25" in wilcoxon_signed_ranks([1, 2, 3.5], [2, 3, 4]).summary


@each_row(
    ("call", "message"),
    [
        (lambda: paired_t_test([1, 2], [1]), "same length"),
        (lambda: paired_t_test([1], [1]), "at least 2 pairs"),
        (lambda: paired_t_test([1, math.nan], [1, 2]), r"a\[1\] is nan"),
        (lambda: paired_t_test([1, 2], [1, 2], "smaller"), "alternative must be"),
        (lambda: wilcoxon_signed_ranks([1, 2], [1, 2], zeros="keep"), "zeros must be"),
        (lambda: corrected_resampled_t_test([1, 2], [1, 3], 0, 1), "n_train must be above 0"),
        (lambda: wilcoxon_critical_value(0, 0.05), "n must be at least 1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
