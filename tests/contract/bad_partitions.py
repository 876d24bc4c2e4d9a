"""Rows of docs/bad-input.md about supervised clustering."""

import numpy as np
from bad_input import row

from accord import CallablePairs, ClusteringSVM, Deduplicator, Partition, StructuredSVM

SETS = [[1.0, 1.1, 5.0], [2.0, 7.0, 7.2, 2.1]]
PARTITIONS = [[0, 0, 1], ["a", "b", "b", "a"]]
DISTANCE = CallablePairs(lambda a, b: abs(a - b))


def fitted(**options):
    return ClusteringSVM(pair_features=DISTANCE, **options).fit(SETS, PARTITIONS)


@row("partition-count", None)
def _(make):
    ClusteringSVM(pair_features=DISTANCE).fit(SETS, PARTITIONS[:1])


@row("partition-none", None)
def _(make):
    ClusteringSVM(pair_features=DISTANCE).fit(SETS, [None, None])


@row("partition-length", None)
def _(make):
    ClusteringSVM(pair_features=DISTANCE).fit(SETS, [PARTITIONS[0], [0, 1, 1]])


@row("partition-text", None)
def _(make):
    ClusteringSVM(pair_features=DISTANCE).fit(SETS, [PARTITIONS[0], "abba"])


@row("partition-hidden", None)
def _(make):
    ClusteringSVM(pair_features=DISTANCE).fit(SETS, [PARTITIONS[0], [0, 1, None, 0]])


@row("partition-id", None)
def _(make):
    ClusteringSVM(pair_features=DISTANCE).fit(SETS, [PARTITIONS[0], [0, [1], 1, 0]])


@row("partition-singles", None)
def _(make):
    ClusteringSVM(pair_features=DISTANCE).fit([[1.0], [2.0]], [[0], [0]])


@row("pairs-objects", None)
def _(make):
    ClusteringSVM().fit([["Tom", "Thomas", "Ana"]], [[0, 0, 1]])


@row("pairs-shape", None)
def _(make):
    ClusteringSVM().fit([np.zeros((4, 2))], [[0, 0, 1]])


@row("pairs-symmetric", None)
def _(make):
    ClusteringSVM().fit([np.arange(8.0).reshape(2, 2, 2)], [[0, 0]])


@row("pairs-width", None)
def _(make):
    ClusteringSVM().fit([np.zeros((3, 2)), np.zeros((3, 1))], [[0, 0, 1]] * 2)


@row("pairs-nan", None)
def _(make):
    ClusteringSVM(pair_features=CallablePairs(lambda a, b: [a, np.nan if a > 4 else b])).fit(SETS, PARTITIONS)


@row("pairs-function", None)
def _(make):
    ClusteringSVM(pair_features=CallablePairs("distance")).fit(SETS, PARTITIONS)


@row("pairs-view", None)
def _(make):
    ClusteringSVM(pair_features=abs).fit(SETS, PARTITIONS)


@row("pairs-new-nan", None)
def _(make):
    fitted().predict([[1.0, np.nan]])


@row("clustering-method", None)
def _(make):
    fitted(method="spectral")


@row("clustering-decoder", None)
def _(make):
    fitted(decoder="greedy")


@row("clustering-loss", None)
def _(make):
    fitted(loss="hamming")


@row("clustering-zero-one", None)
def _(make):
    fitted(method="compact", loss="zero-one")


@row("clustering-C", None)
def _(make):
    fitted(C=-1)


@row("clustering-exact", None)
def _(make):
    fitted(decoder="exact").predict([np.full(100, 3.0).tolist()])


@row("dedupe-kind", None)
def _(make):
    Deduplicator({"n": "string"}).fit([{"n": "Ann"}, {"n": "Bob"}], [0, 1])


@row("clustering-structure", None)
def _(make):
    StructuredSVM(Partition()).fit(SETS, PARTITIONS)


@row("clustering-not-fitted", None)
def _(make):
    ClusteringSVM().predict(SETS)
