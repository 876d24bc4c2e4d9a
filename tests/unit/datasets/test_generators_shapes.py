"""Curves and clusters: what they promise about points, classes and the density between them."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from row_tables import each_row
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from accord.datasets import galaxy, gaussian_clusters, two_moons
from accord.exceptions import InputError


def flat(X, Y):
    return np.vstack(X), np.array([label for y in Y for label in y])


def test_a_galaxy_has_the_size_of_the_thesis():
    X, Y = galaxy(random_state=0)
    assert len(X) == len(Y) == 100
    assert all(x.shape == (20, 2) and len(y) == 20 for x, y in zip(X, Y))
    assert {label for y in Y for label in y} == {"s0", "s1"}


@pytest.mark.parametrize("switch", [0.1, 0.4])
def test_states_of_a_galaxy_are_a_markov_chain(switch):
    _, Y = galaxy(2000, switch=switch, random_state=1)
    changed = np.array([[a != b for a, b in pairwise(y)] for y in Y])
    assert changed.mean() == pytest.approx(switch, abs=0.01)  # five standard errors
    # neither the place nor the change before matters
    np.testing.assert_allclose(changed.mean(axis=0), switch, atol=0.06)
    assert changed[:, 1:][changed[:, :-1]].mean() == pytest.approx(switch, abs=0.03)
    assert np.mean([y[0] == "s0" for y in Y]) == pytest.approx(0.5, abs=0.05)


def test_switches_never_or_always():
    assert all(len(set(y)) == 1 for y in galaxy(20, switch=0.0, random_state=0)[1])
    assert all(a != b for y in galaxy(20, switch=1.0, random_state=0)[1] for a, b in pairwise(y))


def test_arms_of_a_galaxy_are_told_apart_by_neighbours_but_not_by_a_line():
    points, labels = flat(*galaxy(random_state=0))
    near = KNeighborsClassifier(1).fit(points[::2], labels[::2])
    assert near.score(points[1::2], labels[1::2]) > 0.99
    line = LogisticRegression().fit(points, labels)
    assert line.score(points, labels) < 0.75
    noisy, labels = flat(*galaxy(noise=0.4, random_state=0))
    assert KNeighborsClassifier(1).fit(noisy[::2], labels[::2]).score(noisy[1::2], labels[1::2]) < 0.9


def test_points_of_an_arm_lie_on_it_evenly():
    points, labels = flat(*galaxy(400, noise=0.0, random_state=0))
    radius = np.hypot(*points.T)
    assert radius.min() >= 0.1 - 1e-9
    assert radius.max() <= 2.0 + 1e-9
    angle = 1.5 * np.pi * radius + np.pi * (labels == "s1")
    np.testing.assert_allclose(points, radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1), atol=1e-9)
    # equally many on equal lengths of an arm (summed over small steps)
    grid = np.linspace(0.1, 2.0, 4001)
    length = np.append(0.0, np.cumsum(np.sqrt(1 + (1.5 * np.pi * grid[:-1]) ** 2) * np.diff(grid)))
    along = np.interp(radius, grid, length) / length[-1]
    np.testing.assert_allclose(np.histogram(along, bins=5, range=(0, 1))[0] / along.size, 0.2, atol=0.02)


def test_two_moons():
    X, y = two_moons(601, noise=0.08, random_state=0)
    assert X.shape == (601, 2)
    assert sorted(Counter(y).values()) == [300, 301]
    assert LogisticRegression().fit(X, y).score(X, y) < 0.95
    assert KNeighborsClassifier(1).fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.98
    clean, y = two_moons(100, noise=0.0, random_state=0)
    upper = np.array(y) == "c0"
    np.testing.assert_allclose(np.hypot(*clean[upper].T), 1.0)
    np.testing.assert_allclose(np.hypot(*(clean[~upper] - [1.0, 0.5]).T), 1.0)
    assert clean[upper, 1].min() >= 0
    assert clean[~upper, 1].max() <= 0.5


def nearest_centre_purity(X, y, n_clusters):
    """Share of the points that have the most frequent class of their cluster, clusters found without labels."""
    from sklearn.cluster import KMeans

    found = KMeans(n_clusters, n_init=5, random_state=0).fit_predict(X)
    most = [Counter(np.array(y)[found == c]).most_common(1)[0][1] for c in range(n_clusters)]
    return sum(most) / len(y)


def test_clusters_hold_the_cluster_assumption_or_break_it():
    purity = []
    for aligned in (1.0, 0.5, 0.0):
        X, y = gaussian_clusters(800, aligned=aligned, random_state=0)
        purity.append(nearest_centre_purity(X, y, 4))
        # labels teach the classes in either case
        assert SVC(C=10).fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.93
    assert purity[0] > 0.99
    assert purity[1] == pytest.approx(0.75, abs=0.05)
    assert purity[2] == pytest.approx(0.5, abs=0.05)


@each_row("n_features", [2, 5])
def test_clusters_are_where_they_should_be(n_features):
    X, y = gaussian_clusters(1200, n_clusters=6, n_classes=3, n_features=n_features, separation=30.0, random_state=1)
    assert X.shape == (1200, n_features)
    assert Counter(y) == {"c0": 400, "c1": 400, "c2": 400}
    from sklearn.cluster import KMeans

    model = KMeans(6, n_init=5, random_state=0).fit(X)
    centres = model.cluster_centers_
    between = np.sort(np.linalg.norm(centres[:, None] - centres, axis=2), axis=1)
    np.testing.assert_allclose(between[:, 1:3], 30.0, atol=0.5)  # two neighbours on the circle
    spread = [X[model.labels_ == c].std(axis=0) for c in range(6)]
    np.testing.assert_allclose(spread, 1.0, atol=0.2)


@each_row(
    ("generator", "argument", "value"),
    [
        (galaxy, "length", 0),
        (galaxy, "switch", 1.5),
        (galaxy, "noise", -0.1),
        (two_moons, "noise", np.nan),
        (gaussian_clusters, "n_clusters", 1),
        (gaussian_clusters, "n_classes", 5),
        (gaussian_clusters, "n_features", 1),
        (gaussian_clusters, "aligned", -0.5),
        (gaussian_clusters, "separation", -1.0),
    ],
)
def test_wrong_arguments_are_named(generator, argument, value):
    with pytest.raises(InputError, match=argument):
        generator(**{argument: value})
