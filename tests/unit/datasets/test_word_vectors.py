"""Files of word vectors: what other tools write, and what is broken."""

import json
import struct

import numpy as np
import pytest

from accord import Embeddings
from accord.datasets.formats.word_vectors import Wanted, read_word_vectors
from accord.exceptions import FormatError, InputError

WORDS = ["de", "la", "San José", "ñ", "de"]
MATRIX = np.array([[1.0, -2.0, 0.5], [0.0, 0.25, 3.0], [4.0, 4.0, 4.0], [-1.0, 0.0, 0.0], [9.0, 9.0, 9.0]])
ALL = Wanted()


def binary(words, matrix, end=b""):
    body = b"".join(w.encode() + b" " + row.astype("<f4").tobytes() + end for w, row in zip(words, matrix))
    return f"{len(words)} {matrix.shape[1]}\n".encode() + body


def safetensors(matrix, dtype="F32", more=None, **changes):
    data = matrix if isinstance(matrix, bytes) else matrix.astype("<f4").tobytes()
    entry = {"dtype": dtype, "shape": [5, 3], "data_offsets": [0, len(data)], **changes}
    header = json.dumps({"__metadata__": {"a": "b"}, "vectors": entry, **(more or {})}).encode()
    return struct.pack("<Q", len(header)) + header + data


def write(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


def test_binary_files_of_word2vec(tmp_path):
    words = [word.replace(" ", "_") for word in WORDS]
    for end in (b"", b"\n"):
        found, matrix = read_word_vectors(write(tmp_path, "v.bin", binary(words, MATRIX, end)), ALL)
        assert found == words[:4]
        np.testing.assert_array_equal(matrix, MATRIX[:4])
    found, matrix = read_word_vectors(tmp_path / "v.bin", Wanted(frozenset(["ñ", "la"]), 1))
    assert found == ["de", "la", "ñ"]
    np.testing.assert_array_equal(matrix, MATRIX[[0, 1, 3]])


@pytest.mark.parametrize("vocabulary", ["lines", "json", "dict", "tokenizer", "list"])
def test_matrices_with_a_vocabulary(tmp_path, vocabulary):
    np.save(tmp_path / "v.npy", MATRIX.astype(np.float16))
    words = ["a", "b", "c", "d", "e"]
    rows = {word: row for row, word in reversed(list(enumerate(words)))}
    given = {
        "lines": lambda: write(tmp_path, "words.txt", "\n".join(words).encode()),
        "json": lambda: write(tmp_path, "words.json", json.dumps(words).encode()),
        "dict": lambda: rows,
        "tokenizer": lambda: write(tmp_path, "t.json", json.dumps({"model": {"vocab": rows}}).encode()),
        "list": lambda: words,
    }[vocabulary]()
    found, matrix = read_word_vectors(tmp_path / "v.npy", Wanted(frozenset(["e", "b"])), given)
    assert found == ["b", "e"]
    np.testing.assert_array_equal(matrix, MATRIX[[1, 4]])


def test_safetensors(tmp_path):
    path = write(
        tmp_path,
        "v.safetensors",
        safetensors(MATRIX, more={"bias": {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}}),
    )
    found, matrix = read_word_vectors(path, ALL, WORDS)
    assert found == WORDS[:4]
    np.testing.assert_array_equal(matrix, MATRIX[:4])
    upper = (MATRIX.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()  # exact, because values are short
    path = write(tmp_path, "b.safetensors", safetensors(upper, "BF16"))
    np.testing.assert_array_equal(read_word_vectors(path, ALL, WORDS)[1], MATRIX[:4])


def test_a_view_of_a_matrix(tmp_path):
    np.save(tmp_path / "v.npy", MATRIX)
    view = Embeddings(str(tmp_path / "v.npy"), vocabulary=["rome", "b", "c", "d", "e"], normalize=False, scale=1.0)
    np.testing.assert_array_equal(view.fit_rows([["Rome", "?"]]).matrix().toarray(), [[1, -2, 0.5, 0], [0, 0, 0, 1]])
    with pytest.raises(InputError, match="vocabulary"):
        Embeddings(str(tmp_path / "v.npy")).fit([["Rome"]])


BROKEN = {
    "no header.bin": b"de la\n",
    "empty.bin": b"",
    "short.bin": binary(WORDS, MATRIX)[:-1],
    "nothing.bin": b"3 2\n",
    "not finite.bin": binary(["a"], np.array([[np.nan]])),
    "long.safetensors": b"\xff" * 16,
    "no json.safetensors": struct.pack("<Q", 4) + b"aaaa",
    "list.safetensors": struct.pack("<Q", 4) + b"[1] ",
    "type.safetensors": safetensors(MATRIX, "I32"),
    "place.safetensors": safetensors(MATRIX, data_offsets=[4, 64]),
    "before.safetensors": safetensors(MATRIX, data_offsets=[-4, 56]),
    "size.safetensors": safetensors(MATRIX, shape=[5, 4]),
    "negative.safetensors": safetensors(MATRIX, shape=[-5, -3]),
    "none.safetensors": safetensors(MATRIX, shape=[15]),
    "two.safetensors": safetensors(MATRIX, more={"other": {"dtype": "F32", "shape": [5, 3], "data_offsets": [0, 60]}}),
    "not finite.safetensors": safetensors(np.full((5, 3), np.inf)),
    "no array.npy": b"12345678",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_named(tmp_path, name):
    path = write(tmp_path, name, BROKEN[name])
    with pytest.raises(FormatError, match=name):
        read_word_vectors(path, ALL, None if name.endswith("bin") else WORDS)


def test_arrays_of_objects_are_not_unpickled(tmp_path):
    np.save(tmp_path / "o.npy", np.array([{}], object))
    with pytest.raises(FormatError, match="NumPy"):
        read_word_vectors(tmp_path / "o.npy", ALL, ["a"])


@pytest.mark.parametrize("vocabulary", [["a"], {"a": 1}, {"a": 0, "b": 2}, [1, 2, 3, 4, 5], 7, None])
def test_vocabularies_that_do_not_fit(tmp_path, vocabulary):
    np.save(tmp_path / "v.npy", MATRIX)
    with pytest.raises((InputError, FormatError), match="vocabulary"):
        read_word_vectors(tmp_path / "v.npy", ALL, vocabulary)


def test_a_vocabulary_beside_words(tmp_path):
    with pytest.raises(InputError, match="vocabulary is for"):
        read_word_vectors(write(tmp_path, "v.txt", b"a 1\n"), ALL, ["a"])
