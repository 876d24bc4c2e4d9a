"""A split into two views that know different things about an example, and equally much [thesis ch. 5, future work].

Co-learning asks for views that are independent given the label, each good enough to learn from. Column j belongs to the
view ``sigma_j``, 1 or -1, and a split is the better the less the sum of two numbers from 0 to 1 is:

- dependence: the share of ``sum_ij s_i s_j rho_ij^2`` that lies between the views, where ``rho_ij`` is the correlation
  of two features within labels and ``s_j`` the strength of a feature: how much of its variance lies between labels;
- imbalance: the mean over rows of ``(sum_j sigma_j b_nj)^2``, where ``b_nj`` is the share of column j in what row n
  knows: of the strengths, times mean squares, of the features that it has. Rows are balanced one by one: else all
  features of a word could be in one view, and the other one would know nothing of it.

Strengths are those in labeled rows. For correlations, rows without a label get the one that a ridge regression gives
them; features that never occur together count as independent.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from accord.kernels.features.splitting import flip_columns
from accord.packed.tables import as_table
from accord.views.channels import Columns
from accord.views.compose import Views
from accord.views.splits import Split

MOST_ROWS = 2000  # looked at
MOST_PAIRS = 20_000_000  # of features that a row has, in all these rows
N_STARTS = 5
MOST_SWEEPS = 100
TOL = 1e-12  # what a flip has to gain
SMALL = 1e-9  # a variance that is none, as a fraction of the mean square


@dataclass(eq=False, repr=False)
class IndependentSplit(Split):
    """Two views that depend on each other as little as possible, given the label, and are equally strong.

    Parameters
    ----------
    view : View, list or dict of views, optional
        The view to split; by default the one that suits the look of ``X``.

    Notes
    -----
    The learner's labels and unlabeled inputs say which columns vary together within a label; these go to the same view,
    as far as both views still know something of every row. At most 2,000 rows are looked at, labeled ones first. The
    search for the best split starts at random, as often as five times, and ends when no column alone can change views
    for the better. Without labels (trees, numbers) all columns are equally strong, and all rows have one label.

    Examples
    --------
    Columns 0 and 2 vary together, and so do 1 and 3:

    >>> import numpy as np
    >>> from accord import ArrayFeatures, IndependentSplit
    >>> two = np.random.default_rng(0).normal(size=(40, 2))
    >>> view = IndependentSplit(ArrayFeatures(bias=False))
    >>> rows = view.fit_rows(np.hstack([two, two]))
    >>> labels = np.repeat([0, 1, -1], [5, 5, 30])
    >>> one, _ = view.channels(rows, np.random.default_rng(0), labels)
    >>> one.matrix().toarray().any(axis=0)
    array([ True, False,  True, False])
    """

    view: Views | None = None

    def view_names(self) -> list[str]:
        """``independent1`` and ``independent2``."""
        return ["independent1", "independent2"]

    def _share_out(self, columns: Columns, rng: np.random.Generator, labels: np.ndarray | None) -> list[np.ndarray]:
        free = ~columns.constant
        known = np.full(columns.rows.n_rows, -1) if labels is None else np.asarray(labels)
        chosen = _sample(known, rng)
        owner = _owners(columns, free)
        used = np.flatnonzero(owner >= 0)
        X = sp.csr_array(columns.rows.take_rows(chosen).matrix().tocsc()[:, used])
        signs = judge(X, known[chosen], owner[used]).best(rng)
        shares = []
        for sign in (1.0, -1.0):
            own = free.copy()
            own[free] = signs == sign
            shares.append(columns.features(own))
        return shares


@dataclass(frozen=True)
class Judge:
    """What splits are judged by.

    Parameters
    ----------
    dependence : CSR array of shape (n_columns, n_columns)
        How much columns depend on each other: symmetric, 0 on the diagonal, in all 2 (or 0).
    shares : CSR array of shape (n_columns, n_rows)
        The share of each column in what a row knows, over the root of the number of rows.
    """

    dependence: sp.csr_array
    shares: sp.csr_array

    def objective(self, signs: np.ndarray) -> float:
        """Dependence between the views, plus imbalance."""
        between = (self.dependence.sum() - signs @ (self.dependence @ signs)) / 4.0
        return float(between + np.sum((self.shares.T @ signs) ** 2))

    def best(self, rng: np.random.Generator) -> np.ndarray:
        """The view of every column, 1 or -1: the best of some splits that no single flip improves."""
        return min([self.settle(rng) for _ in range(N_STARTS)], key=self.objective)

    def settle(self, rng: np.random.Generator) -> np.ndarray:
        """Flips from a random start, until none is worth it."""
        D, S = self.dependence, self.shares
        signs = np.where(rng.permutation(D.shape[0]) % 2, 1.0, -1.0)
        pulls, tilts = D @ signs, S.T @ signs
        for _ in range(MOST_SWEEPS):
            order = rng.permutation(signs.size)
            if not flip_columns(
                D.indptr, D.indices, D.data, S.indptr, S.indices, S.data, order, TOL, signs, pulls, tilts
            ):
                break
        return signs


def judge(X: sp.csr_array, y: np.ndarray, owner: np.ndarray) -> Judge:
    """What rows ``X`` (n_rows, n_features) and labels (negative: unknown) say; feature f is of column ``owner[f]``."""
    strength = strengths(X, y)
    columns = sp.csr_array((np.ones(owner.size), (np.arange(owner.size), owner)))
    dependence = sp.csr_array(columns.T @ _dependence(X, _completed(X, y), strength) @ columns)
    dependence.setdiag(0.0)
    dependence.eliminate_zeros()
    occurs = X.astype(bool).astype(float)
    mean_square = X.power(2).sum(axis=0) / np.maximum(occurs.sum(axis=0), 1.0)
    known = occurs @ sp.diags_array(strength * mean_square)
    shares = sp.diags_array(_quotient(X.shape[0] ** -0.5, known.sum(axis=1))) @ known @ columns
    return Judge(as_table(dependence * (2.0 / (dependence.sum() or 1.0))), as_table(shares.T))


def strengths(X: sp.csr_array, y: np.ndarray) -> np.ndarray:
    """The share of a feature's variance in labeled rows that lies between labels; not less than chance gives it."""
    X, y = X[y >= 0], y[y >= 0]
    names, y = np.unique(y, return_inverse=True)
    if names.size < 2:
        return np.ones(X.shape[1])
    squares = X.power(2).sum(axis=0)
    mean = X.sum(axis=0) ** 2 / y.size
    between = (_label_means(X, y) ** 2).sum(axis=0) - mean
    share = _quotient(between, np.where(squares - mean > SMALL * squares, squares - mean, 0.0))
    return np.clip(share, (names.size - 1) / max(y.size - 1, 1), 1.0)


def _dependence(X: sp.csr_array, y: np.ndarray, strength: np.ndarray) -> sp.csr_array:
    """``s_i s_j rho_ij^2`` for the features that occur together; the weakest are left out if these are too many."""
    squares = X.power(2).sum(axis=0)
    means = _label_means(X, y)
    within = squares - (means**2).sum(axis=0)
    scale = np.sqrt(_quotient(strength, np.where(within > SMALL * squares, within, 0.0)))
    scale[_weakest(X, strength)] = 0.0
    X = X @ sp.diags_array(scale)
    X.eliminate_zeros()
    pairs = sp.csr_array(X.T @ X)
    first = np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
    for mean in means * scale:
        pairs.data -= mean[first] * mean[pairs.indices]
    pairs.data **= 2
    return pairs


def _weakest(X: sp.csr_array, strength: np.ndarray) -> np.ndarray:
    """Features to leave out, lest there be too many pairs of features in rows."""
    order = np.argsort(-strength, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    rank_of_entry, row_of_entry = rank[X.indices], np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))

    def n_pairs(n_kept: int) -> int:
        return int(np.sum(np.bincount(row_of_entry[rank_of_entry < n_kept]) ** 2))

    return order[bisect_right(range(order.size + 1), MOST_PAIRS, key=n_pairs) - 1 :]


def _label_means(X: sp.csr_array, y: np.ndarray) -> np.ndarray:
    """The mean row of every label, times the root of its number of rows."""
    counts = np.bincount(y)
    return (sp.csr_array((counts[y] ** -0.5, (y, np.arange(y.size)))) @ X).toarray()


def _completed(X: sp.csr_array, y: np.ndarray) -> np.ndarray:
    """Labels, numbered from 0, where there is none that of a ridge regression on the others."""
    labeled, rest = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)
    found = np.zeros(y.size, np.int64)
    if not labeled.size:
        return found
    names, found[labeled] = np.unique(y[labeled], return_inverse=True)
    targets = np.eye(names.size)[found[labeled]]
    mean = targets.mean(axis=0)
    products = (X @ X[labeled].T).toarray()
    gram = products[labeled]
    gram[np.diag_indices_from(gram)] += gram.trace() / labeled.size or 1.0
    found[rest] = np.argmax(mean + products[rest] @ np.linalg.solve(gram, targets - mean), axis=1)
    return found


def _sample(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows to look at: labeled ones first, but at least half of them others, if there are so many."""
    order = rng.permutation(labels.size)
    labeled, others = order[labels[order] >= 0], order[labels[order] < 0]
    n_others = min(others.size, max(MOST_ROWS - labeled.size, MOST_ROWS // 2))
    return np.concatenate([labeled[: MOST_ROWS - n_others], others[:n_others]])


def _owners(columns: Columns, free: np.ndarray) -> np.ndarray:
    """For every feature (n_dims,), which of the free columns it belongs to, or -1."""
    place = np.where(free, np.cumsum(free) - 1, -1)
    out = np.full(columns.rows.n_dims, -1)
    for r, slots in enumerate(columns.slots):
        own = columns.range == r
        for k in slots:
            out[columns.rows.base[k] + columns.number[own] * columns.rows.stride[k]] = place[own]
    return out


def _quotient(a: Any, b: np.ndarray) -> np.ndarray:
    """a / b, and 0 where b is not above 0."""
    return np.divide(a, b, out=np.zeros_like(b, float), where=b > 0)
