"""The best output and its margin against enumeration, and against the list of the two best."""

import math

import numpy as np
import pytest
from chain_cases import sequence
from enumerate_chain import ranked, score
from hypothesis import given, settings

from accord.kernels.chains.margin import best_with_margin
from accord.kernels.chains.viterbi import k_best, viterbi


@settings(max_examples=80)
@given(case=sequence())
def test_margin(case):
    unary, chain = case.parts.unary, case.parts[1:]
    n = unary.shape[0]
    if n == 0:
        return
    labels, work = np.full(n, -7, np.int32), np.full((n + 2, chain[1].shape[0] * chain[1].shape[1]), np.nan)
    top, margin = best_with_margin(*case.parts, work, labels)
    best = ranked(case.chain)
    if not best:
        assert top == margin == -math.inf
        assert labels.tolist() == [0] * n
        return
    assert top == pytest.approx(best[0][0], rel=1e-10, abs=1e-10)
    assert score(case.chain, labels.tolist()) == pytest.approx(top, rel=1e-10, abs=1e-10)
    if len(best) == 1:
        assert margin == math.inf
    else:
        size = abs(best[0][0]) + abs(best[1][0]) + np.abs(unary[np.isfinite(unary)]).sum()
        assert margin == pytest.approx(best[0][0] - best[1][0], abs=1e-12 * (1 + size))
        assert margin >= 0
    # ties included, it is the output that Viterbi finds
    found = np.empty_like(labels)
    viterbi(*case.parts, found)
    assert labels.tolist() == found.tolist()
    assert k_best(*case.parts, 2)[0].size == min(len(best), 2)
