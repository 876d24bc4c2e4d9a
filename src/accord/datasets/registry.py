"""The public data sets used in the experiments, read from a local data folder.

Accord ships no data. A data folder has one sub-folder per set; the environment variable ``ACCORD_DATA`` or the
argument ``data`` says where it is. `available` lists the sets found there, `load` reads one.

====================  ==============================  =========================================================
name                  parts                           X, Y
====================  ==============================  =========================================================
conll2002_esp         train, testa, testb             Spanish tokens, IOB2 entities
conll2000_chunking    train, test                     English tokens, IOB2 chunks
ud_english_ewt_pos    train, dev, test                English words, universal part of speech
bc2gm                 train, devel, test              biomedical tokens, IOB2 gene names
ocr_letters           train (fold 0), test (the rest) letter images (T, 128), letters
wipo_alpha_d          train, test                     patents, 100 latent features, 57 leaves
cora_big              train (all papers)              paper titles, TF-IDF, 70 leaves; 187 papers are unlabeled
newsgroups20          train, test                     word counts of posts, 20 leaves
webkb_course          train (all pages)               word counts of web pages, course or other
citation_cora         train (all papers)              words of abstracts (0/1), 7 classes
citation_citeseer     train (all papers)              words of papers (0/1), 6 classes; 15 papers are unlabeled
regression            one for each set: housing, ...  attributes, a number to predict
kdd98_proxy           train (all people)              people that got a mailing, dollars that they gave
kdd98                 train (all people)              the same of KDD Cup 1998: its file ``cup98LRN.txt``
ssl_book              one for each set: COIL, ...     1,500 points each, classes; splits in ``extra``
protein_cb513         train (all domains)             amino acids, secondary structure (C, E, H)
====================  ==============================  =========================================================
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from accord.datasets.formats import iter_conll, read_taxonomy
from accord.datasets.formats.source import iter_lines
from accord.datasets.numbers import Numbers, read_learning_file, read_numbers, with_indicators
from accord.datasets.stored import stored_arrays, stored_file, stored_levels, stored_sparse, stored_table
from accord.exceptions import InputError

ENVIRONMENT_VARIABLE = "ACCORD_DATA"


@dataclass
class Dataset:
    """A data set, or a part of one.

    Attributes
    ----------
    name : str
    X : list, ndarray or csr_matrix
        Inputs: one item or row per example.
    Y : list
        Outputs: a list of labels per sequence, or one class name per row; None where unlabeled. An array of numbers
        for regression.
    split : ndarray of str, shape (n_examples,)
        Which part each example belongs to; of interest after ``part="all"``.
    taxonomy : dict of str to list of str, or None
        Every class and inner node with its parents (an empty list for roots), as `read_taxonomy` returns it.
    extra : dict
        What else there is about each example, if asked for: ``pos`` tags, further feature matrices; names and
        attributes of columns.
    """

    name: str
    X: Any
    Y: Any
    split: np.ndarray
    taxonomy: dict[str, list[str]] | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.Y)


def data_home(data: str | os.PathLike[str] | None = None) -> Path:
    """The local data folder: `data` if given, else what ``ACCORD_DATA`` names.

    Raises
    ------
    InputError
        Neither is given, or the folder does not exist.
    """
    where = "data=" if data is not None else f"the environment variable {ENVIRONMENT_VARIABLE}"
    chosen = os.environ.get(ENVIRONMENT_VARIABLE) if data is None else data
    if not chosen:
        raise InputError(
            f"no data folder is known; set the environment variable {ENVIRONMENT_VARIABLE} or pass data= "
            "(--data on the command line) with the folder that holds the data sets"
        )
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        raise InputError(f"the data folder {str(folder)!r} (from {where}) does not exist")
    return folder


def available(data: str | os.PathLike[str] | None = None) -> list[str]:
    """Names of the data sets that `load` can read from the local data folder."""
    home = data_home(data)
    return [name for name in _LOADERS if (home / name).is_dir()]


def load(name: str, data: str | os.PathLike[str] | None = None, part: str = "train", extra: bool = False) -> Dataset:
    """Read a data set, or one part of it.

    Parameters
    ----------
    name : str
        One of the names in the table above.
    data : path, optional
        The local data folder; by default ``ACCORD_DATA``.
    part : str
        A part from the table, or ``"all"`` for all of them in the table's order. The sets of ``regression`` and
        ``ssl_book`` cannot be put together; the error message for a wrong name lists them.
    extra : bool
        Also fill `Dataset.extra`: ``pos`` for the token sets that have it, ``cites`` and ``authors`` for cora_big,
        ``subject`` for newsgroups20, ``anchor`` (word counts of the links to a page) for webkb_course, ``links``
        (papers × papers, symmetric) for the citation sets; ``columns`` (names) and ``attribute`` (which attribute a
        column belongs to: nominal ones have several columns) for the sets with numbers to predict; ``labeled_10`` and
        ``labeled_100`` (12, 10 or 100) for ssl_book: the examples that are labeled in each of its splits.

    Returns
    -------
    Dataset
    """
    if name not in _LOADERS:
        raise InputError(f"name={name!r} is not a known data set; choose from {', '.join(_LOADERS)}")
    loader, parts = _LOADERS[name]
    allowed = parts if name in _SEPARATE else (*parts, "all")
    if part not in allowed:
        raise InputError(f"part={part!r} does not exist for {name}; choose from {', '.join(allowed)}")
    folder = data_home(data) / name
    if not folder.is_dir():
        raise InputError(
            f"the folder {str(folder)!r} is missing; data= or {ENVIRONMENT_VARIABLE} must name a data folder "
            f"with a sub-folder {name!r}"
        )
    return loader(name, folder, tuple(parts) if part == "all" else (part,), extra)


def _load_columns(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """Token sets: ``<prefix>.<part>.tsv`` with the columns token, part of speech, label."""
    prefix = _COLUMN_PREFIX[name]
    X, Y, pos, split = [], [], [], []
    unique: dict[str, str] = {}
    share = unique.setdefault  # one string object per distinct word: a corpus repeats them many times over
    for part in parts:
        path = stored_file(folder, f"{prefix}.{part}.tsv")
        for tokens, labels, (tags,) in iter_conll(path, columns=3, extra_columns=[1]):
            X.append(list(map(share, tokens, tokens)))
            Y.append(list(map(share, labels or [], labels or [])))
            pos.append(list(map(share, tags, tags)))
            split.append(part)
    has_pos = any(tag != "_" for tags in pos for tag in tags)
    return Dataset(name, X, Y, np.array(split), extra={"pos": pos} if extra and has_pos else {})


def _load_ocr(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """Handwritten words as sequences of 16 x 8 pixel letters, flattened row by row."""
    arrays = stored_arrays(stored_file(folder, "ocr_letters.npz"), "images", "letter", "word", "is_fold0")
    fold0, word = arrays["is_fold0"].astype(bool), arrays["word"]
    X, Y, split = [], [], []
    for part in parts:
        keep = fold0 if part == "train" else ~fold0
        images = arrays["images"][keep].reshape(-1, 128).astype(np.float64)
        letters = [chr(ord("a") + int(code)) for code in arrays["letter"][keep]]
        starts = np.flatnonzero(np.diff(word[keep], prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(letters)]):
            X.append(images[start:end])
            Y.append(letters[start:end])
            split.append(part)
    return Dataset(name, X, Y, np.array(split))


def _load_wipo(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    arrays = stored_arrays(stored_file(folder, "wipo_alpha_d.npz"), "X", "y", "is_test")
    leaves, taxonomy = stored_levels(stored_file(folder, "taxonomy.tsv"))
    return _classes(name, arrays["X"].astype(np.float64), arrays, leaves, taxonomy, parts, {})


def _load_newsgroups(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    wanted = ("body", "subject") if extra else ("body",)
    path = stored_file(folder, "newsgroups20.npz")
    arrays = stored_arrays(path, "y", "is_test")
    matrices = stored_sparse(path, *wanted)
    leaves, taxonomy = stored_levels(stored_file(folder, "taxonomy.tsv"))
    return _classes(name, matrices.pop("body"), arrays, leaves, taxonomy, parts, matrices)


def _load_cora(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    wanted = ("text", "cites", "authors") if extra else ("text",)
    path = stored_file(folder, "cora_big.npz")
    matrices = stored_sparse(path, *wanted)
    classes = stored_file(folder, "classes.txt")
    leaves = list(iter_lines(classes))
    arrays = stored_arrays(path, "y")
    return _classes(name, matrices.pop("text"), arrays, leaves, read_taxonomy(classes), parts, matrices)


def _load_flat(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """Two views of the examples of a few classes, whose names stand here since the files only number them."""
    file, first, second, labels = _FLAT[name]
    path = stored_file(folder, file)
    matrices = stored_sparse(path, *((first, second) if extra else (first,)))
    return _classes(name, matrices.pop(first), stored_arrays(path, "y"), labels, {}, parts, matrices)


def _load_numbers(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """Tables with a number to predict; those of donations say where values are missing."""
    if name == "regression":
        found = read_numbers(stored_file(folder, f"{parts[0]}.npz"))
    elif name == "kdd98_proxy":
        found = with_indicators(read_numbers(stored_file(folder, "pva97nk.npz")))
    else:
        found = read_learning_file(stored_file(folder, "cup98LRN.txt"))
    return Dataset(name, found.X, found.y, np.full(len(found.y), parts[0]), extra=_about(found) if extra else {})


def _load_ssl_book(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """Points of a few classes with the splits of the book's benchmark."""
    path = stored_file(folder, f"{parts[0]}.npz")
    X: Any = stored_table(path)
    arrays = stored_arrays(path, "y", "idx_lab_10", "idx_lab_100")
    splits = {"labeled_10": arrays["idx_lab_10"], "labeled_100": arrays["idx_lab_100"]}
    Y = [str(label) for label in arrays["y"].tolist()]
    return Dataset(name, X, Y, np.full(len(Y), parts[0]), extra=splits if extra else {})


def _load_protein(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """A letter per amino acid and per state of the secondary structure."""
    lines = [line.split("\t") for line in iter_lines(stored_file(folder, "cb513.domains.tsv"))]
    X, Y = ([list(line[k]) for line in lines] for k in (0, 1))
    return Dataset(name, X, Y, np.full(len(Y), "train"))


def _about(found: Numbers) -> dict[str, Any]:
    return {"columns": found.columns, "attribute": found.attribute}


def _classes(
    name: str,
    X: Any,
    arrays: dict[str, np.ndarray],
    leaves: list[str],
    taxonomy: dict[str, list[str]],
    parts: tuple[str, ...],
    extra: dict[str, Any],
) -> Dataset:
    """Select the rows of some parts, in the order of the parts; a class index of -1 means unlabeled."""
    is_test = arrays.get("is_test", np.zeros(len(arrays["y"]))).astype(bool)
    split = np.where(is_test, "test", "train")
    rows = np.concatenate([np.flatnonzero(split == part) for part in parts])
    Y = [leaves[k] if k >= 0 else None for k in arrays["y"][rows]]
    return Dataset(name, X[rows], Y, split[rows], taxonomy or None, {key: value[rows] for key, value in extra.items()})


_COLUMN_PREFIX = {
    "conll2002_esp": "esp",
    "conll2000_chunking": "conll2000",
    "ud_english_ewt_pos": "ewt",
    "bc2gm": "bc2gm",
}
_TOPICS = (
    "Theory,Reinforcement_Learning,Genetic_Algorithms,Neural_Networks,Probabilistic_Methods,Case_Based,Rule_Learning"
)
# Name → file, views, classes
_FLAT: dict[str, tuple[str, str, str, list[str]]] = {
    "webkb_course": ("webkb_course.npz", "page", "anchor", ["other", "course"]),
    "citation_cora": ("cora.npz", "text", "links", _TOPICS.split(",")),
    "citation_citeseer": ("citeseer.npz", "text", "links", ["AI", "ML", "IR", "DB", "Agents", "HCI"]),
}
_REGRESSION = """
2dplanes abalone ailerons airfoil auto93 autoHorse autoMpg autoPrice baskball breastTumor cal_housing cholesterol
cleveland concreteslump cpu cpu_act cpu_small delta_ailerons delta_elevators echoMonths elevators fishcatch forest fried
fruitfly gas house_8L housing hungarian machine_cpu meta mv pbc pol sensory servo skillcraft sleep sml solar stock wine
yacht
"""
_SSL_BOOK = ("COIL", "COIL2", "USPS", "g241c", "g241n", "Text")
_SEPARATE = ("regression", "ssl_book")
_Loader = Callable[[str, Path, tuple[str, ...], bool], Dataset]
_LOADERS: dict[str, tuple[_Loader, tuple[str, ...]]] = {
    "conll2002_esp": (_load_columns, ("train", "testa", "testb")),
    "conll2000_chunking": (_load_columns, ("train", "test")),
    "ud_english_ewt_pos": (_load_columns, ("train", "dev", "test")),
    "bc2gm": (_load_columns, ("train", "devel", "test")),
    "ocr_letters": (_load_ocr, ("train", "test")),
    "wipo_alpha_d": (_load_wipo, ("train", "test")),
    "cora_big": (_load_cora, ("train",)),
    "newsgroups20": (_load_newsgroups, ("train", "test")),
    "webkb_course": (_load_flat, ("train",)),
    "citation_cora": (_load_flat, ("train",)),
    "citation_citeseer": (_load_flat, ("train",)),
    "regression": (_load_numbers, tuple(_REGRESSION.split())),
    "kdd98_proxy": (_load_numbers, ("train",)),
    "kdd98": (_load_numbers, ("train",)),
    "ssl_book": (_load_ssl_book, _SSL_BOOK),
    "protein_cb513": (_load_protein, ("train",)),
}
