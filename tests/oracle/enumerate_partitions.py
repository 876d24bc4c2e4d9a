"""Partitions, their losses and their decoders in plain Python, by listing everything. Imports nothing from Accord."""

from fractions import Fraction
from itertools import combinations


def partitions(n):
    """All partitions of n objects, as tuples of cluster numbers by first appearance."""

    def grow(prefix, n_clusters):
        if len(prefix) == n:
            yield tuple(prefix)
            return
        for c in range(n_clusters + 1):
            yield from grow([*prefix, c], max(n_clusters, c + 1))

    yield from grow([], 0)


def pairs(n):
    """(j, k) with k < j, in condensed order."""
    return [(j, k) for j in range(n) for k in range(j)]


def value(sim, y):
    """Sum of the similarities within clusters; sim[p] of the pair p in condensed order."""
    return sum(s for s, (j, k) in zip(sim, pairs(len(y))) if y[j] == y[k])


def best_value(sim, n):
    return max(value(sim, y) for y in partitions(n))


def total_loss(y, other):
    """Delta_total as the thesis prints it: the sum in the denominator runs over k', with [y]_kk = 1."""
    n, loss = len(y), Fraction(0)
    for j, k in pairs(n):
        if (y[j] == y[k]) != (other[j] == other[k]):
            loss += Fraction(1, sum(1 for m in range(n) if m != j and y[m] == y[k]))
    return loss


def rand_loss(y, other):
    n = len(y)
    wrong = sum((y[j] == y[k]) != (other[j] == other[k]) for j, k in pairs(n))
    return Fraction(wrong, max(1, n * (n - 1) // 2))


def zero_one_loss(y, other):
    return Fraction(any((y[j] == y[k]) != (other[j] == other[k]) for j, k in pairs(len(y))))


LOSSES = {"total": total_loss, "rand": rand_loss, "zero-one": zero_one_loss}


def sequential(sim, n):
    """Table 8.2 to the letter, over a list of clusters."""
    table = {}
    for s, (j, k) in zip(sim, pairs(n)):
        table[j, k] = s
    clusters = []
    for j in range(n):
        sums = [sum(table[j, k] for k in cluster) for cluster in clusters]
        if not sums or max(sums) < 0:
            clusters.append([j])
        else:
            clusters[sums.index(max(sums))].append(j)
    return labels_of(clusters, n)


def agglomerative(sim, n):
    """From singletons, merge the pair of clusters with the largest positive sum; the first such pair."""
    table = {}
    for s, (j, k) in zip(sim, pairs(n)):
        table[j, k] = table[k, j] = s
    clusters = [[j] for j in range(n)]
    while len(clusters) > 1:
        sums = {
            (a, b): sum(table[j, k] for j in clusters[a] for k in clusters[b])
            for a, b in combinations(range(len(clusters)), 2)
        }
        a, b = max(sums, key=lambda ab: (sums[ab], -ab[0], -ab[1]))
        if sums[a, b] <= 0:
            break
        clusters[a] += clusters.pop(b)
    return labels_of(clusters, n)


def labels_of(clusters, n):
    where = {j: c for c, cluster in enumerate(clusters) for j in cluster}
    first = {}
    return [first.setdefault(where[j], len(first)) for j in range(n)]


def triangles(n):
    """(j, k, l) of all inequalities z_jk + z_kl - z_jl <= 1; j < l, since the other way round is the same."""
    return [(j, k, l) for k in range(n) for j in range(n) for l in range(j + 1, n) if k not in (j, l)]
