"""Plain tokenised text: one sentence per line, tokens separated by blanks."""

from __future__ import annotations

from collections.abc import Iterator

from accord.datasets.formats.source import Source, iter_lines, split_blanks


def iter_text(source: Source, encoding: str = "utf-8") -> Iterator[list[str]]:
    """Yield the tokens of each line; an empty line yields an empty list, so outputs stay aligned with lines.

    Parameters
    ----------
    source : path, "-" or open file
        ``"-"`` is standard input; gzip is recognised.
    encoding : str
        Encoding of binary input.

    Examples
    --------
    >>> import io
    >>> list(iter_text(io.StringIO("Tom comes from London .\\n\\nAna too\\n")))
    [['Tom', 'comes', 'from', 'London', '.'], [], ['Ana', 'too']]
    """
    for line in iter_lines(source, encoding):
        yield split_blanks(line)
