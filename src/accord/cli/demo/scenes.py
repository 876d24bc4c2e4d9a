"""The scenes of the demo, in the order in which they are shown; two that share no kernels begin."""

from __future__ import annotations

from collections.abc import Callable

from accord.cli.demo.comparison import compare
from accord.cli.demo.mails import mails
from accord.cli.demo.numbers import curve
from accord.cli.demo.records import records
from accord.cli.demo.scene import Scene
from accord.cli.demo.sentences import names
from accord.cli.demo.sites import sites
from accord.cli.demo.topics import topics
from accord.cli.demo.trees import trees

__all__ = ["SCENES", "compare"]

SCENES: tuple[Callable[[int], Scene], ...] = (names, mails, topics, trees, records, curve, sites)
