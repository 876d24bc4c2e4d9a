"""The picture of the README is drawn from results."""

import pytest
from docs import pictures

from accord.evaluation import Results


@pytest.fixture
def folder(tmp_path):
    """Results of two draws, in which a method errs the more, the later it stands in its line."""
    for panel in pictures.PANELS:
        setting = {"data": panel.data} if panel.data else {}
        Results(
            {"experiment": panel.experiment, "method": method, "n_labeled": n, "repetition": k, "seconds": 0.0,
             "metric": metric, "value": 0.1 + 0.1 * place + 0.01 * k, **setting}
            for methods in panel.lines.values()
            for place, method in enumerate(methods)
            for n in (4, 10, 40)
            for k in (0, 1)
            for metric in (panel.metric, "other")
        ).to_csv(tmp_path / panel.experiment / "results.csv")  # fmt: skip
    return tmp_path


def test_a_line_has_the_best_of_its_methods(folder):
    panel = pictures.PANELS[0]
    results = Results.load(folder / panel.experiment / "results.csv")
    methods = panel.lines[pictures.ALONE]
    found = pictures.best(results, panel, methods)
    assert [(s.method, s.setting["n_labeled"], s.metric) for s in found] == [
        (methods[0], n, panel.metric) for n in (4, 10, 40)
    ]
    assert found[0].mean == pytest.approx(0.105)
    others = pictures.best(results, panel._replace(data="elsewhere"), methods)
    assert others == []


def test_every_colour_has_a_dark_counterpart(folder):
    """Drawn for a dark page, the picture has the colours that the style of the light one puts in their place."""
    light, dark = (pictures.draw(folder, is_dark).decode() for is_dark in (False, True))
    page = pictures.themed(light)
    assert page.count("prefers-color-scheme") == 1
    for before, after in zip(pictures.colours(False), pictures.colours(True)):
        assert before in light
        assert after in dark
        assert f'"fill: {before}"]{{fill:{after}!important}}' in page
        assert f'"stroke: {before}"]{{stroke:{after}!important}}' in page
