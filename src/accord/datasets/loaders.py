"""How the files of each public data set are read; `accord.datasets.registry` says what there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from accord.datasets import trees
from accord.datasets.formats.conll import iter_conll
from accord.datasets.formats.record_table import read_records
from accord.datasets.formats.source import iter_lines
from accord.datasets.formats.taxonomy_file import read_taxonomy
from accord.datasets.formats.treebank import read_trees
from accord.datasets.numbers import read_learning_file, read_numbers
from accord.datasets.stored import stored_arrays, stored_file, stored_levels, stored_matrix, stored_members
from accord.exceptions import FormatError


@dataclass
class Dataset:
    """A data set, or a part of one.

    Attributes
    ----------
    name : str
    X : list, ndarray or csr_matrix
        Inputs: one item or row per example.
    Y : list
        Outputs: a list of labels per sequence, one class name per row, or a tree per sentence; None where unlabeled.
        An array of numbers for regression.
    split : ndarray of str, shape (n_examples,)
        Which part each example belongs to; of interest after ``part="all"``.
    taxonomy : dict of str to list of str, or None
        Every class and inner node with its parents (an empty list for roots), as `read_taxonomy` returns it.
    extra : dict
        What else there is about each example, if asked for: ``pos`` tags, further feature matrices; names and
        attributes of columns.

    Examples
    --------
    >>> data = Dataset("two", [["Ana", "left"], ["Tom", "slept"]], [["B-PER", "O"], None], np.array(["train", "train"]))
    >>> len(data), data.X[0], data.taxonomy is None
    (2, ['Ana', 'left'], True)
    """

    name: str
    X: Any
    Y: Any
    split: np.ndarray
    taxonomy: dict[str, list[str]] | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.Y)


def _load_columns(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """Token sets: ``<prefix>.<part>.tsv`` with the columns token, part of speech, label."""
    prefix = _COLUMN_PREFIX[name]
    X, Y, pos, split = [], [], [], []
    share = dict[str, str]().setdefault  # one string object per distinct word: a corpus repeats them many times over
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


def _load_classes(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """Matrices of the examples of some classes, which the files only number; -1 means unlabeled."""
    file, views, named = _CLASSES[name]
    path = stored_file(folder, file)
    y = stored_arrays(path, "y")["y"]
    split = np.full(len(y), "train")
    if "test" in LOADERS[name][1]:
        split = np.where(stored_arrays(path, "is_test")["is_test"].astype(bool), "test", "train")
    rows = np.concatenate([np.flatnonzero(split == part) for part in parts])
    X, *others = (stored_matrix(path, view)[rows] for view in (views if extra else views[:1]))
    classes, taxonomy = _class_names(folder, named)
    Y = [classes[k] if k >= 0 else None for k in y[rows]]
    return Dataset(name, X, Y, split[rows], taxonomy, dict(zip(views[1:], others)))


def _class_names(folder: Path, named: str) -> tuple[list[str], dict[str, list[str]] | None]:
    """Classes in the order of their numbers, and their taxonomy: listed here, in a table of levels, or by paths."""
    if named.endswith(".tsv"):
        return stored_levels(stored_file(folder, named))
    if named.endswith(".txt"):
        path = stored_file(folder, named)
        return list(iter_lines(path)), read_taxonomy(path)
    return named.split(","), None


def _load_numbers(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """Tables with a number to predict; those of donations say where values are missing."""
    if name == "regression":
        found = read_numbers(stored_file(folder, f"{parts[0]}.npz"))
    elif name == "kdd98_proxy":
        found = read_numbers(stored_file(folder, "pva97nk.npz"), indicators=True)
    else:
        found = read_learning_file(stored_file(folder, "cup98LRN.txt"))
    about = {"columns": found.columns, "attribute": found.attribute} if extra else {}
    return Dataset(name, found.X, found.y, np.full(len(found.y), parts[0]), extra=about)


def _load_ssl_book(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """Points of a few classes with the splits of the book's benchmark."""
    path = stored_file(folder, f"{parts[0]}.npz")
    arrays = stored_arrays(path, "y", "idx_lab_10", "idx_lab_100")
    splits = {"labeled_10": arrays["idx_lab_10"], "labeled_100": arrays["idx_lab_100"]}
    Y = [str(label) for label in arrays["y"].tolist()]
    return Dataset(name, stored_matrix(path, "X"), Y, np.full(len(Y), parts[0]), extra=splits if extra else {})


def _load_protein(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """A letter per amino acid and per state of the secondary structure."""
    lines = [line.split("\t") for line in iter_lines(stored_file(folder, "cb513.domains.tsv"))]
    X, Y = ([list(line[k]) for line in lines] for k in (0, 1))
    return Dataset(name, X, Y, np.full(len(Y), "train"))


def _load_trees(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """Treebanks without function tags and traces: ``<prefix>.clean.mrg`` and the ``file.number`` of each tree."""
    prefix = _TREES[name]
    path = stored_file(folder, f"{prefix}.clean.mrg")
    Y = read_trees(path)
    about: dict[str, Any] = {}
    if extra:
        documents = [line.rpartition(".")[0] for line in iter_lines(stored_file(folder, f"{prefix}.ids.txt"))]
        if len(documents) != len(Y):
            raise FormatError(f"{len(Y)} trees, but {prefix}.ids.txt has {len(documents)} lines", str(path))
        about = {"tags": [trees.tags(tree) for tree in Y], "documents": np.array(documents)}
    return Dataset(name, [trees.leaves(tree) for tree in Y], Y, np.full(len(Y), "train"), extra=about)


def _load_records(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """Tables of records, with the cluster of each: the records about one thing."""
    table = read_records(stored_file(folder, f"{parts[0]}.csv.gz"))
    Y = table.column("cluster_id")
    about = {"record_id": table.column("record_id")} if extra else {}
    return Dataset(name, table.records(("record_id", "cluster_id")), Y, np.full(len(Y), parts[0]), extra=about)


def _load_mail(name: str, folder: Path, parts: tuple[str, ...], extra: bool) -> Dataset:
    """Raw mails, spam or ham; ``extra`` tells of batches, which were found by shingles of words, without a human look.

    ``batch`` is -1 for none, ``likeness`` the similarity to the most typical mail of the batch (1 without one), and
    ``is_short`` are those with too few words to tell.
    """
    path, archive = (stored_file(folder, f"{parts[0]}.{ending}") for ending in ("batches.tsv", "tar.xz"))
    raw = stored_members(archive)
    table = read_records(path, "\t")
    rows = [dict(zip(table.names, cells)) for cells in table.rows]
    for number, row in enumerate(rows, start=2):
        if row["id"] not in raw:
            raise FormatError(f"there is no mail {row['id']!r} in {archive.name}", str(path), number)
    about = {
        "batch": np.array([int(row["batch_id"]) for row in rows]),
        "likeness": np.array([float(row["jaccard_to_medoid"] or 1.0) for row in rows]),
        "is_short": np.array([row["low_text"] == "1" for row in rows]),
    }
    Y = ["spam" if row["label"] == "spam" else "ham" for row in rows]
    return Dataset(name, [raw[row["id"]] for row in rows], Y, np.full(len(Y), parts[0]), extra=about if extra else {})


_COLUMN_PREFIX = {
    "conll2002_esp": "esp",
    "conll2000_chunking": "conll2000",
    "ud_english_ewt_pos": "ewt",
    "bc2gm": "bc2gm",
}
_TREES = {"ptb_wsj_sample": "wsj", "cess_esp": "cess_esp"}
_TOPICS = (
    "Theory,Reinforcement_Learning,Genetic_Algorithms,Neural_Networks,Probabilistic_Methods,Case_Based,Rule_Learning"
)
# Name → file, views, and the classes or the file that has them
_CLASSES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "wipo_alpha_d": ("wipo_alpha_d.npz", ("X",), "taxonomy.tsv"),
    "cora_big": ("cora_big.npz", ("text", "cites", "authors"), "classes.txt"),
    "newsgroups20": ("newsgroups20.npz", ("body", "subject"), "taxonomy.tsv"),
    "webkb_course": ("webkb_course.npz", ("page", "anchor"), "other,course"),
    "citation_cora": ("cora.npz", ("text", "links"), _TOPICS),
    "citation_citeseer": ("citeseer.npz", ("text", "links"), "AI,ML,IR,DB,Agents,HCI"),
}
_REGRESSION = """
2dplanes abalone ailerons airfoil auto93 autoHorse autoMpg autoPrice baskball breastTumor cal_housing cholesterol
cleveland concreteslump cpu cpu_act cpu_small delta_ailerons delta_elevators echoMonths elevators fishcatch forest fried
fruitfly gas house_8L housing hungarian machine_cpu meta mv pbc pol sensory servo skillcraft sleep sml solar stock wine
yacht
"""
_SSL_BOOK = ("COIL", "COIL2", "USPS", "g241c", "g241n", "Text")
_DEDUPE = (
    "restaurant_fodors_zagat", "febrl1", "febrl2", "febrl3", "cora_1295", "cora_1879_hpi", "chicago_early_childhood",
    "dblp_acm",
)  # fmt: skip
SEPARATE = ("regression", "ssl_book", "dedupe", "email")
_Loader = Callable[[str, Path, tuple[str, ...], bool], Dataset]
LOADERS: dict[str, tuple[_Loader, tuple[str, ...]]] = {
    "conll2002_esp": (_load_columns, ("train", "testa", "testb")),
    "conll2000_chunking": (_load_columns, ("train", "test")),
    "ud_english_ewt_pos": (_load_columns, ("train", "dev", "test")),
    "bc2gm": (_load_columns, ("train", "devel", "test")),
    "ocr_letters": (_load_ocr, ("train", "test")),
    "wipo_alpha_d": (_load_classes, ("train", "test")),
    "cora_big": (_load_classes, ("train",)),
    "newsgroups20": (_load_classes, ("train", "test")),
    "webkb_course": (_load_classes, ("train",)),
    "citation_cora": (_load_classes, ("train",)),
    "citation_citeseer": (_load_classes, ("train",)),
    "regression": (_load_numbers, tuple(_REGRESSION.split())),
    "kdd98_proxy": (_load_numbers, ("train",)),
    "kdd98": (_load_numbers, ("train",)),
    "ssl_book": (_load_ssl_book, _SSL_BOOK),
    "protein_cb513": (_load_protein, ("train",)),
    "ptb_wsj_sample": (_load_trees, ("train",)),
    "cess_esp": (_load_trees, ("train",)),
    "dedupe": (_load_records, _DEDUPE),
    "email": (_load_mail, ("spamassassin", "enron_ham_raw_open", "phishing_pot_le40k")),
}
