"""Matchings of two lists in plain Python, by listing everything. Imports nothing from Accord."""

from itertools import combinations, permutations


def matchings(n, m, partial):
    """All sets of pairs (i, j) in which no item occurs twice: of any size, or as large as can be."""
    sizes = range(min(n, m) + 1) if partial else [min(n, m)]
    for size in sizes:
        for left in combinations(range(n), size):
            for right in permutations(range(m), size):
                yield frozenset(zip(left, right))


def score(scores, pairs):
    return sum(scores[i][j] for i, j in pairs)


def ranked(scores, partial):
    """(score, pairs) of all matchings that are allowed, best first."""
    n, m = len(scores), len(scores[0]) if scores else 0
    every = [(score(scores, y), y) for y in matchings(n, m, partial)]
    return sorted((entry for entry in every if entry[0] > float("-inf")), key=lambda entry: -entry[0])


def loss(y, other):
    """Pairs that only one of the two has, counted as halves."""
    return len(y ^ other) / 2
