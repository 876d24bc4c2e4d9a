"""The tables of a benchmark run, as Markdown."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import mean
from typing import Any

import targets
from contestant import CONTESTANTS, ONLY_ON

PACKAGES = """
accord numpy scipy numba scikit-learn python-crfsuite sklearn-crfsuite vowpalwabbit dlib-bin pytorch-crf torch
"""
NOTES = {
    "conll2002_esp_untyped": (
        "The first sentences of the Spanish data with the labels B, I and O, for dlib's segmenter, which knows no "
        "types. Both structured SVMs count wrong tokens and use the same C (dlib divides it by the number of "
        "sentences), but their models are not parametrised alike, so their objectives cannot be compared."
    ),
}


def machine() -> dict[str, Any]:
    """Where and with what this is measured."""
    versions = {}
    for package in PACKAGES.split():
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; all columns but the first and the last are numbers."""
    rule = ["---", *["---:"] * (len(header) - 2), "---"]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def markdown(results: dict[str, Any]) -> str:
    """The whole report."""
    m = results["machine"]
    parts = ["# Benchmark" + (" (quick: small parts of the sets)" if results["quick"] else "")]
    parts.append(
        f"{m['date']}, {m['processor']}, {m['cores']} cores (one used), {m['system']}, load average at the start "
        f"{m['load']}. Best of {results['repeat']} interleaved runs, each in a process of its own. "
        + ", ".join(f"{name} {number}" for name, number in m["versions"].items())
        + "."
    )
    checked = targets.check(results)
    if checked:
        rows = [[t.text, t.wanted, _number(t.measured), _verdict(t.reached), t.detail] for t in checked]
        header = ["target on conll2002_esp, one core", "wanted", "measured", "", ""]
        parts += ["## Targets", table(header, rows)]
        if results["quick"]:
            parts.append("The targets are meant for the whole set: on a small part, fixed costs weigh more.")
    for name, part in results["sets"].items():
        parts += [f"## {name}", _describe(name, part), _race_table(name, part)]
    parts.append(_legend())
    return "\n\n".join(parts) + "\n"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _verdict(reached: bool | None) -> str:
    return "not measured" if reached is None else "pass" if reached else "FAIL"


def _describe(name: str, part: dict[str, Any]) -> str:
    s = part["size"]
    text = (
        f"{s['sentences']:,} sequences, {s['tokens']:,} tokens, {s['labels']} labels, {s['features']:,} features, "
        f"{s['features_per_token']} a token; tested on {s['test_tokens']:,} tokens. "
        f"Beforehand Accord's kernels were compiled (what no earlier set needed) in {part['warm_up'][0]:.1f} s, then "
        f"loaded from the cache in {part['warm_up'][1]:.1f} s; neither is counted below."
    )
    return text + (f" {NOTES[name]}" if name in NOTES else "")


def _race_table(name: str, part: dict[str, Any]) -> str:
    runs, n_test = part["runs"], part["size"]["test_tokens"]
    rows = []
    for contestant in runs:
        if contestant == "accord-two-cores":
            continue
        try:
            done = targets.finished(runs, contestant)
        except KeyError:
            reason = runs[contestant][0]["error"] if runs[contestant] else "not run"
            rows.append([contestant, *["–"] * 8, reason])
            continue
        rows.append([contestant, *_cells(runs, contestant, done, n_test), CONTESTANTS[contestant][2]])
    if name != "conll2002_esp_untyped":
        absent = [(c, why) for c, (sets, why) in ONLY_ON.items() if why and name not in sets]
        rows += [[c, *["–"] * 8, f"not here: {why}"] for c, why in absent]
    header = ["", "train s", "from ready features", "processor s", "tag tokens/s", "from ready features"]
    return table([*header, "peak MB", "span F1", "accuracy", ""], rows)


def _cells(runs: targets.Runs, contestant: str, done: list[dict[str, Any]], n_test: int) -> list[str]:
    def seconds(part: str, name: str, kind: str = "wall") -> float | None:
        return targets.best(runs, contestant, part, name, kind) if name in done[0][part][kind] else None

    def rate(value: float | None) -> str:
        return "–" if value is None else f"{n_test / value:,.0f}"

    def score(name: str) -> str:
        return f"{100 * mean(run[name] for run in done):.2f}" if name in done[0] else "–"

    processor = seconds("train", "raw", "cpu") or seconds("train", "ready", "cpu")
    return [
        _number(seconds("train", "raw")),
        _number(seconds("train", "ready")),
        _number(processor),
        rate(seconds("tag", "raw")),
        rate(seconds("tag", "ready")),
        f"{targets.memory(runs, contestant):.0f}",
        score("span_f1"),
        score("accuracy"),
    ]


def _legend() -> str:
    return (
        "*train s*: from tokens to model (for CRFsuite with features extracted in Python); *from ready features*: "
        "features that are there already are handed over, then trained on, or tagged. Accord starts from tokens only. "
        "*processor s*: processor time of the whole training. *tag tokens/s*: from tokens to labels. *peak MB*: "
        "resident memory of the process, with the interpreter, libraries and data. Verdicts on times go by processor "
        "time, which other programs on the machine disturb less; all runs but one use a single thread."
    )
