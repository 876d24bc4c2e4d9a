"""Sentences, records and trees as HTML that brings its own style: for notebooks, and pages of your own.

Boxes have a light ground and dark letters of their own, so they are readable on light and on dark pages.
"""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from accord.datasets.label_spans import extract_spans
from accord.evaluation.report import html_page
from accord.evaluation.tree_drawing import draw_svg
from accord.exceptions import InputError
from accord.files import write_file
from accord.tokenizer import tokenize

_GROUNDS = ("#c5e1f5", "#ffd9b8", "#bfe8d4", "#f2cfe3", "#f6e3ae", "#d8d3f3", "#dcdcdc")
_INK = "#1b1b1b"
_SURE = np.array([0x7F, 0xC1, 0xEE])  # the ground of a cell whose label is certain; white is impossible
_BOX = f"color:{_INK};border-radius:.35em;padding:.15em .4em;white-space:nowrap"
_SCROLL = '<div style="overflow-x:auto">'
_CELL = "text-align:left;padding:.25em .6em;border-bottom:1px solid #8886"


class Html:
    """A picture in HTML. Notebooks show it; `save` writes it as a page; ``str`` is its source.

    Examples
    --------
    >>> from accord import plots
    >>> picture = plots.Html("<b>hello</b>")
    >>> print(picture)
    <b>hello</b>
    """

    def __init__(self, markup: str) -> None:
        self.markup = markup

    def _repr_html_(self) -> str:
        return self.markup

    def __str__(self) -> str:
        return self.markup

    def __repr__(self) -> str:
        return f"<Html, {len(self.markup):,} characters: show it in a notebook, or save(path)>"

    def save(self, path: str | Path, title: str = "Accord") -> Path:
        """Write a page that needs nothing else, and return its path.

        >>> import os, tempfile
        >>> from accord import plots
        >>> plots.tree("(S (N dogs) (V bark))").save(os.path.join(tempfile.mkdtemp(), "dogs.html")).name
        'dogs.html'
        """
        return write_file(path, html_page(title, self.markup))


def entities(sentences: Sequence[Any], found: Sequence[Any]) -> Html:
    """Names marked in their sentences.

    Parameters
    ----------
    sentences : list of str, or list of token lists
    found : list
        For each sentence its labels (IOB2, BIOES or plain), as `predict` gives them; or for a string its spans
        ``(start, end, kind)`` of characters, as `predict_spans` gives them.

    Returns
    -------
    Html

    Examples
    --------
    >>> import os, tempfile
    >>> from accord import plots
    >>> picture = plots.entities(["Ana left Rome."], [[(0, 3, "PER"), (9, 13, "LOC")]])
    >>> picture.save(os.path.join(tempfile.mkdtemp(), "names.html")).name
    'names.html'
    >>> same = plots.entities([["Ana", "left", "Rome"]], [["B-PER", "O", "B-LOC"]])
    >>> "Rome" in str(same)
    True
    """
    _same_length(sentences, found, "sentences", "found")
    pieces = [_pieces(sentence, given, i) for i, (sentence, given) in enumerate(zip(sentences, found))]
    colour = _colours(kind for sentence in pieces for _, kind in sentence if kind)
    marked = ("".join(_marked(text, kind, colour) for text, kind in sentence) for sentence in pieces)
    return Html("\n".join(f'<p style="line-height:2.2;margin:.2em 0">{line}</p>' for line in marked))


def _marked(text: str, kind: str, colour: Mapping[str, str]) -> str:
    if not kind:
        return html.escape(text)
    small = f'<small style="font-weight:700;letter-spacing:.03em">{html.escape(kind)}</small>'
    return f'<mark style="{_BOX};background:{colour[kind]}">{html.escape(text)} {small}</mark>'


def _pieces(sentence: Any, found: Any, i: int) -> list[tuple[str, str]]:
    """Stretches of text, each with the kind of name that it is, or with nothing."""
    if isinstance(sentence, str) and all(isinstance(span, tuple) and len(span) == 3 for span in found):
        return _cut(sentence, [(int(start), int(end), str(kind)) for start, end, kind in found], i)
    tokens = tokenize(sentence) if isinstance(sentence, str) else list(sentence)
    _same_length(tokens, found, f"sentences[{i}]", f"found[{i}]")
    places, text = [], ""
    for token in tokens:
        text += " " if text else ""
        places.append((len(text), len(text) + len(token)))
        text += token
    spans = extract_spans([str(label) for label in found])
    return _cut(text, [(places[start][0], places[stop - 1][1], kind) for kind, start, stop in spans], i)


def _cut(text: str, spans: list[tuple[int, int, str]], i: int) -> list[tuple[str, str]]:
    pieces, end = [], 0
    for start, stop, kind in sorted(spans):
        if not end <= start < stop <= len(text):
            raise InputError(f"found[{i}]: the span {(start, stop, kind)} overlaps another one or is not in the text")
        pieces += [(text[end:start], ""), (text[start:stop], kind)]
        end = stop
    return [*pieces, (text[end:], "")]


def marginals(model: Any, sentence: Any, least: float = 0.02) -> Html:
    """How sure a model is: the probability of every label for every word of a sentence.

    Parameters
    ----------
    model : fitted learner of sequences with `predict_marginals`, such as `CRF`, or a part of one
    sentence : str or list of tokens
    least : float
        Labels that no word has with at least this probability are left out.

    Returns
    -------
    Html

    Examples
    --------
    >>> from accord import CRF, Sequence, plots
    >>> model = CRF(Sequence()).fit([["Ana", "left"], ["Tom", "stays"]], [["PER", "O"], ["PER", "O"]])
    >>> picture = plots.marginals(model, "Eva left")
    >>> str(picture).count("<tr>")
    3
    """
    if not hasattr(model, "predict_marginals"):
        raise InputError(f"model: {type(model).__name__} has no predict_marginals; take a CRF or an HMM")
    table = np.asarray(model.predict_marginals([sentence])[0])
    tokens = tokenize(sentence) if isinstance(sentence, str) else list(sentence)
    _same_length(tokens, table, "sentence", "its tokens in the model")
    labels = [str(label) for label in model.structure_.labels_]
    head = "".join(f'<th style="{_CELL}">{html.escape(str(token))}</th>' for token in tokens)
    rows = []
    for k in [k for k in np.argsort(-table.max(axis=0), kind="stable") if table[:, k].max() >= least]:
        cells = "".join(_probability(p) for p in table[:, k])
        rows.append(f'<tr><th style="{_CELL}">{html.escape(labels[k])}</th>{cells}</tr>')
    return Html(
        f'{_SCROLL}<table style="border-collapse:collapse"><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _probability(p: float) -> str:
    ground = "#" + "".join(f"{round(255 - p * (255 - part)):02x}" for part in _SURE)
    shown = f"{100 * p:.0f} %" if p >= 0.005 else ""
    return f'<td style="{_CELL};text-align:right;background:{ground};color:{_INK}">{shown}</td>'


def clusters(records: Any, ids: Sequence[Any], limit: int = 10, singles: bool = False) -> Html:
    """Records that belong together, cluster by cluster, the largest first.

    Parameters
    ----------
    records : list of dicts, of strings or of rows; or a DataFrame
    ids : list
        The cluster of each record, as `Deduplicator.predict` gives them.
    limit : int
        Clusters to show.
    singles : bool
        Whether to show records that are alone, too.

    Returns
    -------
    Html

    Examples
    --------
    >>> from accord import plots
    >>> people = [{"name": "Ana Ruiz"}, {"name": "A. Ruiz"}, {"name": "Tom Hay"}]
    >>> picture = plots.clusters(people, [0, 0, 1])
    >>> "Ana Ruiz" in str(picture), "Tom Hay" in str(picture)
    (True, False)
    """
    rows = [_fields(record) for record in (records.to_dict("records") if hasattr(records, "to_dict") else records)]
    _same_length(rows, ids, "records", "ids")
    members = defaultdict(list)
    for row, one in zip(rows, ids):
        members[one].append(row)
    shown = sorted((m for m in members.values() if singles or len(m) > 1), key=len, reverse=True)[:limit]
    names = list(dict.fromkeys(name for group in shown for row in group for name in row))
    body = []
    for k, group in enumerate(shown):
        ground = f"background:{_GROUNDS[k % len(_GROUNDS)]};color:{_INK}"
        for row in group:
            cells = "".join(f'<td style="{_CELL};{ground}">{html.escape(_said(row.get(name)))}</td>' for name in names)
            body.append(f"<tr>{cells}</tr>")
        body.append(f'<tr><td colspan="{max(len(names), 1)}" style="height:.6em;border:0"></td></tr>')
    head = "".join(f'<th style="{_CELL}">{html.escape(name)}</th>' for name in names)
    return Html(
        f'{_SCROLL}<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _fields(record: Any) -> dict[str, Any]:
    if isinstance(record, Mapping):
        return {str(name): value for name, value in record.items()}
    if isinstance(record, str) or not isinstance(record, Iterable):
        return {"record": record}
    return {str(k): value for k, value in enumerate(record)}


def _said(value: Any) -> str:
    return "–" if value is None or value != value else str(value)  # nan is not itself


def tree(tree: Any) -> Html:
    """A parse tree as a drawing.

    Parameters
    ----------
    tree : nested list or bracketed string, as `predict` of a parser gives it

    Returns
    -------
    Html

    Examples
    --------
    >>> from accord import plots
    >>> str(plots.tree("(S (N dogs) (V bark))"))[:40]
    '<div style="overflow-x:auto"><svg xmlns='
    """
    return Html(f"{_SCROLL}{draw_svg(tree)}</div>")


def _colours(kinds: Iterable[str]) -> dict[str, str]:
    return {kind: _GROUNDS[k % len(_GROUNDS)] for k, kind in enumerate(sorted(set(kinds)))}


def _same_length(one: Any, other: Any, name: str, other_name: str) -> None:
    if isinstance(one, str) or len(one) != len(other):
        told = "a single string" if isinstance(one, str) else f"{len(one)} long"
        raise InputError(f"{name} is {told} and {other_name} {len(other)} long; give a list with one entry each")
