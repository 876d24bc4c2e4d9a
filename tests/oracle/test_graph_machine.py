"""The machine of sequences with the graph-regularised kernel against the paper, in both readings of lambda_1."""

from itertools import product

import numpy as np
import pytest
from plain_graph_machine import counts, parts_of, regularised_kernel, trained

from accord import GraphFeatures, Sequence, StructuredSVM

POINTS = np.random.default_rng(0).normal(size=(16, 2))
WORDS = [[0, 1], [2, 3, 4], [5, 6], [7, 8], [9, 10, 11], [12, 13], [14, 15]]
Y = ["ab", "aba", "bb"]  # the others are unlabeled
GAMMA, WIDTH, AMBIENT, INTRINSIC, C = 0.5, 0.7, 0.1, 0.9, 0.5


@pytest.mark.parametrize("everywhere", [False, True])
def test_scores_of_all_outputs(everywhere):
    """The norm of transitions counts as without a graph, or lambda_1 as that of observations does."""
    parts = parts_of(len(POINTS), "ab")
    kernel = regularised_kernel(POINTS, parts, GAMMA, 3, WIDTH, AMBIENT, INTRINSIC, everywhere)
    beta = trained(kernel, parts, WORDS, Y, "ab", C)
    view = GraphFeatures(gamma=GAMMA, n_neighbors=3, width=WIDTH, ambient=AMBIENT, intrinsic=INTRINSIC)
    chain = Sequence(transition_weight=AMBIENT**-0.5 if everywhere else 1.0)
    model = StructuredSVM(chain, view, C=C, tol=1e-6, random_state=0)
    X = [POINTS[nodes] for nodes in WORDS]
    model.fit(X, [list(y) for y in Y] + [None] * 4)
    for nodes, best in zip(WORDS, model.predict_k_best(X, 8)):
        expected = {y: beta @ kernel @ counts(parts, nodes, y) for y in product("ab", repeat=len(nodes))}
        assert {tuple(y): score for y, score in best} == pytest.approx(expected, abs=1e-4)
