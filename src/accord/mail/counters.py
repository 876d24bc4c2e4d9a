"""Figures of a mail service: what became of messages, and how long they waited."""

from __future__ import annotations

from dataclasses import dataclass, field

OUTCOMES = ("assigned", "overloaded", "timeout", "error", "local", "authenticated", "allowed")
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # bounds of the histogram


@dataclass
class Counters:
    """What happened since the start. Written by several threads; a lock is not needed for figures to look at."""

    outcomes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    spoofed: int = 0  # headers with our names that were removed
    malformed: int = 0  # connections closed, requests refused
    checkpoints: int = 0
    checkpoint_errors: int = 0
    last_checkpoint: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    seconds: float = 0.0

    def count(self, outcome: str) -> None:
        """Another message with this outcome."""
        self.outcomes[outcome] += 1

    def add(self, other: Counters) -> None:
        """What another process counted of its messages and connections."""
        for outcome, n in other.outcomes.items():
            self.outcomes[outcome] += n
        self.spoofed += other.spoofed
        self.malformed += other.malformed

    def took(self, seconds: float) -> None:
        """Another answer after so many seconds, the waiting included."""
        self.seconds += seconds
        self.buckets[next((k for k, bound in enumerate(SECONDS) if seconds <= bound), len(SECONDS))] += 1
