"""Pairs of methods over settings, lines on logarithmic axes, and figures of one's own in reports."""

import numpy as np
import pytest

from accord.evaluation import Results, figure_bytes, write_report
from accord.evaluation.panels import Line, plot_lines, plot_pairs
from accord.evaluation.plots import legend_below, panel_grid
from accord.exceptions import InputError


def results():
    rows = []
    for data, one, two in (("a", 1.0, 2.0), ("b", 4.0, 3.0)):
        for kind, plus in (("raw", 0.0), ("scaled", 10.0)):
            for method, value in (("one", one), ("two", two)):
                head = {"experiment": "e", "method": method, "data": data, "kind": kind, "metric": "rmse"}
                rows += [
                    {**head, "repetition": k, "value": value + plus + s, "seconds": 0.0}
                    for k, s in enumerate((-0.1, 0.1))
                ]
    return Results(rows)


def points(axes):
    line = axes.containers[0].lines[0]
    return sorted(zip(line.get_xdata(), line.get_ydata()))


def test_a_point_for_each_setting_and_a_row_for_each_value():
    figure = plot_pairs(results(), "rmse", [("one", "two"), ("two", "one")], rows="kind")
    raw, turned, scaled, _ = figure.axes
    assert points(raw) == [(pytest.approx(1.0), pytest.approx(2.0)), (pytest.approx(4.0), pytest.approx(3.0))]
    assert points(turned) == [(y, x) for x, y in points(raw)] or sorted((y, x) for x, y in points(raw)) == points(
        turned
    )
    assert points(scaled)[0] == (pytest.approx(11.0), pytest.approx(12.0))
    assert (raw.get_xlabel(), raw.get_ylabel(), raw.get_title(loc="left")) == ("one", "two", "kind=raw")
    assert raw.get_xlim() == raw.get_ylim()
    assert raw.get_xlim()[1] > 4.1  # with its error bar
    diagonal = raw.lines[-1]
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())


def test_without_rows_every_setting_is_a_point():
    figure = plot_pairs(results(), "rmse", [("one", "two")])
    assert len(points(figure.axes[0])) == 4
    with pytest.raises(InputError, match="no value of metric 'accuracy'; they have rmse"):
        plot_pairs(results(), "accuracy", [("one", "two")])


def test_lines_in_panels_with_one_look_for_a_name():
    line = Line([1, 10, 100], [1.0, 0.1, 0.01])
    figure = plot_lines({"A": {"x": line, "y": line}, "B": {"y": line}, "C": {"x": line}}, "m", "s", 2, log_x=True)
    a, b, c, empty = figure.axes
    assert not empty.get_visible()
    assert {axes.get_yscale() for axes in (a, b, c)} == {axes.get_xscale() for axes in (a, b, c)} == {"log"}
    assert a.lines[1].get_color() == b.lines[0].get_color() != c.lines[0].get_color()
    assert [axes.get_title(loc="left") for axes in (a, b, c)] == ["A", "B", "C"]
    with pytest.raises(InputError, match="panels is empty"):
        plot_lines({}, "m", "s")


def test_a_figure_takes_the_place_of_the_usual_plot(tmp_path):
    drawn = []

    def figure(dark):
        drawn.append(dark)
        return plot_lines({"": {"x": Line([1, 2], [1.0, 2.0])}}, "m", "s", dark=dark)

    own = write_report(tmp_path, "t", results(), figures={"rmse": figure})
    assert drawn == [False, True]
    assert own.plots[0].name == "rmse.png"
    assert own.plots[0].read_bytes() == figure_bytes(figure(False))


def test_a_legend_has_so_few_columns_that_it_fits():
    names = ["the right topic", "another topic of its branch", "the wrong branch"]
    for width, most in ((5.6, 2), (12.0, 3)):
        figure, (axes,) = panel_grid(1, 1, (width, 3.0), (0.0, 0.0))
        bars = [axes.bar(i, 1.0) for i in range(3)]
        legend_below(figure, bars, names, 3)
        figure.draw_without_rendering()
        (legend,) = figure.legends
        assert len({text.get_window_extent().x0 for text in legend.get_texts()}) == most
        assert legend.get_window_extent().width <= figure.bbox.width
