"""Seeded generators of small learning tasks, so that every structure can be tried without data.

`hmm_sequences` for label sequences, `taxonomy_documents` for class hierarchies, `gaussian_classes` for plain
classes, `embedded_ner` (from ``language``) for text. Curves and clusters for which unlabeled points tell something
are in ``shapes``, sentences with trees in ``grammar``. An integer ``random_state`` makes each repeatable. Those of
this file also draw the task itself from it (a class's words, its centre), so training and test data are to be
split off one call.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from accord.datasets.language import embedded_ner
from accord.exceptions import InputError

__all__ = ["embedded_ner", "gaussian_classes", "hmm_sequences", "taxonomy_documents"]

RandomState = int | np.random.Generator | None


def at_least(smallest: float, **arguments: float) -> None:
    """Refuse arguments that are too small, by name."""
    for name, value in arguments.items():
        if not smallest <= value < np.inf:
            raise InputError(f"{name} must be at least {smallest}, got {value}")


def share(**arguments: float) -> None:
    """Refuse arguments that are no share, by name."""
    for name, value in arguments.items():
        if not 0 <= value <= 1:
            raise InputError(f"{name} must lie between 0 and 1, got {value}")


def hmm_sequences(
    n: int = 100,
    n_labels: int = 4,
    n_tokens: int = 40,
    mean_length: float = 8.0,
    concentration: float = 0.3,
    random_state: RandomState = None,
) -> tuple[list[list[str]], list[list[str]]]:
    """Token sequences sampled from a random hidden Markov model, with the hidden states as labels.

    Start, transition and emission probabilities are drawn from symmetric Dirichlet distributions.

    Parameters
    ----------
    n : int
        Number of sequences.
    n_labels, n_tokens : int
        Sizes of the label alphabet ``L0, L1, ...`` and of the vocabulary ``w0, w1, ...``.
    mean_length : float
        Mean length; lengths are one plus a Poisson number.
    concentration : float
        Small values give peaked distributions (easy to learn), large ones flat (hard).
    random_state : int, Generator or None; an int makes the sample repeatable

    Returns
    -------
    X, Y : list of list of str
        Tokens and labels.

    Examples
    --------
    >>> X, Y = hmm_sequences(2, n_labels=2, mean_length=4, random_state=0)
    >>> X[1], Y[1]
    (['w18', 'w38', 'w30'], ['L1', 'L0', 'L0'])
    """
    at_least(0, n=n)
    at_least(1, n_labels=n_labels, n_tokens=n_tokens, mean_length=mean_length)
    if not concentration > 0:
        raise InputError(f"concentration must be positive, got {concentration}")
    rng = np.random.default_rng(random_state)
    # Cumulated along the last axis, so that a uniform number picks a state by binary search. Row n_labels of
    # `follow` (n_labels + 1, n_labels) is the start distribution; `emit` is (n_labels, n_tokens).
    follow = rng.dirichlet(np.full(n_labels, concentration), size=n_labels + 1).cumsum(axis=1)
    emit = rng.dirichlet(np.full(n_tokens, concentration), size=n_labels).cumsum(axis=1)
    labels, tokens = [f"L{k}" for k in range(n_labels)], [f"w{k}" for k in range(n_tokens)]
    X, Y = [], []
    for _ in range(n):
        draws = rng.random((1 + rng.poisson(mean_length - 1), 2))
        states, words = [], []
        state = n_labels
        for step, word in draws:
            state = min(int(np.searchsorted(follow[state], step, side="right")), n_labels - 1)
            states.append(labels[state])
            words.append(tokens[min(int(np.searchsorted(emit[state], word, side="right")), n_tokens - 1)])
        X.append(words)
        Y.append(states)
    return X, Y


def taxonomy_documents(
    n: int = 300,
    depth: int = 2,
    branching: int = 3,
    n_words: int = 200,
    mean_length: float = 30.0,
    share_own: float = 0.5,
    random_state: RandomState = None,
) -> tuple[sp.csr_matrix, list[str], dict[str, list[str]]]:
    """Documents as word counts, with classes that are the leaves of a regular tree.

    A leaf's word distribution mixes one distribution per node on its path (weight `share_own`, split evenly) with a
    background common to all, so that classes are the more alike, the lower their common ancestor.

    Parameters
    ----------
    n : int
        Number of documents; the leaves take turns, so class sizes differ by one at most.
    depth, branching : int
        The tree has ``branching ** depth`` leaves, named by their path: ``root/0/2``.
    n_words : int
        Size of the vocabulary.
    mean_length : float
        Mean number of words per document (one plus a Poisson number).
    share_own : float
        Between 0 (nothing to learn) and 1.
    random_state : int, Generator or None; an int makes the sample repeatable

    Returns
    -------
    X : csr_matrix of shape (n, n_words)
        Word counts as floats.
    y : list of str
        Leaves, in random order.
    taxonomy : dict of str to list of str
        Every node with its parents, as `read_taxonomy` returns it; the root has none.

    Examples
    --------
    >>> X, y, taxonomy = taxonomy_documents(4, depth=1, branching=2, random_state=0)
    >>> X.shape, y
    ((4, 200), ['root/1', 'root/1', 'root/0', 'root/0'])
    >>> taxonomy
    {'root': [], 'root/0': ['root'], 'root/1': ['root']}
    """
    at_least(0, n=n)
    at_least(1, depth=depth, branching=branching, n_words=n_words, mean_length=mean_length)
    share(share_own=share_own)
    rng = np.random.default_rng(random_state)
    taxonomy: dict[str, list[str]] = {"root": []}
    level = {"root": np.zeros(n_words)}  # node -> sum of the word distributions on its path
    for _ in range(depth):
        deeper = {}
        for node, above in level.items():
            for k in range(branching):
                child = f"{node}/{k}"
                taxonomy[child] = [node]
                deeper[child] = above + rng.dirichlet(np.full(n_words, 0.1))
        level = deeper
    background = rng.dirichlet(np.ones(n_words))
    leaves = list(level)
    y = [leaves[k] for k in rng.permutation(np.arange(n) % len(leaves))]
    lengths = 1 + rng.poisson(mean_length - 1, size=n)
    rows = []  # each (1, n_words) and sparse: a dense matrix of many documents may not fit in memory
    for leaf, length in zip(y, lengths):
        words = share_own * level[leaf] / depth + (1 - share_own) * background
        rows.append(sp.csr_matrix(rng.multinomial(length, words / words.sum()).astype(np.float64)))
    X = sp.vstack(rows, format="csr") if rows else sp.csr_matrix((0, n_words))
    return X, y, taxonomy


def gaussian_classes(
    n: int = 200,
    n_classes: int = 3,
    n_features: int = 5,
    separation: float = 2.0,
    random_state: RandomState = None,
) -> tuple[np.ndarray, list[str]]:
    """Points of spherical Gaussian clouds, one per class, with unit variance.

    Parameters
    ----------
    n : int
        Number of points; class sizes differ by one at most.
    n_classes, n_features : int
        Number of clouds and dimensions.
    separation : float
        Standard deviation of the centres around the origin: the larger, the easier.
    random_state : int, Generator or None; an int makes the sample repeatable

    Returns
    -------
    X : ndarray of shape (n, n_features)
    y : list of str
        Classes ``c0, c1, ...`` in random order.

    Examples
    --------
    >>> X, y = gaussian_classes(4, n_classes=2, n_features=3, random_state=0)
    >>> X.shape, y
    ((4, 3), ['c0', 'c0', 'c1', 'c1'])
    """
    at_least(0, n=n)
    at_least(1, n_classes=n_classes, n_features=n_features)
    rng = np.random.default_rng(random_state)
    centres = separation * rng.normal(size=(n_classes, n_features))
    classes = rng.permutation(np.arange(n) % n_classes)
    return centres[classes] + rng.normal(size=(n, n_features)), [f"c{k}" for k in classes]
