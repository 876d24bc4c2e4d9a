"""Turns a data set into the files that the contestants read, and checks that all features agree.

Written to the work folder (outside the repository): tokens and labels, and the feature numbers of every token for the
peers that take numbers rather than strings.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import features
import numpy as np

from accord import ArrayFeatures, TokenFeatures
from accord.datasets import registry
from accord.packed.rows import Rows

TEST_PART = {"conll2002_esp": "testb"}
SETS = ("conll2002_esp", "conll2000_chunking", "ud_english_ewt_pos", "ocr_letters")
UNTYPED = "conll2002_esp_untyped"  # the first sentences, with B, I and O only: all that dlib's segmenter can do
N_UNTYPED = 1000
N_QUICK = (1000, 400)  # sentences for training and testing with --quick
N_CHECKED = 300  # sentences whose features are compared one by one


def untyped(Y: list[list[str]]) -> list[list[str]]:
    """Span labels without their types. A span that starts with I, or changes type, starts with B here."""
    out = []
    for y in Y:
        kinds = [(label[0], label[2:]) for label in y]
        before = [("O", ""), *kinds]
        out.append(
            [
                "B-X" if k == "B" or (k == "I" and (b == "O" or kind != last)) else "I-X" if k == "I" else "O"
                for (k, kind), (b, last) in zip(kinds, before)
            ]
        )
    return out


def read(name: str, data: str | None, quick: bool) -> tuple[list[Any], ...]:
    """Training and test inputs and outputs; images become bytes, which need no library to read."""
    source = "conll2002_esp" if name == UNTYPED else name
    parts = []
    for part, limit in zip(("train", TEST_PART.get(source, "test")), N_QUICK):
        loaded = registry.load(source, data, part)
        X, Y = loaded.X, loaded.Y
        if source == "ocr_letters":
            X = [[image.astype(np.uint8).tobytes() for image in word] for word in X]
        if name == UNTYPED:
            Y = untyped(Y)
            limit = N_UNTYPED if part == "train" and not quick else limit // 4 if quick else len(X)
        elif not quick:
            limit = len(X)
        parts += [X[:limit], Y[:limit]]
    X_train, Y_train, X_test, Y_test = parts
    return X_train, Y_train, X_test, Y_test


def images_as_arrays(X: list[list[bytes]]) -> list[np.ndarray]:
    """What Accord takes for handwritten words: one matrix per word."""
    return [np.stack([np.frombuffer(image, np.uint8) for image in word]).astype(np.float64) for word in X]


def check_features(X: list[list[str]], view: TokenFeatures, rows: Rows) -> None:
    """Both sides make the same features: of every distinct token, and of the tokens of some sentences."""
    tokens = dict.fromkeys(token for x in X for token in x)
    alone = view.transform([[token] for token in tokens]).matrix()
    some = np.linspace(0, len(X) - 1, min(N_CHECKED, len(X))).astype(int)
    in_sentences = rows.take(some).matrix()
    expected = [features.sentence_features([token])[0] for token in tokens]
    expected += [row for i in some for row in features.sentence_features(X[i])]
    names = np.array(view.feature_names(range(view.n_dims_)), dtype=object)
    at = 0
    for matrix in (alone, in_sentences):
        for lo, hi in zip(matrix.indptr[:-1], matrix.indptr[1:]):
            if set(names[matrix.indices[lo:hi]]) != set(expected[at]) or len(expected[at]) != hi - lo:
                difference = set(names[matrix.indices[lo:hi]]) ^ set(expected[at])
                sys.exit(f"the features of {expected[at][1]!r} differ between Accord and plain Python: {difference}")
            at += 1


def save_numbers(folder: Path, part: str, rows: Rows) -> float:
    """Write the feature numbers of every token; returns how many a token has on average."""
    matrix = rows.matrix()
    matrix.sort_indices()
    np.savez(
        folder / f"{part}.npz",
        indptr=matrix.indptr.astype(np.int64),
        indices=matrix.indices.astype(np.int32),
        offsets=rows.offsets,
        n_dims=rows.n_dims,
    )
    return matrix.nnz / max(matrix.shape[0], 1)


def main() -> None:
    """Prepare one set; prints its size as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", required=True, choices=(*SETS, UNTYPED))
    parser.add_argument("--data")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    folder = args.work / args.set
    folder.mkdir(parents=True, exist_ok=True)
    X_train, Y_train, X_test, Y_test = read(args.set, args.data, args.quick)
    with open(folder / "data.pkl", "wb") as file:
        pickle.dump((X_train, Y_train, X_test, Y_test), file)
    if args.set == "ocr_letters":
        view: Any = ArrayFeatures()
        rows = view.fit_rows(images_as_arrays(X_train))
        test_rows = view.transform(images_as_arrays(X_test))
    else:
        view = TokenFeatures(window=1)
        rows = view.fit_rows(X_train)
        test_rows = view.transform(X_test)
        check_features(X_train, view, rows)
    per_token = save_numbers(folder, "train", rows)
    save_numbers(folder, "test", test_rows)
    size = {
        "sentences": len(X_train),
        "tokens": sum(map(len, X_train)),
        "test_sentences": len(X_test),
        "test_tokens": sum(map(len, X_test)),
        "labels": len({label for y in Y_train for label in y}),
        "features": int(rows.n_dims),
        "features_per_token": round(per_token, 1),
    }
    print(json.dumps(size))


if __name__ == "__main__":
    main()
