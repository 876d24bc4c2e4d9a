"""The blocks of a page, run from top to bottom; ``python docs/blocks.py docs/guide.md`` writes down what they print.

- ``csv`` or ``text`` with the name of a file: the file is written.
- ``python``: is run, with the names that the blocks before it made.
- ``sh`` with a block ``text`` right below: its ``accord`` commands are run.

A block ``text`` right below one that was run is what that one prints. Times may differ, and numbers by a little: sums
of many numbers depend on how a machine adds them up.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

_FENCE = re.compile(r"^```(\w*) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?")
_TIME = re.compile(r"\d+\.\d s\b")


class Block(NamedTuple):
    """A block that was run: what it printed, what the page says, and where that stands in the page."""

    line: int
    printed: str
    said: str | None
    end: int  # of the block
    place: slice  # of what the page says


def run_page(page: Path, text: str | None = None) -> Iterator[Block]:
    """Run the blocks of a page in the current folder."""
    text = page.read_text("utf-8") if text is None else text
    namespace: dict[str, object] = {"__name__": "__main__"}
    for fence, below in fences(text):
        language, name, body = fence.groups()
        line = text.count("\n", 0, fence.start(3))
        if name and language in ("csv", "text"):
            Path(name).write_text(body, "utf-8")
        elif language == "python":
            with redirect_stdout(StringIO()) as out:
                # Blank lines in front: a traceback then names the line of the page.
                exec(compile("\n" * line + body, str(page), "exec"), namespace)
            printed = out.getvalue()
        elif language == "sh" and below:
            printed = "".join(_command(command) for command in body.splitlines() if command)
        if (language == "python" and not name) or (language == "sh" and below):
            place = slice(*below.span(3)) if below else slice(0)
            yield Block(line, tidy(printed), below[3] if below else None, fence.end(), place)


def fences(text: str) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    """The blocks of a page (language, name of a file, body), and with each the one right below that it prints."""
    found = list(_FENCE.finditer(text))
    for fence, after in zip(found, [*found[1:], None]):
        follows = after and after[1] == "text" and not after[2] and not text[fence.end() : after.start()].strip()
        yield fence, after if follows else None


def _command(line: str) -> str:
    """What a line of a shell prints; ``echo "text" | accord ...`` is the only pipe, and ``cat file`` shows a file."""
    from click.testing import CliRunner

    from accord.cli import main

    words = shlex.split(line, comments=True)
    stdin = None
    if words[0] == "cat":
        return Path(words[1]).read_text("utf-8")
    if words[0] == "echo":
        stdin, words = words[1] + "\n", words[3:]
    target = None
    if ">" in words:
        words, target = words[: words.index(">")], words[words.index(">") + 1]
    if words[0] != "accord":
        raise ValueError(f"only accord can be run, not {line!r}")
    result = CliRunner().invoke(main, words[1:], input=stdin, catch_exceptions=False)
    if result.exit_code:
        raise ValueError(f"{line!r} failed: {result.output}")
    if target is not None:
        Path(target).write_text(result.stdout, "utf-8")
        return result.stderr
    return result.output


def tidy(printed: str) -> str:
    """Without lines about compiling, and blanks at the ends of lines."""
    lines = (line.rstrip() for line in printed.splitlines() if not line.startswith("compiling kernels"))
    return "".join(f"{line}\n" for line in lines)


def slug(heading: str) -> str:
    """The anchor of a heading, as Git hosts make it: ``What is y?`` becomes ``what-is-y``."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def differs(printed: str, said: str) -> str:
    """What is different, or nothing."""
    one, other = (_TIME.sub("0.0 s", text).splitlines() for text in (printed, said))
    if len(one) != len(other):
        return f"{len(other)} lines are said and {len(one)} printed:\n{printed}"
    for a, b in zip(one, other):
        if _NUMBER.sub("#", a) != _NUMBER.sub("#", b) or not all(map(_close, _NUMBER.findall(a), _NUMBER.findall(b))):
            return f"said:    {b}\nprinted: {a}"
    return ""


def _close(one: str, other: str) -> bool:
    a, b = (float(text.replace(",", "")) for text in (one, other))
    return abs(a - b) <= max(0.03 * max(abs(a), abs(b)), 0.02 if "." in one + other else 0.0)


def rewrite(page: Path) -> None:
    """Put what blocks print below them."""
    text = page.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        blocks = list(run_page(page, text))
    for block in reversed(blocks):
        if block.said is not None and differs(block.printed, block.said):
            text = text[: block.place.start] + block.printed + text[block.place.stop :]
        elif block.said is None and block.printed:
            text = f"{text[: block.end]}\n\n```text\n{block.printed}```{text[block.end :]}"
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=lambda name: Path(os.path.abspath(name)))
    for page in parser.parse_args().pages:
        rewrite(page)
