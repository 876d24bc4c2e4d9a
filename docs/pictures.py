"""Draw the picture of the README from results: ``python docs/pictures.py accord-results``.

The folder holds what ``accord reproduce text-classes`` and ``accord reproduce front-door-sequences`` wrote.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from accord.evaluation import Results
from accord.evaluation.plots import figure_bytes, method_look, page_style, panel_grid
from accord.evaluation.results import Summary

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "images" / "labels.svg"


class Panel(NamedTuple):
    """An experiment: what to show of it, and which methods make a line, the best of them at every point."""

    experiment: str
    metric: str
    title: str
    x: str
    y: str
    lines: dict[str, tuple[str, ...]]
    data: str | None = None


ALONE, THEIRS, OURS = "best baseline, labels only", "scikit-learn, with unlabeled data", "Accord, with unlabeled data"
NAMES = [OURS, ALONE, THEIRS]  # each has one look in all panels
PANELS = [
    Panel(
        "text-classes",
        "zero_one_loss",
        "20 newsgroups",
        "labeled posts of each class",
        "posts classified wrongly (%)",
        {
            ALONE: ("LinearSVC", "logistic regression"),
            THEIRS: (
                "SelfTrainingClassifier, naive Bayes",
                "SelfTrainingClassifier, logistic regression",
                "LabelSpreading",
            ),
            OURS: ("Classifier (default)",),
        },
    ),
    Panel(
        "front-door-sequences",
        "token_error",
        "names in Spanish news",
        "labeled sentences",
        "words labeled wrongly (%)",
        {ALONE: ("CRF", "SVM"), OURS: ("Tagger",)},
        "Spanish",
    ),
]


def best(results: Results, panel: Panel, methods: Iterable[str]) -> list[Summary]:
    """At every number of labels, the method with the lowest mean; the same labels for all of them."""
    found: dict[int, Summary] = {}
    for s in results.aggregate():
        n = s.setting["n_labeled"]
        fits = s.metric == panel.metric and s.method in methods and s.setting.get("data") == panel.data
        if fits and (n not in found or s.mean < found[n].mean):
            found[n] = s
    return [found[n] for n in sorted(found)]


def draw(folder: Path, dark: bool = False) -> bytes:
    """The picture in the colours of light or dark pages."""
    from matplotlib import rc_context

    with rc_context(page_style(dark) | {"font.size": 11, "axes.titlesize": 12}):
        figure, grid = panel_grid(len(PANELS), len(PANELS), (4.4, 3.3), (0.0, 0.5))
        for axes, panel in zip(grid, PANELS):
            results = Results.load(folder / panel.experiment / "results.csv")
            for name, methods in panel.lines.items():
                points = best(results, panel, methods)
                look = method_look(NAMES.index(name), dark) | {"linewidth": 2.2, "markersize": 6, "capsize": 3}
                x, means = [s.setting["n_labeled"] for s in points], [100 * s.mean for s in points]
                axes.errorbar(x, means, yerr=[100 * s.standard_error for s in points], label=name, **look)
            ticks = sorted({row["n_labeled"] for row in results.rows})
            axes.set_xscale("log")
            axes.set_xticks(ticks, [str(n) for n in ticks])
            axes.minorticks_off()
            axes.set_ylim(bottom=0)
            axes.set_title(panel.title, loc="left")
            axes.set(xlabel=panel.x, ylabel=panel.y)
        handles, names = grid[0].get_legend_handles_labels()  # the first panel has all lines
        figure.legend(handles, names, loc="outside lower center", ncols=len(names), handlelength=1.6, columnspacing=1.4)
    return figure_bytes(figure, "svg")


def colours(dark: bool) -> list[str]:
    """All colours of a picture, in an order of their own."""
    style = page_style(dark)
    fixed = [style[name] for name in ("text.color", "figure.facecolor", "grid.color")]
    return [str(c).lower() for c in (*fixed, *(method_look(k, dark)["color"] for k in range(len(NAMES))))]


def themed(svg: str) -> str:
    """The same picture for light and dark screens: where the screen is dark, every colour has its dark counterpart."""
    rules = "".join(
        f'[style*="{attribute}: {light}"]{{{attribute}:{dark}!important}}'
        for light, dark in zip(colours(False), colours(True))
        for attribute in ("fill", "stroke")
    )
    return svg.replace("<defs>", f"<style>@media(prefers-color-scheme:dark){{{rules}}}</style>\n <defs>", 1)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder with the folders text-classes and front-door-sequences")
    parser.add_argument("--output", type=Path, default=TARGET)
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(themed(draw(options.results).decode()), "utf-8")
    print(options.output)


if __name__ == "__main__":
    main()
