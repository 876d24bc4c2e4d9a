"""Reading and writing the file formats Accord understands, one format a module.

====================  ==============================================  =========================================
module                format                                          functions
====================  ==============================================  =========================================
``conll``             one token per line, columns, blank lines        `iter_conll`, `read_conll`, `write_conll`
``text``              one tokenised sentence per line                 `iter_text`
``csv_table``         delimited tables                                `iter_csv`, `read_csv`
``svmlight``          sparse ``label index:value ...`` lines          `iter_svmlight`, `read_svmlight`
``taxonomy_file``     ``child<TAB>parent`` edges or ``A/B/C`` paths   `read_taxonomy`
``treebank``          bracketed trees                                 `iter_trees`, `read_trees`, `write_trees`
====================  ==============================================  =========================================

Every reader takes a path, ``"-"`` for standard input, or an open text or binary file; gzip-compressed input
is recognised by its content. What cannot be read raises `accord.exceptions.FormatError` with file and line.
"""

from accord.datasets.formats.conll import Sentence, iter_conll, read_conll, write_conll
from accord.datasets.formats.csv_table import Table, iter_csv, read_csv
from accord.datasets.formats.source import Source
from accord.datasets.formats.svmlight import iter_svmlight, read_svmlight
from accord.datasets.formats.taxonomy_file import read_taxonomy
from accord.datasets.formats.text import iter_text
from accord.datasets.formats.treebank import iter_trees, read_trees, write_trees

__all__ = [
    "Sentence",
    "Source",
    "Table",
    "iter_conll",
    "iter_csv",
    "iter_svmlight",
    "iter_text",
    "iter_trees",
    "read_conll",
    "read_csv",
    "read_svmlight",
    "read_taxonomy",
    "read_trees",
    "write_conll",
    "write_trees",
]
