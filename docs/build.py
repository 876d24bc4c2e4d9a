"""Render the documentation to HTML and check its links: ``python docs/build.py build/docs``.

Pages are ``docs/**/*.md`` and the Markdown files at the top of the repository. A link to a page goes to its
HTML, a link to another file of the repository takes a copy along, and a link to nothing is an error.
"""

import copy
import html
import os
import re
import shutil
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent
NAVIGATION = ["README.md", "docs/index.md", "CHANGELOG.md"]
STYLE = """
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.55 system-ui, sans-serif; color: #1f2328; }
nav { border-bottom: 1px solid #d0d7de; padding-bottom: .5rem; } nav a { margin-right: 1.2rem; }
pre { background: #f6f8fa; padding: .8rem 1rem; overflow-x: auto; border-radius: 6px; }
img { max-width: 100%; }
code { font: .9em ui-monospace, monospace; } :not(pre) > code { background: #f6f8fa; padding: .1em .3em; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid #d0d7de; padding: .3rem .6rem; text-align: left; } a { color: #0550ae; }
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{style}</style></head>
<body><nav>{navigation}</nav>
<main>
{body}</main></body></html>
"""


def slug(heading: str) -> str:
    """The anchor of a heading, as Git hosts make it: ``What is y?`` becomes ``what-is-y``."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


class Site:
    """The pages below ``root``, parsed once, and the problems found while rendering them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        sources = sorted(root.glob("*.md")) + sorted((root / "docs").rglob("*.md"))
        self.tokens = {path: self.markdown.parse(path.read_text("utf-8")) for path in sources}
        self.anchors = {path: set(self._mark_headings(tokens)) for path, tokens in self.tokens.items()}
        self.files: dict[Path, Path] = {}  # a file that a page links to -> its place in the site
        self.problems: list[str] = []

    @staticmethod
    def _mark_headings(tokens: list[Token]) -> Iterator[str]:
        """Give every heading the id that links to it use; yields the ids."""
        seen: dict[str, int] = {}
        for opening, inline in pairwise(tokens):
            if opening.type == "heading_open":
                text = "".join(t.content for t in inline.children or [] if t.type in ("text", "code_inline"))
                name = slug(text)
                seen[name] = seen.get(name, -1) + 1
                opening.attrSet("id", name if seen[name] == 0 else f"{name}-{seen[name]}")
                yield str(opening.attrGet("id"))

    def place(self, source: Path) -> Path:
        """Where a page lies in the site: ``docs/`` is its top, files from above keep their own name."""
        base = self.root / "docs" if source.is_relative_to(self.root / "docs") else self.root
        return source.relative_to(base).with_suffix(".html")

    def resolve(self, page: Path, target: str) -> str:
        """The address in the site of a link in ``page``; notes a problem if it leads nowhere."""
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            return target
        name, _, anchor = unquote(target).partition("#")
        path = (page.parent / name).resolve() if name else page
        if path in self.tokens:
            if anchor and anchor not in self.anchors[path]:
                self.problems.append(f"{page.relative_to(self.root)}: no heading '#{anchor}' in {path.name}")
            place = self.place(path)
        elif path.is_file() and path.is_relative_to(self.root):
            place = self.files[path] = Path("files") / path.relative_to(self.root)
        else:
            self.problems.append(f"{page.relative_to(self.root)}: the link '{target}' leads to no file")
            return target
        relative = os.path.relpath(place, self.place(page).parent)
        return relative + ("#" + anchor if anchor else "")

    def render(self, page: Path) -> str:
        """The HTML of one page, its links turned into links within the site."""
        tokens = copy.deepcopy(self.tokens[page])  # links are rewritten in place
        for token in (child for t in tokens for child in t.children or []):
            for attribute in ("href", "src"):
                if token.attrGet(attribute) is not None:
                    token.attrSet(attribute, self.resolve(page, str(token.attrGet(attribute))))
        others = [self.root / name for name in NAVIGATION if self.root / name in self.tokens]
        links = [(self.resolve(page, os.path.relpath(other, page.parent)), other.stem) for other in others]
        headings = (after.content for t, after in pairwise(tokens) if t.type == "heading_open")
        return PAGE.format(
            title=html.escape(next(headings, page.stem)),
            style=STYLE,
            navigation="".join(f'<a href="{address}">{name}</a>' for address, name in links),
            body=self.markdown.renderer.render(tokens, self.markdown.options, {}),
        )

    def write(self, target: Path) -> None:
        """Write all pages, and the files they link to, into the folder ``target``."""
        for page in self.tokens:
            place = target / self.place(page)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(self.render(page), "utf-8")
        for source, relative in self.files.items():
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target / relative)


def main(target: str) -> int:
    site = Site(ROOT)
    site.write(Path(target))
    for problem in site.problems:
        print(problem, file=sys.stderr)
    if not site.problems:
        print(f"{len(site.tokens)} pages in {target}, all links lead somewhere; start at {target}/index.html")
    return 1 if site.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "build/docs"))
