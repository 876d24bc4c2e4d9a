"""Archives of mail with approximate batches: what was found alike, by shingles of words, without a human look."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, NamedTuple

from accord.datasets.formats.mail import iter_mail
from accord.datasets.stored import stored_file
from accord.exceptions import FormatError


class BatchedMail(NamedTuple):
    """A mail, whether it is spam, and what is known about its batch."""

    raw: bytes
    is_spam: bool
    batch: int  # -1: none
    likeness: float  # Jaccard similarity to the most typical mail of the batch; 1 without a batch
    is_short: bool  # too few words to tell


def read_batched_mail(folder: Path, name: str) -> list[BatchedMail]:
    """The mails of ``NAME.tar.xz`` in the order of ``NAME.batches.tsv``."""
    path = stored_file(folder, f"{name}.batches.tsv")
    raw = {Path(member).stem: content for member, content in iter_mail(stored_file(folder, f"{name}.tar.xz"))}
    found = []
    with open(path, encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines, delimiter="\t"), start=2):
            if row["id"] not in raw:
                raise FormatError(f"there is no mail {row['id']!r} in {name}.tar.xz", str(path), number)
            found.append(_mail(raw[row["id"]], row))
    return found


def _mail(raw: bytes, row: dict[str, Any]) -> BatchedMail:
    likeness = float(row["jaccard_to_medoid"] or 1.0)
    return BatchedMail(raw, row["label"] == "spam", int(row["batch_id"]), likeness, row["low_text"] == "1")
