"""How the files of each public data set are read; `accord.datasets.registry` says what there is."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from accord.datasets import trees
from accord.datasets.formats import iter_conll, read_taxonomy, read_trees
from accord.datasets.formats.record_table import read_records
from accord.datasets.formats.source import iter_lines
from accord.datasets.numbers import Numbers, read_learning_file, read_numbers, with_indicators
from accord.datasets.stored import (
    stored_arrays,
    stored_file,
    stored_levels,
    stored_members,
    stored_sparse,
    stored_table,
)
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
    with open(path, encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
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
_TREES = {"ptb_wsj_sample": "wsj", "cess_esp": "cess_esp"}
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
    "ptb_wsj_sample": (_load_trees, ("train",)),
    "cess_esp": (_load_trees, ("train",)),
    "dedupe": (_load_records, _DEDUPE),
    "email": (_load_mail, ("spamassassin", "enron_ham_raw_open", "phishing_pot_le40k")),
}
