"""Tf-idf rows of texts: `TextFeatures` against scikit-learn's `TfidfVectorizer`, with the same matrix.

    python benchmarks/texts.py DATA [--rounds 5]

DATA is the folder of data sets; 20 newsgroups is read. Runs are interleaved, and the best of each side counts, in
seconds of processor time, so that neither a busy machine nor the order of runs decides.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from accord import TextFeatures

CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "words": ({}, {"sublinear_tf": True, "min_df": 2}),
    "words and pairs": ({"words": 2}, {"sublinear_tf": True, "min_df": 2, "ngram_range": (1, 2)}),
    "3-grams": ({"words": 0, "ngrams": (3,)}, {"sublinear_tf": True, "min_df": 2, "analyzer": "char_wb",
                                               "ngram_range": (3, 3)}),
}  # fmt: skip


def _seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def _check_same(ours: Any, theirs: Any) -> None:
    """Same shape and entries; columns are compared by their sums, whatever their order."""
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    assert ours.nnz == theirs.nnz
    sums = [np.sort(np.asarray(matrix.sum(axis=0)).ravel()) for matrix in (ours, theirs)]
    np.testing.assert_allclose(*sums, rtol=1e-9)


def main() -> None:
    """Print a line for each kind of features."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    options = parser.parse_args()
    with gzip.open(options.data / "newsgroups20" / "newsgroups20.jsonl.gz", "rt", encoding="utf-8") as lines:
        posts = [json.loads(line) for line in lines]
    texts = [f"{post['subject']}\n{post['body']}" for post in posts if post["split"] == "train"]
    print(f"{len(texts):,} texts, {sum(map(len, texts)):,} characters")
    for name in options.cases:
        own, settings = CASES[name]
        TextFeatures(bias=False, **own).fit(texts[:50])  # compiles
        ours, theirs = [], []
        for _ in range(options.rounds):
            seconds, mine = _seconds(lambda own=own: TextFeatures(bias=False, **own).fit_rows(texts).table)
            ours.append(seconds)
            seconds, peer = _seconds(lambda settings=settings: TfidfVectorizer(**settings).fit_transform(texts))
            theirs.append(seconds)
        _check_same(mine, peer)
        print(
            f"{name:16s} Accord {min(ours):6.2f} s, scikit-learn {min(theirs):6.2f} s: {min(theirs) / min(ours):.1f} x"
        )


if __name__ == "__main__":
    main()
