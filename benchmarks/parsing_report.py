"""Writes what ``parsing.py`` measured as Markdown, JSON and a drawing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from parsing_contestants import DISCO, GROUPS, LEFT_OUT, OURS, SLOW

TOLERANCE = 1e-6
VITERBI = "NLTK ViterbiParser"


def write(found: dict[str, Any], folder: Path | None, name: str, remark: str = "") -> None:
    """Print the report and, if a folder is given, write it with its drawing."""
    text = report(found, f"{name}.svg" if folder else None, remark)
    print(text)
    if folder:
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
        draw(found["growth"], folder / f"{name}.svg")


def report(found: dict[str, Any], picture: str | None, remark: str) -> str:
    """All of it as Markdown."""
    s = found["settings"]
    lines = [
        "# Exact CKY parsing",
        "",
        "`python benchmarks/parsing.py`: the grammar of all of `ptb_wsj_sample`, sentences of it with given tags, one "
        f"core, Python {found['python']}. Processor time. {s['sentences']} sentences of each length, each parsed "
        f"{s['repeat']} times in each of {s['rounds']} processes, of which the best counts; slow parsers parse fewer, "
        f"once, and have at most {s['limit']:.0f} s for a length.",
        "",
        *([remark, ""] if remark else []),
        *targets(found),
    ]
    for grammar, runs in found["race"].items():
        size = found["sizes"][grammar]
        lines += ["", f"## {grammar}: {size['rules']:,} binary rules, {size['symbols']:,} symbols", ""]
        lines += [*speeds(runs, s["limit"]), "", *ratios(runs), "", *agreement(runs)]
    lines += ["", *growth(found["growth"], picture), "", *notes(found)]
    return "\n".join(lines) + "\n"


# -- numbers ----------------------------------------------------------------------------------------------------------
def seconds(runs: dict[str, Any], name: str, group: str, kind: str = "cpu") -> list[float]:
    """Best seconds of each sentence, as many as there are."""
    return list(runs.get(name, {}).get("groups", {}).get(group, {}).get(kind, []))


def ratio(runs: dict[str, Any], slow: str, fast: str, group: str, kind: str = "cpu") -> float | None:
    """How many times as long the first takes for the sentences that both have parsed."""
    a, b = seconds(runs, slow, group, kind), seconds(runs, fast, group, kind)
    n = min(len(a), len(b))
    return sum(a[:n]) / sum(b[:n]) if n else None


def least_ratio(runs: dict[str, Any], slow: str, fast: str, group: str, limit: float) -> tuple[float, bool] | None:
    """The ratio and True; if the slow one did not get through its first sentence in time, a lower bound and False."""
    known = ratio(runs, slow, fast, group)
    if known is not None:
        return known, True
    cut = runs.get(slow, {}).get("groups", {}).get(group, {}).get("out_of_time")
    others = seconds(runs, fast, group)
    return (min(limit, SLOW[slow][group][1]) / others[0], False) if cut and others else None


def targets(found: dict[str, Any]) -> list[str]:
    """What was to be reached, and what was."""
    lines = ["| target | grammar | measured | met |", "|---|---|---|---|"]

    limit = found["settings"]["limit"]
    wanted = [(f"{ours} ≥ 200× {VITERBI}", VITERBI, ours, 200.0) for ours in OURS[:2]]
    wanted += [(f"{ours} faster than disco-dop", DISCO[0], ours, 1.0) for ours in OURS[:2]]
    wanted.append(("10 best faster than disco-dop", DISCO[1], OURS[2], 1.0))
    for grammar, runs in found["race"].items():
        for text, other, ours, least in wanted:
            known = {group: least_ratio(runs, other, ours, group, limit) for group in GROUPS}
            values = {group: value for group, value in known.items() if value is not None}
            told = ", ".join(
                f"{group} words: {'' if sure else '> '}{figure(v)}×" for group, (v, sure) in values.items()
            )
            met = "yes" if values and min(v for v, _ in values.values()) >= least else "**no**"
            lines.append(f"| {text} | {grammar} | {told or 'not measured'} | {met if values else ''} |")
    for grammar, runs in found["growth"].items():
        at = runs[OURS[0]].get("groups", {}).get("growth 40")
        if at:
            peak, before = at["peak_mb"], runs[OURS[0]]["before_mb"]
            told = f"{peak:.0f} MB, {before:.0f} of them before the first sentence"
            lines.append(f"| < 500 MB for 40 words | {grammar} | {told} | {'yes' if peak < 500 else '**no**'} |")
    return lines


def speeds(runs: dict[str, Any], limit: float) -> list[str]:
    """Sentences per second."""
    lines = ["Sentences per second (how many sentences):", "", f"| | {' | '.join(f'{g} words' for g in GROUPS)} |"]
    lines.append(f"|---{'|--:' * len(GROUPS)}|")
    for name, run in runs.items():
        cells = []
        for group in GROUPS:
            times = seconds(runs, name, group)
            if times:
                cells.append(f"{figure(len(times) / sum(times))} ({len(times)})")
            else:
                cut = run.get("groups", {}).get(group, {}).get("out_of_time")
                most = min(limit, SLOW[name][group][1]) if cut else 0.0
                cells.append(f"not one in {most:.0f} s" if cut else "failed" if "failed" in run else "")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def figure(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratios(runs: dict[str, Any]) -> list[str]:
    """How many times as long the others take."""
    lines = ["Time of the others over Accord's for the same sentences (the same by the clock):", ""]
    lines += [f"| | over | {' | '.join(f'{g} words' for g in GROUPS)} |", f"|---|---{'|--:' * len(GROUPS)}|"]
    pairs = [(name, ours) for name in (*SLOW, DISCO[0]) for ours in OURS[:2]] + [(DISCO[1], OURS[2])]
    for name, ours in pairs:
        if not runs.get(name, {}).get("groups"):
            continue
        cells = []
        for group in GROUPS:
            cpu, wall = (ratio(runs, name, ours, group, kind) for kind in ("cpu", "wall"))
            cells.append("" if cpu is None or wall is None else f"{figure(cpu)}× ({figure(wall)}×)")
        if any(cells):
            lines.append(f"| {name} | {ours.removeprefix('Accord').strip(', ')} | {' | '.join(cells)} |")
    return lines


def agreement(runs: dict[str, Any]) -> list[str]:
    """Whether all have found the same log probabilities, and who has not."""
    compared, worst, wrong = 0, 0.0, []
    for name, run in runs.items():
        other = OURS[2] if name == DISCO[1] else OURS[0]
        if name == other:
            continue
        reference = runs[other].get("groups", {})
        for group in run.get("groups", {}).keys() & reference.keys():
            mine = run["groups"][group]
            for i, (a, b) in enumerate(zip(mine["log_probability"], reference[group]["log_probability"])):
                a = a[: len(b)] if name == OURS[2] else a  # the best of ten is the best
                apart = max((abs(x - y) for x, y in zip(a, b)), default=0.0)
                compared, worst = compared + len(a), max(worst, apart)
                if len(a) != len(b) or not apart <= TOLERANCE:
                    wrong.append(f"- {name}, {group} words, sentence {i}: by {apart:.1e}; {len(a)} and {len(b)} trees")
    if not compared:
        return ["Log probabilities: nothing to compare."]
    first = f"Log probabilities: {compared:,} compared with Accord's, largest difference {worst:.1e}; "
    return [first + (f"{len(wrong)} sentences differ by more than {TOLERANCE:g}:" if wrong else "all agree."), *wrong]


def points(run: dict[str, Any]) -> list[tuple[int, float, float]]:
    """Length, seconds per sentence, peak MB."""
    out = []
    for group, at in run.get("groups", {}).items():
        if at["cpu"]:
            out.append((int(group.split()[1]), sum(at["cpu"]) / len(at["cpu"]), at["peak_mb"]))
    return out


def growth(found: dict[str, Any], picture: str | None) -> list[str]:
    """Time and memory by length."""
    lines = [
        "## Growth with length",
        "",
        "Up to three sentences of each length in one process, shortest first: milliseconds per sentence, and peak "
        "memory of the process so far.",
        "",
    ]
    lengths = sorted({n for runs in found.values() for run in runs.values() for n, _, _ in points(run)})
    lines += [f"| words | {' | '.join(map(str, lengths))} | grows as |", f"|---{'|--:' * (len(lengths) + 1)}|"]
    for grammar, runs in found.items():
        for name, run in runs.items():
            at = {n: (s, mb) for n, s, mb in points(run)}
            cells = [figure(1e3 * at[n][0]) if n in at else "" for n in lengths]
            lines.append(f"| {name}, {grammar}, ms | {' | '.join(cells)} | {power(at)} |")
            cells = [f"{at[n][1]:.0f}" if n in at else "" for n in lengths]
            lines.append(f"| {name}, {grammar}, MB | {' | '.join(cells)} | |")
    if picture:
        lines += ["", f"![Time and memory by length]({picture})"]
    return lines


def power(at: dict[int, tuple[float, float]]) -> str:
    """The exponent of the length between about a third of the longest and the longest."""
    if len(at) < 3:
        return ""
    last = max(at)
    first = min(at, key=lambda n: abs(n - last / 3))
    return f"n^{math.log(at[last][0] / at[first][0]) / math.log(last / first):.1f} ({first} to {last})"


def notes(found: dict[str, Any]) -> list[str]:
    """Who failed, who was left out."""
    lines = [
        f"- {name}, {grammar}: {run['failed']}"
        for part in ("race", "growth")
        for grammar, runs in found[part].items()
        for name, run in runs.items()
        if "failed" in run
    ]
    lines += [f"- {name}, {grammar}: left out, {why}" for (name, grammar), why in LEFT_OUT.items()]
    absent = [name for name in (*SLOW, *DISCO) if name not in found["measured"]]
    if absent:
        lines.append(
            f"- {', '.join(absent)}: left out, no environment was named for them (--peer-python, --disco-python)"
        )
    return ["## Notes", "", *lines]


def draw(found: dict[str, Any], path: Path) -> None:
    """Time and memory against length, both axes logarithmic for time."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from accord.evaluation.plots import figure_bytes, page_style

    with rc_context(page_style(dark=False)):
        picture = Figure(figsize=(9, 3.8), layout="constrained")
        time, memory = picture.subplots(1, 2)
        for grammar, runs in found.items():
            for name, run in runs.items():
                style = {"marker": "o" if name in OURS else "s", "linestyle": "-" if grammar.endswith("None") else "--"}
                colour = "#0B6E99" if name in OURS else "#C2571A"
                n, s, mb = zip(*points(run)) if points(run) else ((), (), ())
                time.plot(n, [1e3 * v for v in s], color=colour, label=f"{name}, {grammar}", markersize=4, **style)
                memory.plot(n, mb, color=colour, markersize=4, **style)
        time.set(xscale="log", yscale="log", xlabel="words", ylabel="ms per sentence, processor time")
        ticks = [10, 20, 40, 100]
        time.set_xticks(ticks, [str(t) for t in ticks])
        time.minorticks_off()
        time.legend(fontsize=8)
        memory.set(xlabel="words", ylabel="peak memory of the process, MB", ylim=(0, None))
        path.write_bytes(figure_bytes(picture, "svg"))
