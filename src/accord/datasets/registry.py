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
ptb_wsj_sample        train (all sentences)           English words, parse trees (nested lists)
cess_esp              train (all sentences)           Spanish words, parse trees
dedupe                one for each set: febrl1, ...   records (dicts of cells), the cluster of each
email                 one for each: spamassassin, ..  raw mails (bytes), spam or ham; batches in ``extra``
====================  ==============================  =========================================================
"""

from __future__ import annotations

import os
from pathlib import Path

from accord.datasets.loaders import LOADERS, SEPARATE, Dataset
from accord.exceptions import InputError

__all__ = ["ENVIRONMENT_VARIABLE", "Dataset", "available", "data_home", "load"]

ENVIRONMENT_VARIABLE = "ACCORD_DATA"


def data_home(data: str | os.PathLike[str] | None = None) -> Path:
    """The local data folder: `data` if given, else what ``ACCORD_DATA`` names.

    Raises
    ------
    InputError
        Neither is given, or the folder does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(data_home(folder) == Path(folder))
    True
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
    """Names of the data sets that `load` can read from the local data folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "protein_cb513").mkdir()
    ...     print(available(folder))
    ['protein_cb513']
    """
    home = data_home(data)
    return [name for name in LOADERS if (home / name).is_dir()]


def load(name: str, data: str | os.PathLike[str] | None = None, part: str = "train", extra: bool = False) -> Dataset:
    """Read a data set, or one part of it.

    Parameters
    ----------
    name : str
        One of the names in the table above.
    data : path, optional
        The local data folder; by default ``ACCORD_DATA``.
    part : str
        A part from the table, or ``"all"`` for all of them in the table's order. The sets of ``regression``,
        ``ssl_book``, ``dedupe`` and ``email`` cannot be put together; the error message for a wrong name lists them.
    extra : bool
        Also fill `Dataset.extra`: ``pos`` for the token sets that have it, ``cites`` and ``authors`` for cora_big,
        ``subject`` for newsgroups20, ``anchor`` (word counts of the links to a page) for webkb_course, ``links``
        (papers × papers, symmetric) for the citation sets; ``columns`` (names) and ``attribute`` (which attribute a
        column belongs to: nominal ones have several columns) for the sets with numbers to predict; ``labeled_10`` and
        ``labeled_100`` (12, 10 or 100) for ssl_book: the examples that are labeled in each of its splits; ``tags``
        (parts of speech) and ``documents`` (the file that a sentence is from) for the treebanks; ``batch`` (-1: none),
        ``likeness`` (to the most typical mail of the batch) and ``is_short`` for mail.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "protein_cb513").mkdir()
    ...     _ = (Path(folder) / "protein_cb513" / "cb513.domains.tsv").write_text("MKV\\tCHH\\n")
    ...     found = load("protein_cb513", folder)
    >>> found.X, found.Y
    ([['M', 'K', 'V']], [['C', 'H', 'H']])
    """
    if name not in LOADERS:
        raise InputError(f"name={name!r} is not a known data set; choose from {', '.join(LOADERS)}")
    loader, parts = LOADERS[name]
    allowed = parts if name in SEPARATE else (*parts, "all")
    if part not in allowed:
        raise InputError(f"part={part!r} does not exist for {name}; choose from {', '.join(allowed)}")
    folder = data_home(data) / name
    if not folder.is_dir():
        raise InputError(
            f"the folder {str(folder)!r} is missing; data= or {ENVIRONMENT_VARIABLE} must name a data folder "
            f"with a sub-folder {name!r}"
        )
    return loader(name, folder, tuple(parts) if part == "all" else (part,), extra)
