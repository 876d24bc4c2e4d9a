"""Answers hold in clusters, and change nothing else."""

import numpy as np
import pytest

from accord.dedupe.decoding import average
from accord.kernels.partitions.condensed import pair_numbers
from accord.kernels.partitions.correlation import numbered
from accord.labeling.live.answered import hold_answers
from accord.labeling.live.pairs import Closure
from accord.labeling.project import BETWEEN

NONE = np.empty((0, 2), np.int64)


def table(n, rng):
    """Similarities of n records, symmetric, and the function that looks them up."""
    similar = rng.normal(-0.5, 2.0, (n, n))
    similar = similar + similar.T
    return similar, lambda left, right: similar[left, right]


def test_without_answers_clusters_stay():
    rng = np.random.default_rng(0)
    found = numbered(rng.integers(0, 4, 12))
    assert hold_answers(found, np.arange(12), NONE, table(12, rng)[1]).tolist() == found.tolist()


@pytest.mark.parametrize("seed", range(30))
def test_answers_hold_and_other_clusters_stay(seed):
    rng = np.random.default_rng(seed)
    n = 14
    keys = [f"r{k}" for k in range(n)]
    truth = rng.integers(0, 4, n)
    similar, scores = table(n, rng)
    j, k = pair_numbers(n)
    found = average(similar[j, k])
    asked = rng.permutation(j.size)[: rng.integers(1, 12)]
    said = {
        f"{keys[a]}{BETWEEN}{keys[b]}": "same" if truth[a] == truth[b] else "different"
        for a, b in zip(j[asked], k[asked])
    }
    same, different = Closure(said).numbers(keys)
    out = hold_answers(found, same, different, scores)
    follows = Closure(said)
    touched = set()
    for a in range(n):
        for b in range(a):
            answer = follows.answer(keys[a], keys[b])
            if answer is not None:
                assert (out[a] == out[b]) == (answer == "same")
                touched |= {found[a], found[b]}
    for cluster in set(found.tolist()) - touched:
        members = np.flatnonzero(found == cluster)
        assert np.flatnonzero(out == out[members[0]]).tolist() == members.tolist()
    assert out.tolist() == numbered(out).tolist()


def test_one_answer_against_many_similarities_of_a_large_cluster():
    n = 80
    found, same = np.zeros(n, np.int64), np.arange(n)
    out = hold_answers(found, same, np.array([[3, 70]]), lambda left, right: np.full(left.size, 5.0))
    assert out[3] != out[70]
    assert out.max() == 1  # nothing else comes apart
    apart = np.repeat([0, 1], n // 2)
    same[[3, 70]] = 3
    out = hold_answers(apart, same, NONE, lambda left, right: np.where(apart[left] == apart[right], 5.0, -5.0))
    assert out[3] == out[70]


def test_what_is_said_to_be_both_is_the_same():
    follows = Closure({f"a{BETWEEN}b": "same", f"a{BETWEEN}c": "different", f"b{BETWEEN}c": "same"})
    same, different = follows.numbers(["a", "b", "c"])
    out = hold_answers(np.arange(3), same, different, lambda left, right: np.full(left.size, -1.0))
    assert out.tolist() == [0, 0, 0]


def test_answers_about_records_that_are_gone_do_no_harm():
    same, different = Closure({f"a{BETWEEN}gone": "different", f"b{BETWEEN}lost": "same"}).numbers(["a", "b", "c"])
    assert np.unique(same).size == 3
    assert different.shape == (0, 2)
