"""The documentation is true: its Python blocks run and its links lead somewhere."""

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from cli_helpers import run
from docs.build import Site

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


# Blocks say as much with fewer examples: what they are run with instead.
SMALLER = {
    "semi-supervised.md": {
        "embedded_ner(300, random_state=0)": "embedded_ner(60, random_state=0)",
        "embedded_ner(100, random_state=1)": "embedded_ner(30, random_state=1)",
        "[None] * 285": "[None] * 45",
    },
}


def with_blocks() -> list[Path]:
    return [page for page in PAGES if BLOCK.search(page.read_text("utf-8"))]


@pytest.mark.parametrize(
    "page", [page for page in with_blocks() if page.name != "README.md"], ids=lambda page: str(page.relative_to(ROOT))
)  # the README has a test of its own
def test_python_blocks_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    for said, instead in SMALLER.get(page.name, {}).items():
        assert said in text
        text = text.replace(said, instead)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        # Blank lines in front: a traceback then tells the line of the page.
        exec(compile("\n" * line + block[1], str(page), "exec"), namespace)


def test_the_readme_has_a_block_to_run():
    assert ROOT / "README.md" in with_blocks()


FENCE = re.compile(r"^```(\w*) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def command_output(line: str) -> str:
    """What a line of a shell prints, the time that it took left out; ``echo "text" | accord ...`` is the only pipe."""
    words = shlex.split(line)
    stdin = None
    if words[0] == "echo":
        stdin, words = words[1] + "\n", words[3:]
    assert words[0] == "accord"
    return run(*words[1:], stdin=stdin).output


def without_times(text: str) -> list[str]:
    lines = (re.sub(r"\d+\.\d s\b", "0.0 s", line) for line in text.splitlines())
    return [line for line in lines if not line.startswith("compiling kernels")]


def test_the_readme_prints_what_it_says(tmp_path, monkeypatch):
    """Files are written, Python and ``accord`` are run, and the block of text after these is what they printed."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed, n_checked = "", 0
    for language, name, body in FENCE.findall((ROOT / "README.md").read_text("utf-8")):
        if language == "csv":
            Path(name).write_text(body)
        elif language == "python":
            with redirect_stdout(StringIO()) as out:
                exec(body, namespace)
            printed = out.getvalue()
        elif language == "sh" and "accord train" in body:
            printed = "".join(map(command_output, body.splitlines()))
        elif language == "text":
            assert without_times(printed) == without_times(body)
            n_checked += 1
    assert n_checked == 5


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
