"""Can one read it? ``python docs/looks.py build/docs`` looks at pages in Chromium, light and dark, wide and narrow.

Measured, not looked at: the contrast of every text that is visible (at least 4.5), texts that are cut off or lie on
each other, pages that are wider than their window. It takes playwright and Chromium, and says so where there is none.
The labeling page and the demo's report are looked at in the same way, by the tests.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# One page of every kind.
PAGES = (
    "index", "which", "guide", "experiments", "search", "tutorials/tagger", "tutorials/label", "auto_gallery/index",
    "auto_gallery/plot_01_entities", "auto_gallery/plot_14_tree", "api/index", "api/names/accord.StructuredPerceptron",
)  # fmt: skip
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
WIDTHS = (1280, 390)  # a desk, a phone
_PATIENCE = 300_000.0  # milliseconds: the machine may be busy
_LOOK = Path(__file__).with_suffix(".js").read_text("utf-8")


def can_look() -> bool:
    """Whether playwright and Chromium are there."""
    return CHROMIUM is not None and find_spec("playwright") is not None


def faults(page: Any) -> Iterator[str]:
    """What is hard to read on a page of playwright's that is open, light and dark, on a desk and on a phone."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            for fault in page.evaluate(_LOOK):
                yield f"{scheme}, {width} px: {fault}"


@contextmanager
def opened() -> Iterator[Any]:
    """An empty page of a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=_PATIENCE)
        page = browser.new_page()
        page.set_default_timeout(_PATIENCE)
        yield page
        browser.close()


def faults_of(files: Iterable[Path]) -> list[str]:
    """The same of files."""
    found = []
    with opened() as page:
        for file in files:
            page.goto(file.resolve().as_uri())
            found += [f"{file}, {fault}" for fault in faults(page)]
    return found


def main(folder: str, *names: str) -> int:
    """Say what is hard to read on pages of a site, by default on one of every kind; 1 if there is something."""
    if not can_look():
        print("nobody looked at the pages: that takes playwright, and Chromium (Debian's package chromium)")
        return 0
    found = faults_of(Path(folder, f"{name}.html") for name in names or PAGES)
    for fault in found:
        print(fault)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
