"""What is y? Output spaces: joint features, losses and decoders."""

from accord.structures.base import Parts, Structure, Weights
from accord.structures.multiclass import MultiClass
from accord.structures.partition import Partition
from accord.structures.sequence import Sequence
from accord.structures.taxonomy import Taxonomy
from accord.structures.tree import Tree

__all__ = ["MultiClass", "Partition", "Parts", "Sequence", "Structure", "Taxonomy", "Tree", "Weights"]
