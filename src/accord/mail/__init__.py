"""Batches of mail that was generated from the same template, found while the mail comes in [thesis, chapter 8].

A name loads its module when it is first used, so that the command line can read its settings without Numba.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accord.mail.detector import Assignment, BatchDetector, Explanation
    from accord.mail.features import MailPairs
    from accord.mail.generator import GeneratedMail, MailGenerator
    from accord.mail.message import Message, parse
    from accord.mail.spam import CollectiveSpamFilter
    from accord.mail.window import BatchStatistics

_HOME = {
    "Assignment": "accord.mail.detector",
    "BatchDetector": "accord.mail.detector",
    "BatchStatistics": "accord.mail.window",
    "Explanation": "accord.mail.detector",
    "MailPairs": "accord.mail.features",
    "Message": "accord.mail.message",
    "parse": "accord.mail.message",
    "GeneratedMail": "accord.mail.generator",
    "MailGenerator": "accord.mail.generator",
    "CollectiveSpamFilter": "accord.mail.spam",
}

__all__ = [
    "Assignment",
    "BatchDetector",
    "BatchStatistics",
    "CollectiveSpamFilter",
    "Explanation",
    "GeneratedMail",
    "MailGenerator",
    "MailPairs",
    "Message",
    "parse",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'accord.mail' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
