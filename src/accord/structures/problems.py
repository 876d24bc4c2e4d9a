"""The training sets that solvers see, by structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from accord.structures.consensus import ConsensusProblem
from accord.structures.problem import ChainProblem
from accord.structures.tree import Tree
from accord.structures.tree_consensus import TreeConsensusProblem
from accord.structures.tree_problem import TreeProblem


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
