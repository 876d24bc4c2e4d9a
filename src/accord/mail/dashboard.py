"""What comes in now, for people: rates, the largest batches, and an example of each in which only the template is left.

Mail is private. Of an example only words are shown that all of the mails looked at have, at least two of a batch:
greetings, names and account numbers are what varies in a template. Addresses, links and digits are never shown. What is
kept are the first letters of one text of each batch, for so many batches, in memory alone.
"""

from __future__ import annotations

import html
import re
import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any

from accord.mail.message import Message
from accord.mail.report import clean

MOST_BATCHES = 1000  # that are remembered, those that had mail last
MINUTES = 60  # that rates are told of
SHOWN = 20  # batches
_LETTERS = 400  # of a text
_ENOUGH = 20  # mails of a batch, after which hardly a word of its template is taken for one that others lack
# What is in a word is looked for once from where the word begins, and not again from each of its letters.
_HIDDEN = re.compile(r"(?<!\S)(?:\S+@\S+|\S*://\S*|\S*\d\S*)|[wW]{3}\.\S+")
_WORD = re.compile(r"\w+")
GAP = "…"


@dataclass(slots=True)
class Template:
    """A batch, and of its first mail what others have, too."""

    batch: str
    subject: str = ""
    text: str = ""
    first: tuple[str, bytes] | None = None  # as they are until there is another mail: most stay alone
    size: int = 1
    n_seen: int = 1  # by us: a batch may be older
    last: float = 0.0
    score: float | None = None

    def narrow(self, message: Message) -> None:
        """Keep words that another mail has, too."""
        self.n_seen += 1
        if self.n_seen > _ENOUGH:
            return
        if self.first is not None:
            (self.subject, self.text), self.first = _sample(*self.first), None
        subject, text = _sample(*beginning(message))
        self.subject, self.text = _common(self.subject, subject), _common(self.text, text)


class Board:
    """What the dashboard tells; written by the thread that assigns mail, read by others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._templates: OrderedDict[str, Template] = OrderedDict()
        self._minutes: deque[list[int]] = deque(maxlen=MINUTES)  # minute, messages, messages that joined a batch

    def take(self, found: Any, score: float | None, now: float | None = None) -> None:
        """Another mail has been assigned; `found` is an `Assignment`."""
        now = time.time() if now is None else now
        message = getattr(found, "message", None)
        with self._lock:
            minute = int(now // 60)
            if not self._minutes or self._minutes[-1][0] < minute:
                self._minutes.append([minute, 0, 0])
            self._minutes[-1][1] += 1
            self._minutes[-1][2] += not found.is_new
            template = self._templates.pop(found.batch, None)
            if template is None:
                template = Template(found.batch, first=None if message is None else beginning(message))
            elif message is not None:
                template.narrow(message)
            template.size, template.last, template.score = found.size, now, score
            self._templates[found.batch] = template
            if len(self._templates) > MOST_BATCHES:
                self._templates.popitem(last=False)

    def rates(self, now: float | None = None) -> list[tuple[int, int, int]]:
        """For the last 1, 10 and 60 minutes: minutes, messages, and messages that joined a batch."""
        this = int((time.time() if now is None else now) // 60)
        with self._lock:
            minutes = [tuple(one) for one in self._minutes]
        spans = {span: [one for one in minutes if one[0] > this - span] for span in (1, 10, MINUTES)}
        return [(span, sum(n for _, n, _ in kept), sum(n for _, _, n in kept)) for span, kept in spans.items()]

    def largest(self) -> list[Template]:
        """Copies of the largest batches of two or more."""
        with self._lock:
            kept = sorted((t for t in self._templates.values() if t.size > 1), key=lambda t: (-t.size, -t.last))[:SHOWN]
            names = Template.__slots__
            return [Template(**{name: getattr(one, name) for name in names}) for one in kept]


def redacted(text: str) -> str:
    """A text without addresses, links and anything with a digit in it.

    >>> redacted("Dear ann@example.org, pay 300 $ at http://x.example/a")
    'Dear … pay … $ at …'
    """
    return _HIDDEN.sub(GAP, clean(text))


def beginning(message: Message) -> tuple[str, bytes]:
    """What is looked at of a message."""
    return message.subject[:_LETTERS], message.text[: 4 * _LETTERS]


def _sample(subject: str, text: bytes) -> tuple[str, str]:
    return redacted(subject), redacted(text.decode("utf-8", "replace"))[:_LETTERS]


def _common(text: str, other: str) -> str:
    """A text with gaps for the words that another one does not have."""
    known = set(_WORD.findall(other.lower()))
    with_gaps = _WORD.sub(lambda match: match[0] if match[0].lower() in known else GAP, text)
    return re.sub(rf"{GAP}(\s*{GAP})+", GAP, with_gaps)


# -- the page -------------------------------------------------------------------------------------------------------
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; } .facts { color: #555; }
table { border-collapse: collapse; } td, th { padding: .2rem .9rem .2rem 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } td { overflow-wrap: anywhere; }
small { color: #777; } @media (prefers-color-scheme: dark) { body { background: #1b1b1b; color: #ddd; } }
"""


def dashboard_page(board: Board, n_messages: int, n_batches: int, waiting: int, now: float | None = None) -> str:
    """The page: it loads and runs nothing, and asks for itself again every half minute."""
    now = time.time() if now is None else now
    rates = "".join(
        f'<tr><td>last {"minute" if span == 1 else f"{span} minutes"}</td><td class="n">{n:,}</td>'
        f'<td class="n">{n / span:,.1f}</td><td class="n">{100 * joined / n if n else 0:.0f} %</td></tr>'
        for span, n, joined in board.rates(now)
    )
    rows = "".join(_row(template, now) for template in board.largest())
    empty = "" if rows else "<p>No batch of two or more yet.</p>"
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="30">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Batches of mail now</title>
<style>{_STYLE}</style></head><body><h1>Batches of mail now</h1>
<p class="facts">{n_messages:,} messages in the window, {n_batches:,} batches, {waiting:,} messages waiting.</p>
<h2>Rates</h2><table>
<tr><th></th><th class="n">messages</th><th class="n">per minute</th><th class="n">joined a batch</th></tr>
{rates}</table>
<h2>Largest batches</h2>{empty}<table>
{'<tr><th class="n">size</th><th>batch</th><th>last</th><th class="n">score</th><th>template</th></tr>' if rows else ""}
{rows}</table></body></html>
"""


def _row(template: Template, now: float) -> str:
    def safe(text: str) -> str:
        return html.escape(text, quote=True)

    score = "" if template.score is None else f"{template.score:.2f}"
    example = f"<b>{safe(template.subject) or GAP}</b><br>{safe(template.text)}"
    if template.n_seen < 2:  # nothing is known to be of the template yet
        example = "<small>shown after its next message</small>"
    return (
        f'<tr><td class="n">{template.size:,}</td><td>{safe(template.batch)}</td>'
        f'<td>{max(now - template.last, 0) / 60:.0f} min ago</td><td class="n">{score}</td><td>{example}</td></tr>'
    )
