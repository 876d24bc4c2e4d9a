"""Runs the measurements of ``co_regression.py`` and writes them as Markdown and JSON."""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

from co_regression_fits import OLD_PEERS, OURS, SETS, SOURCES, child, draw_tasks

SCRIPT = "co_regression.py"


def measure_all(options: argparse.Namespace) -> None:
    """Everything that was asked for."""
    found: dict[str, Any] = {"machine": platform.platform(), "python": platform.python_version()}
    text = ["# Co-regression", ""]
    for name, function in (("scale", scale), ("ridge", ridge), ("peers", peers)):
        if name in options.only:
            found[name], lines = function(options)
            text += [*lines, ""]
            print("\n".join(lines), end="\n\n", flush=True)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "co_regression.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        (options.output / "co_regression.md").write_text("\n".join(text), encoding="utf-8")


def scale(options: argparse.Namespace) -> tuple[list[dict[str, Any]], list[str]]:
    """Fits of growing size; the fastest of some runs counts, memory and shares are of the same run."""
    sizes = [options.rows // k for k in (8, 4, 2, 1)]
    runs: list[dict[str, Any]] = []
    for m, source in [(m, SOURCES[0]) for m in sizes] + [(options.rows, SOURCES[1])]:
        asked = {"kind": "scale", "core": options.core, "n_rows": m, "source": source}
        tried = [child(sys.executable, SCRIPT, **asked) for _ in range(options.repeat)]
        runs.append(_fastest(tried))
    lines = [
        "## Semi-parametric fit: 100 labeled, m unlabeled, 100 columns, two views",
        "",
        "| source | m | seconds | CPU seconds | µs per row | GFLOP/s | of matrix multiply | peak memory, own |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in runs:
        share = f"{100 * r['share']:.0f} % of {r['multiply_rate'] / 1e9:.1f}"
        lines.append(
            f"| {r['source']} | {r['rows']:,} | {r['seconds']:.3f} | {r['cpu']:.3f} | {1e6 * r['cpu'] / r['rows']:.2f} "
            f"| {r['rate'] / 1e9:.1f} | {share} | {r['peak_mb']:.0f} MB, {r['own_peak_mb']:.0f} |"
        )
    degree = math.log(runs[3]["cpu"] / runs[1]["cpu"]) / math.log(runs[3]["rows"] / runs[1]["rows"])
    lines += [
        "",
        f"Time grows as m to the power of {degree:.2f} (the two largest doublings). GFLOP/s: 2 m n 100 for kernel "
        "values and 2 m n (2n + 1) for products, over the processor time of all of the fit; exponentials are not "
        "counted as work.",
    ]
    largest = runs[3]
    told = ", ".join(f"{name} {1e6 * seconds:.2f}" for name, seconds in largest["roofline"].items())
    least, took = 1e6 * sum(largest["roofline"].values()), 1e6 * largest["cpu"] / largest["rows"]
    lines.append(
        f"What a row takes at least, each step alone on the fit's shapes, µs: {told}; together {least:.2f}, of which "
        f"the fit's {took:.2f} are {took / least:.2f} times as many."
    )
    return runs, lines


def _fastest(tried: list[dict[str, Any]]) -> dict[str, Any]:
    for run in tried:
        if "failed" in run:
            raise SystemExit(f"a measurement failed: {run['failed']}")
    return min(tried, key=lambda run: float(run["cpu"]))


def ridge(options: argparse.Namespace) -> tuple[list[dict[str, Any]], list[str]]:
    """RLSR and KernelRidge."""
    sizes = (100, 500) if options.quick else (100, 1000, 2000)
    runs = [child(sys.executable, SCRIPT, kind="ridge", core=options.core, n=n) for n in sizes]
    lines = ["## Regularised least squares on n rows of 100 columns", "", "| n | who | fit, s | predict 10,000, s |"]
    lines.append("|--:|---|--:|--:|")
    for run in runs:
        if "failed" in run:
            raise SystemExit(f"a measurement failed: {run['failed']}")
        for name, seconds in run.items():
            if isinstance(seconds, dict):
                lines.append(f"| {run['n']} | {name} | {seconds['fit']:.4f} | {seconds['predict']:.4f} |")
    largest = max(run["difference"] for run in runs)
    lines += ["", f"Predictions of RLSR and KernelRidge differ by at most {largest:.1e}."]
    return runs, lines


def peers(options: argparse.Namespace) -> tuple[list[dict[str, Any]], list[str]]:
    """Accuracy and time beside other semi-supervised regressors."""
    names = SETS[:1] if options.quick else SETS
    methods = [*OURS, *(OLD_PEERS if options.old_python else ())]
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for path in draw_tasks(options.data, Path(folder), options.draws, names):
            for method in methods:
                python, script = (sys.executable, SCRIPT) if method in OURS else (options.old_python, PEER_SCRIPT)
                run = child(python, script, kind="peer", core=options.core, path=str(path), name=method)
                runs.append({"set": path.stem.rsplit("-", 1)[0], "method": method, **run})
    lines = [
        "## 50 labeled and 450 unlabeled rows: error on the unlabeled ones, processor seconds",
        "",
        f"Rmse over the deviation of the targets (1: no better than their mean), {options.draws} draws.",
        "",
        f"| set | {' | '.join(methods)} |",
        f"|---{'|--:' * len(methods)}|",
    ]
    for name in names:
        cells = [_cell([r for r in runs if r["set"] == name and r["method"] == method]) for method in methods]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", *{f"{r['method']} failed: {r['failed']}" for r in runs if "failed" in r}]
    if not options.old_python:
        lines.append("The other libraries were left out: --old-python names no environment for them.")
    return runs, lines


PEER_SCRIPT = "co_regression_peers.py"


def _cell(runs: list[dict[str, Any]]) -> str:
    done = [run for run in runs if "failed" not in run]
    if not done:
        return "failed"
    error, seconds = (sum(run[key] for run in done) / len(done) for key in ("error", "seconds"))
    return f"{error:.3f}, {seconds:.3g} s"
