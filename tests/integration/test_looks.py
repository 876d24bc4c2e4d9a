"""What is hard to read is found: little contrast (computed here, too), texts cut off or on each other, wide pages."""

import re

import pytest
from docs import looks

pytestmark = pytest.mark.skipif(not looks.can_look(), reason="playwright or Debian's package chromium is missing")
STYLE = "<style>body { background: #fff; color: #000 } @media (prefers-color-scheme: dark) { .p { color: #ddd } }"


def contrast(one: str, two: str) -> float:
    """The definition of the guidelines, of two colours ``#rrggbb``."""
    found = []
    for colour in (one, two):
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
        found.append(sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear)))
    return (max(found) + 0.05) / (min(found) + 0.05)


@pytest.fixture(scope="module")
def page():
    with looks.opened() as page:
        yield page


def seen(page, body):
    page.set_content(f"{STYLE}</style><h1>A title</h1>{body}")
    return list(looks.faults(page))


def test_contrast_is_that_of_the_guidelines(page):
    for ink, paper in (("#777777", "#ffffff"), ("#ff0000", "#000080"), ("#999999", "#222222"), ("#767676", "#ffffff")):
        found = seen(page, f'<p style="background: {paper}"><i style="color: {ink}">words</i></p>')
        shown = {re.search(r"contrast ([\d.]+) in i: \"words\"", one)[1] for one in found}
        true = contrast(ink, paper)
        assert shown == (set() if true >= 4.5 else {f"{true:.2f}"})
    # half of black on white, twice: by the colour, and by what is around it
    half = pytest.approx(contrast("#7f7f7f", "#ffffff"), abs=0.05)
    for faint in ('<p style="color: #00000080">words</p>', '<div style="opacity: 0.5"><p>words</p></div>'):
        assert [float(one.split()[4]) for one in seen(page, faint)] == [half] * 4
    assert len(seen(page, '<input placeholder="faint"><style>::placeholder { color: #aaa }</style>')) == 4
    assert [one[:4] for one in seen(page, '<p class="p">light grey</p>')] == ["dark", "dark"]
    hidden = '<p style="color: #eee; visibility: hidden">a</p><p style="color: #eee; display: none">b</p>'
    assert seen(page, f'{hidden}<svg><text y="9" fill="#000">c</text></svg>') == []


def test_what_is_cut_off_or_too_wide_or_on_something_else(page):
    cut = '<p style="overflow: hidden; width: 3em; white-space: nowrap">a sentence that nobody reads</p>'
    assert {one.split("px: ")[1][:7] for one in seen(page, cut)} == {"cut off"}
    assert seen(page, cut.replace("overflow", "text-overflow: ellipsis; overflow")) == []
    assert seen(page, cut.replace("hidden", "auto")) == []  # one can scroll
    over = '<p style="position: relative">one text<b style="position: absolute; left: 0">two text</b></p>'
    assert all("on top of each other" in one for one in seen(page, over))
    assert len(seen(page, over)) == 4
    wide = seen(page, '<p style="width: 800px">wide</p>')
    assert len(wide) == 2  # light and dark, on a phone
    assert all("390 px: wider than the window" in one for one in wide)
    assert seen(page, '<pre style="overflow-x: auto">' + 200 * "w" + "</pre>") == []
