"""Tables, plots and the report's files."""

import base64
import math
import os
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from accord.evaluation import (
    Metric,
    Published,
    Results,
    figure_bytes,
    plot_results,
    results_table,
    write_report,
)
from accord.exceptions import InputError
from accord.files import write_file


def make_results(settings, methods=("HMM", "SVM"), n=8, metric="token_error"):
    rng = np.random.default_rng(0)
    rows = []
    for setting in settings:
        for k, method in enumerate(methods):
            for r in range(n):
                value = 0.3 - 0.1 * k + 0.01 * rng.normal()
                rows.append({"experiment": "toy", "method": method, **setting, "repetition": r, "metric": metric})
                rows[-1] |= {"value": value, "seconds": 0.1}
    return Results(rows)


CURVE = make_results([{"n_labeled": n, "m": m} for n in (5, 10) for m in (0, 25, 50)])
FLAT = make_results([{}])
PUBLISHED = [
    Published("HMM", "token_error", 0.2359, {"n_labeled": 5}, source="a paper, Table 1"),
    Published("CRF", "token_error", 0.05, error=0.002),
    Published("HMM", "span_f1", 0.9),
]


# ------------------------------------------------------------------------------------------------------------- tables
def test_table_of_one_setting():
    mean = {s.method: (s.mean, s.standard_error) for s in FLAT.aggregate()}
    published = [Published("HMM", "token_error", 0.2359, source="a paper"), PUBLISHED[1]]
    table = results_table(FLAT, "token_error", published, FLAT.compare("HMM", "token_error"))
    assert table.columns == ["method", "token error"]
    assert table.rows == [
        ["HMM", f"{100 * mean['HMM'][0]:.2f} ± {100 * mean['HMM'][1]:.2f}"],
        ["HMM (published) †", "23.59"],
        ["SVM", f"{100 * mean['SVM'][0]:.2f} ± {100 * mean['SVM'][1]:.2f} ‡"],
        ["CRF (published) †", "5.00 ± 0.20"],
    ]
    assert table.strong == {(2, 1)}  # our best, not the published one
    assert table.notes[0] == "Token error in %, mean ± standard error over 8 repetitions. Bold: the lowest of ours."
    assert "‡ differs from HMM at 5 % (paired t test" in table.notes[1]
    assert table.notes[2] == "† as published: a paper."


def test_published_figures_stand_in_their_own_setting_only():
    table = results_table(CURVE, "token_error", PUBLISHED)
    assert table.columns[1:4] == ["n_labeled=5, m=0", "n_labeled=5, m=25", "n_labeled=5, m=50"]
    assert table.rows[1] == ["HMM (published) †", "23.59", "23.59", "23.59", "", "", ""]


def test_many_settings_go_down_and_methods_across():
    results = make_results([{"m": m} for m in range(9)])
    table = results_table(results, "token_error", PUBLISHED[1:2])
    assert table.columns == ["setting", "HMM", "SVM", "CRF (published) †"]
    assert [r[0] for r in table.rows] == [f"m={m}" for m in range(9)]
    assert table.strong == {(j, 2) for j in range(9)}
    assert all(r[3] == "5.00 ± 0.20" for r in table.rows)


def test_experiments_are_columns_of_their_own():
    both = Results(FLAT.rows + [r | {"experiment": "other"} for r in FLAT.rows])
    assert results_table(both, "token_error").columns == ["method", "experiment=toy", "experiment=other"]


def test_markdown_is_one_well_formed_table():
    lines = results_table(make_results([{}], ("a|b", "c")), "token_error").to_markdown().splitlines()
    assert lines[0].split(" | ")[0].strip("| ") == "method"
    assert re.fullmatch(r"\| -+ \| -+: \|", lines[1])
    assert lines[2].startswith("| a\\|b")
    assert lines[3].count("**") == 2
    assert len({len(line) for line in lines[:4]}) == 1


def test_direction_and_unit_of_unknown_metrics():
    results = make_results([{}], metric="bits")
    plain = results_table(results, "bits")
    assert not plain.strong
    better = results_table(results, Metric("bits", "bits saved", greater_is_better=True, percent=False))
    assert better.strong == {(0, 1)}
    assert better.notes[0].startswith("Bits saved, mean")
    assert results_table(make_results([{}], n=1), "token_error").rows[0][1].count("±") == 0


# -------------------------------------------------------------------------------------------------------------- plots
def test_learning_curve_shows_the_means_and_errors():
    figure = plot_results(CURVE, "token_error", "m", PUBLISHED)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["n_labeled=5", "n_labeled=10"]
    summaries = [s for s in CURVE.aggregate() if s.method == "SVM" and s.setting["n_labeled"] == 10]
    container = next(c for c in figure.axes[1].containers if c.get_label() == "SVM")
    line, _, (bars,) = container.lines
    np.testing.assert_array_equal(line.get_xdata(), [0, 25, 50])
    np.testing.assert_allclose(np.asarray(line.get_ydata(), dtype=float), [100 * s.mean for s in summaries])
    heights = [segment[1, 1] - segment[0, 1] for segment in bars.get_segments()]
    np.testing.assert_allclose(heights, [200 * s.standard_error for s in summaries])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["HMM", "SVM", "HMM (published)", "CRF (published)"]


def test_methods_beside_each_other():
    figure = plot_results(FLAT, "token_error", published=PUBLISHED[1:2])
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["HMM", "SVM", "CRF"]
    assert axes.get_xlabel() == "token error (%)"


def test_plot_bytes_repeat_and_differ_for_dark_pages():
    curve = CURVE.where(n_labeled=5)  # one panel
    light, again, dark = (
        figure_bytes(plot_results(curve, "token_error", "m", dark=d), "svg") for d in (False, False, True)
    )
    assert light == again != dark
    assert figure_bytes(plot_results(FLAT, "token_error")).startswith(b"\x89PNG")


def test_plot_errors():
    with pytest.raises(InputError, match="hold no value of metric 'rmse'; they have token_error"):
        plot_results(FLAT, "rmse")
    with pytest.raises(InputError, match="x='m' must be a numeric setting, but it is None"):
        plot_results(FLAT, "token_error", "m")


# ------------------------------------------------------------------------------------------------------------- report
class Page(HTMLParser):
    """Collects attributes that could load something, and checks that tags nest."""

    VOID = ("meta", "img", "source", "br", "link")

    def __init__(self, text):
        super().__init__()
        self.open, self.sources, self.text = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.sources += [v for k, v in attributes if k in ("src", "srcset", "href", "action", "data")]
        assert tag not in ("script", "link", "iframe")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_report_is_self_contained_and_escaped(tmp_path):
    paths = write_report(
        tmp_path / "out",
        "Genes <b> & more",
        CURVE,
        x="m",
        baseline="HMM",
        published=PUBLISHED,
        description="What & why",
        notes=["ours < theirs"],
        command="accord reproduce genes --quick",
        seed=3,
        date="2024-01-02",
        details={"data": "toy <set>"},
    )
    text = paths.html.read_text(encoding="utf-8")
    page = Page(text)
    assert len(page.sources) == 2
    for source in page.sources:
        kind, _, data = source.partition(",")
        assert kind == "data:image/svg+xml;base64"
        assert ElementTree.fromstring(base64.b64decode(data)).tag.endswith("svg")
    assert not re.search(r"url\(|@import", text)
    words = " ".join(page.text)
    for expected in (
        "Genes <b> & more",
        "ours < theirs",
        "accord reproduce genes --quick",
        "2024-01-02",
        "23.59",
    ):
        assert expected in words
    assert re.search(r"Python \d+\.\d+.*numpy \d", words)
    assert "prefers-color-scheme: dark" in text
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "report.html",
        "report.md",
        "results.csv",
        "token_error.png",
    ]
    markdown = paths.markdown.read_text(encoding="utf-8")
    assert "![token error](token_error.png)" in markdown
    assert "- seed: 3" in markdown
    assert "SVM − HMM, n_labeled=5, m=0" in markdown
    assert Results.load(paths.csv).rows == CURVE.rows


def test_report_without_date_repeats_byte_for_byte(tmp_path):
    one, two = (write_report(tmp_path / name, "t", FLAT, baseline="HMM") for name in "ab")
    assert one.html.read_bytes() == two.html.read_bytes()
    assert one.plots[0].read_bytes() == two.plots[0].read_bytes()


def test_empty_results_are_refused(tmp_path):
    with pytest.raises(InputError, match="nothing to report"):
        write_report(tmp_path, "t", Results([]))
    assert not list(tmp_path.iterdir())


def test_values_that_are_missing_show_as_a_dash(tmp_path):
    rows = [r | {"value": math.nan} if r["method"] == "SVM" else r for r in FLAT.rows]
    assert results_table(Results(rows), "token_error").rows[1][1] == "–"
    write_report(tmp_path, "t", Results(rows))


def test_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    target = write_file(tmp_path / "f.txt", "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_file(target, "new")
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["f.txt"]
