"""Data: file formats, seeded generators, and the public data sets of the experiments."""

from accord.datasets.formats.conll import Sentence, iter_conll, read_conll, write_conll
from accord.datasets.formats.csv_table import Table, iter_csv, read_csv
from accord.datasets.formats.source import iter_text
from accord.datasets.formats.svmlight import iter_svmlight, read_svmlight
from accord.datasets.formats.taxonomy_file import read_taxonomy
from accord.datasets.formats.treebank import iter_trees, read_trees, write_trees
from accord.datasets.generators import embedded_ner, gaussian_classes, hmm_sequences, taxonomy_documents
from accord.datasets.grammar import grammar_sentences
from accord.datasets.many_people import many_people
from accord.datasets.people import people
from accord.datasets.registry import Dataset, available, data_home, load
from accord.datasets.shapes import galaxy, gaussian_clusters, two_moons
from accord.datasets.trees import leaves, tags

__all__ = [
    "Dataset",
    "Sentence",
    "Table",
    "available",
    "data_home",
    "embedded_ner",
    "galaxy",
    "gaussian_classes",
    "gaussian_clusters",
    "grammar_sentences",
    "hmm_sequences",
    "iter_conll",
    "iter_csv",
    "iter_svmlight",
    "iter_text",
    "iter_trees",
    "leaves",
    "load",
    "many_people",
    "people",
    "read_conll",
    "read_csv",
    "read_svmlight",
    "read_taxonomy",
    "read_trees",
    "tags",
    "taxonomy_documents",
    "two_moons",
    "write_conll",
    "write_trees",
]
