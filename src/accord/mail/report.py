"""What was found in a stream of mail: a summary of every batch, and an HTML report that needs nothing but itself.

Subjects, senders and texts come from strangers. All of it is escaped, control characters are taken out, addresses of
links are not links, and a content security policy forbids the page to load or run anything.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from accord.mail.message import Message

MOST_KEPT = 20  # different subjects and senders, and names of messages, that are remembered per batch
_SAMPLE = 600  # letters of a sample text
_EXPLAINED = 5  # messages per batch whose joining is explained
_SPACE = re.compile(r"\s+")


@dataclass(slots=True)
class BatchSummary:
    """What is told about a batch."""

    batch: str
    size: int = 0
    first: float | None = None  # by the messages' dates, seconds since 1970
    last: float | None = None
    subjects: Counter[str] = field(default_factory=Counter)
    senders: Counter[str] = field(default_factory=Counter)
    names: list[str] = field(default_factory=list)
    sample: str = ""
    newest: str = ""  # another sample, of the message that came last
    reasons: dict[str, float] = field(default_factory=dict)  # sums over the messages that were explained
    n_explained: int = 0
    score: float | None = None

    def add(self, name: str, message: Message, score: float | None = None) -> None:
        """Another message."""
        self.size += 1
        self.score = score if score is not None else self.score
        when = message_time(message)
        if when is not None:
            self.first = when if self.first is None else min(self.first, when)
            self.last = when if self.last is None else max(self.last, when)
        for counter, text in ((self.subjects, message.subject), (self.senders, message.sender)):
            text = clean(text)
            if text in counter or len(counter) < MOST_KEPT:
                counter[text] += 1
        if len(self.names) < MOST_KEPT:
            self.names.append(name)
        text = clean(message.text[: 4 * _SAMPLE].decode("utf-8", "replace"))[:_SAMPLE]
        if self.size == 1:
            self.sample = text
        else:
            self.newest = text

    @property
    def wants_reasons(self) -> bool:
        """Whether it is not well enough known what joins the batch."""
        return self.n_explained < _EXPLAINED

    def explain(self, contributions: Mapping[str, float], n_members: int) -> None:
        """Why a message joined: what each feature contributed, here per member."""
        self.n_explained += 1
        for name, value in contributions.items():
            self.reasons[name] = self.reasons.get(name, 0.0) + value / max(n_members, 1)

    def mean_reasons(self, most: int = 8) -> list[tuple[str, float]]:
        """The features that joined the messages, and the part of each in the similarity of two; the largest first."""
        means = [(name, value / max(self.n_explained, 1)) for name, value in self.reasons.items()]
        return sorted(means, key=lambda item: -abs(item[1]))[:most]


def clean(text: str) -> str:
    """One line without characters that change how others look (control, formatting and private ones)."""
    spaced = _SPACE.sub(" ", text).strip()
    return spaced if spaced.isprintable() else "".join(c for c in spaced if unicodedata.category(c)[0] != "C")


def message_time(message: Message) -> float | None:
    """When a message was sent, by its own account; None if it does not say so in a way that can be understood."""
    date = message.headers.get(b"date")
    if date is None:
        return None
    try:
        return parsedate_to_datetime(date.decode("latin-1")).timestamp()
    except (ValueError, TypeError, OverflowError, OSError, IndexError):
        return None


def time_text(seconds: float | None) -> str:
    """A time for people; empty if it is not known."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return ""


# -- HTML -----------------------------------------------------------------------------------------------------------
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } .facts { color: #555; }
table { border-collapse: collapse; } td, th { padding: .15rem .7rem .15rem 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
details { border: 1px solid #ddd; border-radius: 6px; margin: .5rem 0; padding: .5rem .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
.size { display: inline-block; min-width: 4rem; font-weight: 600; }
.when { color: #777; } pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #f6f6f6; padding: .6rem; }
.bar { display: inline-block; height: .7em; background: #4a7; } .minus { background: #c66; }
section { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 0 2rem; }
h3 { font-size: .95rem; margin: .8rem 0 .2rem; }
@media (prefers-color-scheme: dark) { body { background: #1b1b1b; color: #ddd; } pre { background: #262626; }
  details { border-color: #444; } .facts, .when { color: #999; } }
"""


def html_report(
    batches: Sequence[BatchSummary], n_messages: int, n_batches: int, sources: Sequence[str] = (), note: str = ""
) -> str:
    """A page about batches.

    Parameters
    ----------
    batches : list of BatchSummary
        Those to be shown, in this order.
    n_messages, n_batches : int
        How many there are in all.
    sources : list of str
        Where the mail comes from.
    note : str
        A remark, for example that the run was interrupted.
    """
    shown = sum(batch.size for batch in batches)
    facts = f"{n_messages:,} messages, {n_batches:,} batches; {len(batches):,} with {shown:,} messages are shown."
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>Batches of mail</title><style>{_STYLE}</style></head><body><h1>Batches of mail</h1>",
        f'<p class="facts">{facts} {_safe(note)}</p>',
        f'<p class="facts">From: {_safe(", ".join(sources))}</p>' if sources else "",
        "" if batches else "<p>No batch is large enough to be shown.</p>",
        *(_batch(batch) for batch in batches),
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _safe(text: str) -> str:
    return html.escape(clean(text), quote=True)


def _batch(batch: BatchSummary) -> str:
    subject = batch.subjects.most_common(1)[0][0] if batch.subjects else ""
    span = " – ".join(text for text in dict.fromkeys((time_text(batch.first), time_text(batch.last))) if text)
    score = "" if batch.score is None else f" · spam score {batch.score:.3f}"
    others = [("Subjects", batch.subjects), ("Senders", batch.senders)]
    parts = [
        f'<details id="{_safe(batch.batch)}"><summary><span class="size">{batch.size:,} ×</span> '
        f'{_safe(subject) or "<i>no subject</i>"} <span class="when">{_safe(span)}</span></summary>',
        f'<p class="facts">Batch {_safe(batch.batch)}{score}</p><section>',
        *(f"<div><h3>{title}</h3>{_counts(counter, batch.size)}</div>" for title, counter in others),
        f"<div><h3>Why they were joined</h3>{_reasons(batch)}</div>",
        f"<div><h3>Messages</h3>{_names(batch)}</div></section>",
        f"<h3>The first</h3><pre>{_safe(batch.sample)}</pre>",
        f"<h3>The last</h3><pre>{_safe(batch.newest)}</pre>" if batch.newest else "",
        "</details>",
    ]
    return "".join(parts)


def _counts(counter: Counter[str], size: int) -> str:
    most = counter.most_common(6)
    listed = [(n, _safe(text) or "<i>none</i>") for text, n in most]
    rest = size - sum(n for _, n in most)
    listed += [(rest, "<i>others</i>")] if rest else []
    rows = [f'<tr><td class="n">{n:,}</td><td>{text}</td></tr>' for n, text in listed]
    return f"<table>{''.join(rows)}</table>"


def _reasons(batch: BatchSummary) -> str:
    reasons = batch.mean_reasons()
    if not reasons:
        return "<p>–</p>"
    largest = max(abs(value) for _, value in reasons) or 1.0
    rows = []
    for name, value in reasons:
        kind = "bar minus" if value < 0 else "bar"
        bar = f'<span class="{kind}" style="width:{6 * abs(value) / largest:.2f}rem"></span>'
        rows.append(f'<tr><td>{_safe(name)}</td><td class="n">{value:+.3f}</td><td>{bar}</td></tr>')
    return f"<table>{''.join(rows)}</table>"


def _names(batch: BatchSummary) -> str:
    more = f" and {batch.size - 6:,} more" if batch.size > 6 else ""
    return f"<p>{_safe(', '.join(batch.names[:6]))}{more}</p>"
