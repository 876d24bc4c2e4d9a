"""Smooth machines: ∇SVM beside cutting planes to the same objective, and the cost of unlabeled sentences.

``python benchmarks/transduction.py --data DIR`` measures, on the Spanish CoNLL-2002 training set with token features in
a window of three and Hamming loss, C = 1,

speed
    CPU seconds of ∇SVM to its end, and of the structural SVM's cutting planes until their primal objective, recomputed
    after each pass, is no higher than that of ∇SVM's weights: with one quadratic program over all constraints after
    each pass, by an interior-point solver, and with one for each sentence in turn. Two regimes: the loss as the share
    of wrong tokens, which is the default and nearly a hard margin, and as their count;
linear
    CPU seconds of a round of ∇TSVM against the number of unlabeled sentences.

Contestants take turns in one process on one core; the best of some rounds counts. ``--quick`` is a small version.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import warnings
from pathlib import Path
from typing import Any

import measure

C = 1.0  # of ∇SVM; the SVM's is half of it
# Loss → (whether it is divided by the length; ε, ρ and tolerance of ∇SVM on its scale)
REGIMES = {"share of wrong tokens": (True, 0.03, 30.0, 1e-3), "count of wrong tokens": (False, 0.3, 10.0, 0.01)}
QP_ALL, QP_EACH = "cutting planes, one QP over all", "cutting planes, a QP per sentence"


def sentences(data: str | None, n: int, seed: int) -> tuple[list[Any], list[Any]]:
    """Some sentences of the training set."""
    import numpy as np

    from accord.datasets import load

    corpus = load("conll2002_esp", data)
    chosen = np.random.default_rng(seed).permutation(len(corpus.X))[:n]
    return [corpus.X[i] for i in chosen], [corpus.Y[i] for i in chosen]


def make_view() -> Any:
    """The token and its surface clues, of the token and its neighbours."""
    from accord import TokenFeatures

    return TokenFeatures(window=1, lower=False, affixes=None, shape=False)


def smooth_seconds(X: Any, Y: Any, regime: str) -> tuple[float, float]:
    """CPU seconds of ∇SVM, and the SVM's objective of its weights."""
    from accord import GradientSVM, Sequence

    normalize, epsilon, rho, tol = REGIMES[regime]
    structure = Sequence(normalize=normalize)
    model = GradientSVM(structure, make_view(), C=C, epsilon=epsilon, rho=rho, tol=tol, random_state=0)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    seconds = time.process_time() - start
    problem, _ = _problem(X, Y, regime, merge=False)
    w = model.weights_.flat()
    return seconds, 0.5 * float(w @ w) + 0.5 * C * float(problem.violations(model.weights_).sum())


def _problem(X: Any, Y: Any, regime: str, merge: bool = True) -> tuple[Any, float]:
    """The SVM's problem, and the CPU seconds of its features; ``merge`` those that go together, as learners do."""
    from accord import Sequence
    from accord.structures.chains.problem import ChainProblem
    from accord.views.tied import tie

    start = time.process_time()
    structure = Sequence(normalize=REGIMES[regime][0]).fit(Y)
    rows = make_view().fit_rows(X)
    rows = tie(rows).rows if merge else rows
    problem = ChainProblem(structure, rows, structure.encode(Y, rows.offsets))
    return problem, time.process_time() - start


def cutting_plane_seconds(
    X: Any, Y: Any, regime: str, together: bool, target: float, limit: float
) -> tuple[float, float, float]:
    """CPU seconds until the primal objective is at most ``target``, or ``limit``; primal and dual value then."""
    import numpy as np

    from accord.solvers.cutting_plane import CuttingPlane, primal_value

    problem, seconds = _problem(X, Y, regime)
    solver, rng = CuttingPlane(problem, C / 2, 1e-3 if REGIMES[regime][0] else 0.01), np.random.default_rng(0)
    best = math.inf
    while best > target and seconds < limit:
        start = time.process_time()
        added = [solver.visit(int(i), optimise=not together)[0] for i in rng.permutation(problem.n_examples)]
        if together and any(added):
            solver.optimise([i for i, working in enumerate(solver.sets) if working])
        seconds += time.process_time() - start
        best = min(best, primal_value(problem, solver.weights, C / 2))
        if together and not any(added):
            break
    return seconds, best, solver.dual()


def speed(options: argparse.Namespace) -> list[str]:
    """∇SVM and cutting planes by turns."""
    lines = [
        "## ∇SVM and cutting planes, to the same objective, CPU s",
        "",
        f"| loss | sentences | ∇SVM | {QP_ALL} | ratio | {QP_EACH} | ratio | above the optimum by at most |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for regime in REGIMES:
        for n in options.sizes:
            lines.append(_race(options, regime, n))
            print(lines[-1], flush=True)
    return lines


def _race(options: argparse.Namespace, regime: str, n: int) -> str:
    """A row of the table."""
    X, Y = sentences(options.data, n, seed=0)
    smooth, objective = math.inf, math.inf
    planes: dict[str, tuple[float, float, float]] = {}
    for _ in range(options.repeat):
        seconds, objective = smooth_seconds(X, Y, regime)
        smooth = min(smooth, seconds)
        for name, together in ((QP_ALL, True), (QP_EACH, False)):
            found = cutting_plane_seconds(X, Y, regime, together, objective, options.limit)
            planes[name] = min(found, planes.get(name, found))
    cells = []
    for name in (QP_ALL, QP_EACH):
        seconds, reached, _ = planes[name]
        mark = "" if reached <= objective else f" (not reached: {reached / objective:.2f} of ∇SVM's objective)"
        cells.append(f"{seconds:.2f}{mark} | {'≥ ' * (reached > objective)}{seconds / smooth:.1f}×")
    bound = max(dual for _, _, dual in planes.values())
    above = f"{100 * (objective / bound - 1):.1f} %" if bound > 0 else ""
    return f"| {regime} | {n} | {smooth:.2f} | {' | '.join(cells)} | {above} |"


def linear(options: argparse.Namespace) -> list[str]:
    """Rounds of ∇TSVM with more and more unlabeled sentences."""
    import numpy as np

    from accord import Sequence, TransductiveSVM
    from accord.solvers.transduction import FIRST_ROUNDS

    sizes = [options.unlabeled // k for k in (16, 8, 4, 2, 1)]
    X, Y = sentences(options.data, 20 + options.unlabeled, seed=0)
    labels = sorted({label for y in Y for label in y})
    seconds, entries = [], []
    for m in sizes:
        best = math.inf
        for _ in range(options.repeat):
            spent, rounds = [], []
            for max_iter in (FIRST_ROUNDS + 6, FIRST_ROUNDS + 16):  # labels alone come first
                model = TransductiveSVM(
                    Sequence(labels=labels, normalize=False), make_view(), C=C, unlabeled_weight=0.1, ramp=5,
                    max_iter=max_iter, random_state=0,
                )  # fmt: skip
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # rounds are few on purpose
                    start = time.process_time()
                    model.fit(X[: 20 + m], [*Y[:20], *[None] * m])
                spent.append(time.process_time() - start)
                rounds.append(model.n_iter_)
            if rounds[1] == rounds[0] or not model.history_[rounds[0]]["unlabeled_weight"]:
                raise SystemExit(f"unlabeled sentences took no part in the last rounds with m = {m}")
            best = min(best, (spent[1] - spent[0]) / (rounds[1] - rounds[0]))
        seconds.append(best)
        entries.append(model.n_constraints_)
    power = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    relative = float(np.polyfit(np.log(entries), np.log(seconds), 1)[0])
    if options.output is not None:
        draw(sizes, seconds, entries, options.output / "transduction.svg")
    return [
        "## A round of ∇TSVM, 20 labeled and m unlabeled sentences, CPU s",
        "",
        f"| m | {' | '.join(f'{m:,}' for m in sizes)} |",
        f"|---{'|--:' * len(sizes)}|",
        f"| seconds | {' | '.join(f'{s:.3f}' for s in seconds)} |",
        f"| outputs in working sets | {' | '.join(f'{n:,}' for n in entries)} |",
        "",
        f"Time grows as m to the power of {power:.2f}, and as the working sets to the power of {relative:.2f}.",
    ]


def draw(sizes: list[int], seconds: list[float], entries: list[int], path: Path) -> None:
    """Seconds of a round, and for each thousand outputs in working sets."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    each = [1000 * s / n for s, n in zip(seconds, entries)]
    labels = ("CPU seconds of a round", "CPU seconds for 1,000 outputs in use")
    for axis, values, label in zip(axes, (seconds, each), labels):
        axis.plot(sizes, values, "o-")
        axis.set(xlabel="unlabeled sentences", ylabel=label, ylim=(0, None))
        axis.grid(alpha=0.3)
    figure.savefig(path)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="the folder with the data sets; default: ACCORD_DATA")
    parser.add_argument("--only", nargs="+", choices=("speed", "linear"), default=["speed", "linear"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 200, 400], help="labeled sentences")
    parser.add_argument("--unlabeled", type=int, default=4000, help="unlabeled sentences of the largest fit")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each contestant; the fastest counts")
    parser.add_argument("--limit", type=float, default=300.0, help="give up on cutting planes after this many seconds")
    parser.add_argument("--core", type=int, default=sorted(os.sched_getaffinity(0))[-1])
    parser.add_argument("--output", type=Path, help="folder for transduction.md and transduction.svg")
    parser.add_argument("--quick", action="store_true", help="small versions of everything")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.unlabeled, options.repeat = [20, 40], 160, 1
    measure.use_cores([options.core])
    X, Y = sentences(options.data, 5, seed=1)
    for regime in REGIMES:  # compiles
        for together in (True, False):
            cutting_plane_seconds(X, Y, regime, together, smooth_seconds(X, Y, regime)[1], 1.0)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    for name in options.only:
        lines += [*{"speed": speed, "linear": linear}[name](options), ""]
    print("\n".join(lines))
    if options.output is not None:
        (options.output / "transduction.md").write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    main()
