"""A class of a taxonomy: topics that belong to branches, and mistakes that are near or far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.cli.demo.scene import Scene, aligned, chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_LABELED, N_TEST = 36, 600
_PARTS = ("the right topic", "another topic of its branch", "the wrong branch")


def topics(seed: int) -> Scene:
    """Learn topics with and without knowing which of them are sisters."""
    from accord import CRF, MultiClass, Taxonomy
    from accord.datasets import taxonomy_documents

    X, y, tree = taxonomy_documents(N_LABELED + N_TEST, share_own=0.4, random_state=seed)
    known, test = slice(N_LABELED), slice(N_LABELED, None)
    shares = {}
    for name, structure in (("topics alone", MultiClass()), ("topics in branches", Taxonomy(tree))):
        found = CRF(structure).fit(X[known], y[known]).predict(X[test])
        shares[name] = _shares(y[test], list(found))
    alone, branches = shares.values()
    n_topics = len(set(y))
    lesson = (
        f"{N_LABELED} labeled documents about {n_topics} topics, three in each of three branches: a learner that "
        f"knows the branches puts {branches[0]:.0f} % of new documents into the right topic and {branches[2]:.0f} % "
        f"into a wrong branch; one that does not know them {alone[0]:.0f} and {alone[2]:.0f} %."
    )
    rows = [("", *_PARTS), *((name, *(f"{share:.0f} %" for share in found)) for name, found in shares.items())]

    def draw(axes: Axes, dark: bool) -> None:
        _bars(axes, shares, dark)

    alt = "How many documents get the right topic, a sister of it, or a topic of another branch"
    return Scene("A class in a taxonomy", lesson, aligned(rows), chart(draw, alt, 2.0))


def _shares(truth: list[str], found: list[str]) -> tuple[float, float, float]:
    """Percentages of right ones, of sisters, and of others."""
    right = sum(a == b for a, b in zip(truth, found))
    near = sum(_branch(a) == _branch(b) for a, b in zip(truth, found)) - right
    n = len(truth) / 100
    return right / n, near / n, 100 - (right + near) / n


def _branch(topic: str) -> str:
    return topic.rpartition("/")[0]


def _bars(axes: Axes, shares: dict[str, tuple[float, float, float]], dark: bool) -> None:
    from accord.evaluation.plots import method_look

    for row, values in enumerate(shares.values()):
        left = 0.0
        for look, part, value in zip((2, 4, 1), _PARTS, values):
            colour = method_look(look, dark)["color"]
            axes.barh(row, value, left=left, height=0.55, color=colour, label=part if row == 0 else None)
            left += value
    axes.set_yticks(range(len(shares)), list(shares))
    axes.invert_yaxis()
    axes.set_xlabel("of new documents (%)")
