"""Points in the plane and in space for which unlabeled points tell a lot, or nothing.

`galaxy` and `two_moons` hold the manifold assumption: classes are curves, and points of a class are linked by others of
it. `gaussian_clusters` holds the cluster assumption, that borders of classes lie where points are rare, or breaks
it where asked to.
"""

from __future__ import annotations

import numpy as np

from accord.datasets.generators import RandomState, at_least, share
from accord.exceptions import InputError

_INNER, _OUTER, _TURNS = 0.1, 2.0, 1.5  # a galaxy's arms: first and last radius, and how often they wind


def galaxy(
    n: int = 100,
    length: int = 20,
    switch: float = 0.1,
    noise: float = 0.06,
    random_state: RandomState = None,
) -> tuple[list[np.ndarray], list[list[str]]]:
    """Sequences of points from two intertwined spiral arms; a two-state Markov chain says which [thesis, 7.4.3].

    The first state is drawn at random, and every next one differs from the one before with probability `switch`. A
    state emits a point of its arm, uniformly along the arm, plus Gaussian noise.

    Parameters
    ----------
    n, length : int
        Number of sequences, and of points in each.
    switch : float
        Probability that the state changes.
    noise : float
        Standard deviation of the noise. Arms are 0.67 apart.
    random_state : int, Generator or None; an int makes the sample repeatable

    Returns
    -------
    X : list of ndarray of shape (length, 2)
        Points.
    Y : list of list of str
        States ``s0`` and ``s1``.

    Examples
    --------
    >>> X, Y = galaxy(2, length=3, random_state=0)
    >>> X[0].shape, Y
    ((3, 2), [['s0', 's0', 's1'], ['s0', 's0', 's0']])
    """
    at_least(0, n=n, noise=noise)
    at_least(1, length=length)
    share(switch=switch)
    rng = np.random.default_rng(random_state)
    changes = rng.random((n, length)) < switch
    changes[:, 0] = rng.random(n) < 0.5
    states = np.cumsum(changes, axis=1) % 2  # (n, length)
    turn = 2 * np.pi * _TURNS / _OUTER  # angle per radius
    # Uniform along the arm: radii at which the arm has a uniform share of its length.
    radii = np.linspace(_INNER, _OUTER, 2001)
    lengths = radii * np.sqrt(1 + (turn * radii) ** 2) + np.arcsinh(turn * radii) / turn
    radius = np.interp(rng.uniform(lengths[0], lengths[-1], size=(n, length)), lengths, radii)
    angle = turn * radius + np.pi * states
    points = radius[..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    points += noise * rng.normal(size=points.shape)
    return list(points), [[f"s{s}" for s in row] for row in states]


def two_moons(n: int = 200, noise: float = 0.08, random_state: RandomState = None) -> tuple[np.ndarray, list[str]]:
    """Points of two half circles that reach into each other: no line separates them, but paths of neighbours do.

    Parameters
    ----------
    n : int
        Number of points; class sizes differ by one at most.
    noise : float
        Standard deviation of the noise. The half circles have radius 1 and are 0.5 apart where they are closest.
    random_state : int, Generator or None; an int makes the sample repeatable

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : list of str
        Classes ``c0`` (the upper half circle) and ``c1`` in random order.

    Examples
    --------
    >>> X, y = two_moons(4, random_state=0)
    >>> X.shape, y
    ((4, 2), ['c0', 'c0', 'c1', 'c1'])
    """
    at_least(0, n=n, noise=noise)
    rng = np.random.default_rng(random_state)
    classes = rng.permutation(np.arange(n) % 2)
    angle = np.pi * rng.random(n)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X[classes == 1] = np.array([1.0, 0.5]) - X[classes == 1]
    return X + noise * rng.normal(size=X.shape), [f"c{k}" for k in classes]


def gaussian_clusters(
    n: int = 200,
    n_clusters: int = 4,
    n_classes: int = 2,
    n_features: int = 2,
    separation: float = 6.0,
    aligned: float = 1.0,
    random_state: RandomState = None,
) -> tuple[np.ndarray, list[str]]:
    """Spherical Gaussian clusters with unit variance on a circle; classes take turns around it.

    With ``aligned=1`` every cluster is of one class, and hardly a point lies near a border. Clusters that are not
    aligned are cut through the middle, where points are densest: one half belongs to the next class. What unlabeled
    points suggest is then wrong, though the classes can be learned from labels as before.

    Parameters
    ----------
    n : int
        Number of points; cluster sizes differ by one at most.
    n_clusters, n_classes, n_features : int
        Numbers of clusters, of classes (at most `n_clusters`) and of dimensions (at least 2).
    separation : float
        Distance of neighbouring centres.
    aligned : float
        Share of the clusters, rounded, that are of one class.
    random_state : int, Generator or None; an int makes the sample repeatable

    Returns
    -------
    X : ndarray of shape (n, n_features)
    y : list of str
        Classes ``c0, c1, ...``.

    Examples
    --------
    >>> X, y = gaussian_clusters(6, random_state=0)
    >>> X.shape, y
    ((6, 2), ['c0', 'c0', 'c0', 'c1', 'c1', 'c1'])
    """
    at_least(0, n=n, separation=separation)
    at_least(2, n_clusters=n_clusters, n_classes=n_classes, n_features=n_features)
    if n_classes > n_clusters:
        raise InputError(f"n_classes must be at most n_clusters, got {n_classes} classes and {n_clusters} clusters")
    share(aligned=aligned)
    rng = np.random.default_rng(random_state)
    # Two random orthogonal directions span the plane of the circle.
    plane = np.linalg.qr(rng.normal(size=(n_features, 2)))[0].T  # (2, n_features)
    angle = 2 * np.pi * np.arange(n_clusters) / n_clusters
    radius = separation / (2 * np.sin(np.pi / n_clusters))
    centres = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1) @ plane
    cut = rng.permutation(n_clusters) >= round(aligned * n_clusters)
    normals = rng.normal(size=(n_clusters, n_features))  # of the cuts
    clusters = rng.permutation(np.arange(n) % n_clusters)
    offsets = rng.normal(size=(n, n_features))
    beyond = np.einsum("ij,ij->i", offsets, normals[clusters]) > 0
    classes = (clusters + (cut[clusters] & beyond)) % n_classes
    return centres[clusters] + offsets, [f"c{k}" for k in classes]
