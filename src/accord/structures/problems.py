"""The training sets that solvers see, by structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from accord.structures.chains.consensus import ConsensusProblem
from accord.structures.chains.problem import ChainProblem
from accord.structures.trees.consensus import TreeConsensusProblem
from accord.structures.trees.problem import TreeProblem
from accord.structures.trees.tree import Tree


def make_problem(structure: Any, rows: Any, y: np.ndarray, **settings: Any) -> Any:
    """Labeled examples."""
    return (TreeProblem if isinstance(structure, Tree) else ChainProblem)(structure, rows, y, **settings)


def make_consensus_problem(
    structure: Any, channels: Sequence[Any], stack: Callable[[Sequence[Any]], Any], y: np.ndarray, **settings: Any
) -> Any:
    """Examples, labeled or not, in several views; ``stack`` puts the rows of chains one after another."""
    if isinstance(structure, Tree):
        return TreeConsensusProblem(structure, channels, y, **settings)
    return ConsensusProblem(structure, channels, stack(channels), y, **settings)
