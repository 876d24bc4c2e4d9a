"""A batch of mail: messages made from one template, found while they come in."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from accord.cli.demo.scene import Scene, chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_MAILS = 300
_LANES, _SHOWN, _WIDTH = 8, 5, 44  # batches in the picture, mails of one batch on the terminal, letters of a subject


def mails(seed: int) -> Scene:
    """Assign mails to batches as they come, and show the largest batches."""
    from accord import BatchDetector
    from accord.evaluation import pair_counts
    from accord.mail.generator import MailGenerator
    from accord.mail.message import parse

    stream = list(MailGenerator(seed).stream(N_MAILS))
    detector = BatchDetector()
    found = [detector.assign(mail.raw, received=mail.received) for mail in stream]
    truth = [mail.batch for mail in stream]
    counts = pair_counts(truth, found)
    lesson = (
        f"{N_MAILS} mails came in one after the other, and each joined a batch at once: "
        f"{100 * counts.precision:.0f} % of the pairs that were put together come from one sender's template, and "
        f"{100 * counts.recall:.0f} % of such pairs were found."
    )
    largest = [batch for batch, _ in Counter(found).most_common(_LANES)]
    members = [k for k, batch in enumerate(found) if batch == largest[0]]
    lines = [f"batch {largest[0]}, {len(members)} mails:"]
    for k in members[:_SHOWN]:
        message = parse(stream[k].raw)
        subject = message.subject if len(message.subject) <= _WIDTH else message.subject[: _WIDTH - 1] + "…"
        lines.append(f"  {subject:<{_WIDTH}}  from {message.sender}")
    if len(members) > _SHOWN:
        lines.append(f"  … and {len(members) - _SHOWN} more")

    def draw(axes: Axes, dark: bool) -> None:
        _lanes(axes, found, truth, largest, dark)

    alt = f"When the mails of the {len(largest)} largest batches came in, a row for each batch"
    return Scene("A batch of mail", lesson, "\n".join(lines), chart(draw, alt))


def _lanes(axes: Axes, found: list[Any], truth: list[str], largest: list[Any], dark: bool) -> None:
    """A row for each batch, a point for each mail; crosses are mails that do not belong to most of the others."""
    from accord.evaluation.plots import method_look

    crossed = False
    for lane, batch in enumerate(largest):
        members = [k for k, one in enumerate(found) if one == batch]
        main = Counter(truth[k] for k in members).most_common(1)[0][0]
        right, wrong = ([k for k in members if (truth[k] == main) == is_right] for is_right in (True, False))
        colour = method_look(lane, dark)["color"]
        axes.plot(right, [lane] * len(right), linestyle="none", marker="o", markersize=5, color=colour)
        if wrong:
            label = None if crossed else "a mail that does not belong there"
            ink = method_look(6, dark)["color"]
            axes.plot(wrong, [lane] * len(wrong), linestyle="none", marker="x", markersize=6, color=ink, label=label)
            crossed = True
    axes.set_yticks(range(len(largest)), [f"batch {batch}" for batch in largest])
    axes.set_ylim(len(largest) - 0.5, -0.5)
    axes.set_xlabel("mails, in the order in which they came")
