"""Batches of mail that was generated from the same template, found while the mail comes in [thesis, chapter 8]."""

from accord.mail.detector import Assignment, BatchDetector, Explanation
from accord.mail.features import MailPairs
from accord.mail.message import Message, parse
from accord.mail.window import BatchStatistics

__all__ = ["Assignment", "BatchDetector", "BatchStatistics", "Explanation", "MailPairs", "Message", "parse"]
