"""Brown clusters made elsewhere as features: words used alike have paths of bits that begin alike."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from accord.datasets.formats.source import iter_lines, source_name
from accord.exceptions import FormatError, InputError
from accord.forms import TEXT, items
from accord.settings import POSITIVE, whole
from accord.views.inputs import describe
from accord.views.word_table import WordTable


@dataclass(eq=False, repr=False)
class BrownClusters(WordTable):
    """Clusters of words that were learned elsewhere [Brown et al. 1992]: ``X`` is a list of lists of strings.

    A cluster is a leaf of a binary tree. Its path, a string of bits, and the beginnings of the path are features, so
    that words share as many features as their uses are alike. A word without a cluster has a feature that says so.

    Parameters
    ----------
    clusters : dict of str to str, or path
        Words and paths of bits such as ``{"Monday": "0110"}``; or a file with a path, a word and perhaps a count on
        every line, as Liang's program writes it; or JSON, perhaps compressed with gzip, as in ``spacy-lookups-data``,
        where a path is a number that has the first bit as its lowest (0: no cluster).
    prefixes : sequence of int, default=(4, 6, 10, 20)
        Lengths of the beginnings that are features.
    window : int or (int, int), default=0
        Number of neighbours on either side (before, after) whose clusters count, too.
    lowercase_fallback : bool, default=True
        Look a word up in lower case if it has no cluster as it is.
    scale : float, default=1.0
        Value of the features.
    keep_all : bool, default=True
        Keep the clusters of all words. Without it, words that are not in the ``X`` of ``fit`` have none later; model
        files are smaller then.

    Attributes
    ----------
    words_, paths_ : list of str
        Words whose clusters are kept, and the paths.
    n_dims_ : int
        Number of features.

    Notes
    -----
    A fitted view does not need the dict any more, and model files leave it out: in a loaded model ``clusters`` is None.

    Examples
    --------
    >>> from accord import BrownClusters
    >>> view = BrownClusters({"monday": "0110", "friday": "0111", "runs": "10"}, prefixes=(1, 3))
    >>> view.fit_rows([["Monday", "runs", "!"]]).matrix().toarray()
    array([[1., 0., 1., 0., 0.],
           [0., 1., 0., 1., 0.],
           [0., 0., 0., 0., 1.]])
    >>> view.feature_names(range(5))
    ['0:cluster=0', '0:cluster=1', '0:cluster=011', '0:cluster=10', '0:unknown']
    """

    clusters: Mapping[str, str] | str | PathLike[str] | None = None  # None: of a loaded model
    prefixes: tuple[int, ...] = (4, 6, 10, 20)
    window: int | tuple[int, int] = 0
    _: KW_ONLY
    lowercase_fallback: bool = True
    scale: float = 1.0
    keep_all: bool = True

    expects: ClassVar = {"scale": POSITIVE}
    stored: ClassVar = {"paths_": items(TEXT, "n_words")}
    agrees: ClassVar = {"paths_ are bits": lambda self: all(path and not path.strip("01") for path in self.paths_)}

    def _saved(self) -> dict[str, Any]:
        """What model files hold: not the dict, which may be huge."""
        return {**vars(self), "clusters": self.clusters if isinstance(self.clusters, str) else None}

    def __sklearn_clone__(self) -> BrownClusters:
        """Shares the clusters."""
        return type(self)(**self.get_params(deep=False))

    def _learn(self, tokens: list[str], offsets: np.ndarray, distinct: list[str]) -> None:
        """Keep the clusters of the words."""
        paths = _read(self.clusters)
        if not self.keep_all:
            wanted = {*distinct, *(word.lower() for word in distinct)}
            paths = {word: path for word, path in paths.items() if word in wanted}
        self.words_, self.paths_ = list(paths), list(paths.values())

    def _unit_of(self, word: str) -> int:
        place = self._index().get(word)
        if place is None and self.lowercase_fallback:
            place = self._index().get(word.lower())
        return 1 if place is None else 2 + place

    def _columns(self) -> list[dict[str, int]]:
        """For each length, the column of each beginning of that length; a path that is shorter is one, too."""
        columns: list[dict[str, int]] = []
        first = 0
        for length in sorted(self.prefixes):
            beginnings = sorted({path[:length] for path in set(self.paths_)})
            columns.append({path: first + k for k, path in enumerate(beginnings)})
            first += len(beginnings)
        return columns

    def _features(self) -> sp.csr_array:
        """Unit 1 is every unknown word."""
        columns = self._columns()
        width = sum(map(len, columns))
        of_path = {
            path: [column[path[:length]] for length, column in zip(sorted(self.prefixes), columns)]
            for path in set(self.paths_)
        }
        indices = [width, *(column for path in self.paths_ for column in of_path[path])]
        sizes = [0, 1, *[len(columns)] * len(self.paths_)]
        values = np.full(len(indices), self.scale)
        values[0] = 1.0
        return sp.csr_array((values, indices, np.cumsum(sizes)), shape=(1 + len(self.paths_), width + 1))

    def _column_names(self) -> list[str]:
        return [f"cluster={path}" for column in self._columns() for path in column] + ["unknown"]

    def _column_groups(self) -> tuple[np.ndarray, list[str]]:
        return np.append(np.zeros(sum(map(len, self._columns())), np.int64), 1), ["cluster", "unknown"]

    def _check_params(self) -> None:
        super()._check_params()
        lengths = self.prefixes
        if not isinstance(lengths, (tuple, list)) or not lengths or not all(map(whole(1).accepts, lengths)):
            raise InputError(f"prefixes is {describe(lengths)}; expected numbers of bits such as (4, 6, 10, 20)")


def _read(clusters: Any) -> dict[str, str]:
    """The path of each word."""
    if isinstance(clusters, (str, PathLike)):
        name = source_name(clusters)
        endings = [ending.lower() for ending in Path(name).suffixes[-2:]]
        return _from_json(name) if ".json" in endings else _from_lines(name)
    if not isinstance(clusters, Mapping):
        hint = ". Model files leave them out, so give them again to fit anew" if clusters is None else ""
        raise InputError(f"clusters is {describe(clusters)}; expected a dict of paths or the path of a file{hint}")
    return _paths(clusters)


def _from_lines(name: str) -> dict[str, str]:
    """Lines of a path, a word and a count, with tabs between them; the first of equal words counts."""
    found: dict[str, str] = {}
    for number, line in enumerate(iter_lines(name), start=1):
        fields = line.split("\t") if "\t" in line else line.split(" ")
        if line and (len(fields) < 2 or fields[0].strip("01") or not fields[0]):
            raise FormatError(f"{line[:40]!r} is not a path of bits and a word, with a tab between them", name, number)
        if line:
            found.setdefault(fields[1], fields[0])
    if not found:
        raise FormatError("the file is empty; expected a path of bits and a word on every line", name)
    return found


def _from_json(name: str) -> dict[str, str]:
    try:
        with gzip.open(name, "rt", encoding="utf-8") if name.endswith(".gz") else open(name, encoding="utf-8") as file:
            read = json.load(file)
    except (ValueError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise FormatError(f"not JSON ({error})", name) from None
    if not isinstance(read, dict):
        raise FormatError("not a dict of words and clusters", name)
    return _paths(read)


def _paths(clusters: Mapping[str, Any]) -> dict[str, str]:
    """Numbers as bits, lowest first. Of the number's own upper zeros nothing is known: the path ends there."""
    found = {}
    for word, path in clusters.items():
        if isinstance(path, int) and not isinstance(path, bool) and path >= 0:
            path = f"{path:b}"[::-1] if path else ""
        if not isinstance(word, str) or not isinstance(path, str) or path.strip("01"):
            raise InputError(f"clusters[{word!r}] is {describe(path)}; expected a string of bits such as '0110'")
        if path:
            found[word] = path
    if not found:
        raise InputError("clusters has no words; expected a dict of words and paths of bits")
    return found
