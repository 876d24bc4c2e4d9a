"""The documentation is true: its blocks run and print what it says, and its links lead somewhere."""

import re
from pathlib import Path

import pytest
from docs import blocks

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"]
    if "auto_gallery" not in page.parts
)
LINK = re.compile(r"\]\(([^()\s]+)\)")


def with_blocks() -> list[Path]:
    return [page for page in PAGES if "```python\n" in page.read_text("utf-8")]


@pytest.mark.parametrize("page", with_blocks(), ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run_one_after_the_other_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks.run_page(page):
        if block.said is not None:
            assert not blocks.differs(block.printed, block.said), f"{page.name}, line {block.line}"


def test_pages_that_must_show_something_do():
    for name in (
        "README.md",
        "docs/index.md",
        *(f"docs/tutorials/{n}.md" for n in ("tagger", "table")),
    ):
        assert "\n```\n\n```text\n" in (ROOT / name).read_text("utf-8"), name


def test_differences_of_outputs():
    assert not blocks.differs("0.934 of 1,000 in 3.1 s\n", "0.935 of 1,000 in 0.2 s\n")
    assert blocks.differs("0.93\n", "0.80\n")
    assert blocks.differs("3 of 4\n", "4 of 4\n")
    assert blocks.differs("a\n", "a\nb\n")
    assert blocks.differs("['a']\n", "['b']\n")


def test_all_links_lead_somewhere():
    problems = []
    for page in PAGES:
        text = re.sub(r"^(```|~~~).*?^\1$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in LINK.findall(text):
            path, _, anchor = link.partition("#")
            if "://" in link or path.startswith(("mailto:", "auto_gallery/", "../auto_gallery/", "api/", "../api/")):
                continue  # elsewhere, or made by Sphinx, which checks these
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                problems.append(f"{page.name}: {link}")
            elif anchor and target.suffix == ".md":
                headings = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
                if anchor not in map(blocks.slug, headings):
                    problems.append(f"{page.name}: {link}")
    assert problems == []


def test_lines_of_the_documentation_can_be_read():
    """Tables need their long lines, as do blocks and links."""
    long = {
        f"{page.relative_to(ROOT)}: {line[:60]}"
        for page in PAGES
        for line in re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL).splitlines()
        if len(line) > 120 and not line.lstrip().startswith(("|", "![", "<"))
    }
    assert not long
