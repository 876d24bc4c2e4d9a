"""Joint features of chains as one vector, which no learner ever makes."""

import numpy as np

from accord.kernels.chains.online import count_transitions
from accord.packed.weights import Weights


def joint_features(structure, features, y):
    """Phi(x, y) for dense row features (n_rows, n_dims), in the layout of the weights."""
    y = np.asarray(y, np.int32)
    n, rows = structure.n_labels_, np.arange(y.size)
    per_label = np.zeros((y.size, structure.n_columns_))
    per_label[rows, y] = 1.0
    if structure.observed_:
        per_label[rows[1:], n + n * y[:-1] + y[1:]] = 1.0
    counts = np.zeros(structure.n_transitions_)
    count_transitions(y, structure.eta_, structure.n_labels_, structure.order_, counts)
    return Weights(np.asarray(features).T @ structure.node_coefficients(per_label), counts)


def forced(structure, parts, given):
    """Part scores that forbid everything but the given labels; ``None`` leaves a row free."""
    return parts._replace(unary=structure.forced_unary(parts.unary, given))
