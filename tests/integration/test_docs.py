"""The documentation is true: its Python blocks run and its links lead somewhere."""

import re
from pathlib import Path

import pytest
from docs.build import Site

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def with_blocks() -> list[Path]:
    return [page for page in PAGES if BLOCK.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", with_blocks(), ids=lambda page: str(page.relative_to(ROOT)))
def test_python_blocks_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        # Blank lines in front: a traceback then tells the line of the page.
        exec(compile("\n" * line + block[1], str(page), "exec"), namespace)


def test_the_readme_has_a_block_to_run():
    assert ROOT / "README.md" in with_blocks()


def test_all_links_lead_somewhere(tmp_path):
    site = Site(ROOT)
    site.write(tmp_path / "site")
    assert site.problems == []
    assert (tmp_path / "site" / "index.html").is_file()


def test_dead_links_are_reported_and_live_ones_rewritten(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "LICENSE").write_text("free")
    (tmp_path / "README.md").write_text("# Top\n[map](docs/a.md#one-two) [law](LICENSE) [away](https://example.org/)")
    (tmp_path / "docs" / "a.md").write_text("## One, two\n[up](../README.md) [gone](b.md) [nowhere](#three)")
    site = Site(tmp_path)
    site.write(tmp_path / "site")
    assert len(site.problems) == 2
    assert "docs/a.md" in site.problems[0]
    assert "'b.md'" in site.problems[0]
    assert "#three" in site.problems[1]
    top = (tmp_path / "site" / "README.html").read_text()
    assert 'href="a.html#one-two"' in top
    assert 'href="files/LICENSE"' in top
    assert 'href="https://example.org/"' in top
    assert (tmp_path / "site" / "files" / "LICENSE").read_text() == "free"
    assert 'href="README.html"' in (tmp_path / "site" / "a.html").read_text()
