"""A federated round: sites that show each other predictions for agreed examples, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from accord.cli.demo.scene import Scene, chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_LABELED, N_AGREED, N_TEST = 15, 200, 400  # for each site, for all, for testing
SITES = ("north", "east", "south")
_NOISE, _WEIGHT = 0.3, 0.02


def sites(seed: int) -> Scene:
    """Three sites with labels and instruments of their own learn the same quantity together."""
    from accord.federated import LocalSites, Site, agree

    rng = np.random.default_rng(seed)
    n = N_LABELED * len(SITES) + N_AGREED + N_TEST
    state = rng.normal(size=(n, 2))
    y = np.sin(state[:, 0]) + state[:, 1]
    seen = {name: state + _NOISE * rng.normal(size=state.shape) for name in SITES}
    agreed, test = slice(n - N_AGREED - N_TEST, n - N_TEST), slice(n - N_TEST, n)
    parts = {name: slice(k * N_LABELED, (k + 1) * N_LABELED) for k, name in enumerate(SITES)}
    members = {name: Site(X[parts[name]], y[parts[name]], unlabeled=X[agreed]) for name, X in seen.items()}

    def errors() -> list[float]:
        return [
            float(np.sqrt(np.mean((site.model.predict(seen[name][test]) - y[test]) ** 2)))
            for name, site in members.items()
        ]

    history = [errors()]  # of sites that are alone
    outcome = agree(LocalSites(members), lambda_=_WEIGHT, tol=1e-4, on_round=lambda _: history.append(errors()))
    by_round = np.array(history)
    before, after = by_round[0], by_round[-1]
    lesson = (
        f"{len(SITES)} sites with {N_LABELED} labels each show each other only what they predict for {N_AGREED} "
        f"unlabeled examples; after {len(outcome.rounds)} rounds they agree, and their error on new examples went from "
        f"{before.mean():.2f} to {after.mean():.2f} on the average ({(after < before).sum()} of {len(SITES)} sites "
        "gained), though none has seen another's data."
    )
    lines = ["round  " + "  ".join(f"{name:>6}" for name in SITES)]
    for k, row in enumerate(history):
        lines.append(f"{k if k else 'alone':>5}  " + "  ".join(f"{value:6.3f}" for value in row))

    def draw(axes: Axes, dark: bool) -> None:
        from accord.evaluation.plots import method_look

        for k, name in enumerate(SITES):
            axes.plot(range(len(history)), by_round[:, k], label=name, markersize=5, **method_look(k, dark))
        axes.set_xticks(range(len(history)), ["alone", *map(str, range(1, len(history)))])
        axes.set(xlabel="round", ylabel="error on new examples")

    alt = "The error of every site's own model on new examples, round by round"
    return Scene("A federated round", lesson, "\n".join(lines), chart(draw, alt))
