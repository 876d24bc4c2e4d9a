"""Lines from files, pipes and streams: encodings, gzip, line ends, line numbers in errors."""

import gzip
import io
import sys

import pytest

from accord.datasets.formats.source import iter_lines, iter_text, split_blanks
from accord.exceptions import FormatError, InputError


def test_line_ends_and_missing_last_newline(tmp_path):
    path = tmp_path / "f.txt"
    path.write_bytes(b"a\r\nb\n\nc")
    assert list(iter_lines(path)) == ["a", "b", "", "c"]


def test_only_newlines_end_lines_and_only_blanks_split_tokens(tmp_path):
    path = tmp_path / "f.txt"
    path.write_text("a\u2028b\x85c d\xa0e\n", encoding="utf-8")
    assert list(iter_lines(path)) == ["a\u2028b\x85c d\xa0e"]
    assert list(iter_text(path)) == [["a\u2028b\x85c", "d\xa0e"]]


def test_carriage_return_at_a_chunk_border():
    class Pieces(io.BytesIO):
        def read1(self, size=-1):
            return super().read1(1)

    assert list(iter_lines(Pieces(b"ab\r\nc\r\n"))) == ["ab", "c"]
    assert list(iter_lines(Pieces(gzip.compress("ñandú\nx".encode())))) == ["ñandú", "x"]


def test_byte_order_mark_is_dropped(tmp_path):
    path = tmp_path / "f.txt"
    path.write_bytes("\ufeffword\n".encode())
    assert list(iter_lines(path)) == ["word"]


def test_gzip_is_known_by_content_and_may_have_members(tmp_path):
    path = tmp_path / "no_suffix"
    path.write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\n") + b"\0\0")
    assert list(iter_lines(path)) == ["a", "bc"]


def test_truncated_and_damaged_gzip(tmp_path):
    path = tmp_path / "f.gz"
    packed = gzip.compress(b"line\n" * 1000)
    path.write_bytes(packed[:-4])
    with pytest.raises(FormatError, match=r"f\.gz: gzip data end too early"):
        list(iter_lines(path))
    path.write_bytes(packed[:20] + bytes([packed[20] ^ 255]) + packed[21:])
    with pytest.raises(FormatError, match="damaged gzip"):
        list(iter_lines(path))


@pytest.mark.parametrize("n_before", [0, 2, 30_000])
def test_wrong_encoding_names_line_and_remedy(tmp_path, n_before):
    path = tmp_path / "latin.txt"
    path.write_bytes("ñandú\n".encode() * n_before + b"ok\nmal \xf1o\n")
    with pytest.raises(FormatError, match=r"0xf1 is not valid utf-8.*encoding=") as caught:
        list(iter_lines(path))
    assert caught.value.line == n_before + 2
    assert caught.value.path == str(path)
    path.write_bytes(b"mal \xf1o\n")
    assert list(iter_lines(path, "latin-1")) == ["mal ño"]


def test_truncated_last_character_is_an_error(tmp_path):
    path = tmp_path / "f.txt"
    path.write_bytes(b"one\ntwo\xc3")
    with pytest.raises(FormatError) as caught:
        list(iter_lines(path))
    assert caught.value.line == 2


def test_utf16(tmp_path):
    path = tmp_path / "f.txt"
    path.write_text("a ñ\nb\n", encoding="utf-16")
    assert list(iter_lines(path, "utf-16")) == ["a ñ", "b"]


def test_text_stream_with_wrong_encoding(tmp_path):
    path = tmp_path / "f.txt"
    path.write_bytes(b"one\n\xff\n")
    with open(path, encoding="utf-8") as stream, pytest.raises(FormatError, match="not valid utf-8"):
        list(iter_lines(stream))


def test_unknown_encoding_and_wrong_source():
    with pytest.raises(InputError, match="the encoding 'klingon'"):
        list(iter_lines(io.BytesIO(b""), "klingon"))
    with pytest.raises(InputError, match="source must be a path"):
        list(iter_lines(17))


def test_standard_input_and_open_files_stay_open(monkeypatch):
    stream = io.BytesIO(b"from a pipe\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    assert list(iter_text("-")) == [["from", "a", "pipe"]]
    assert not stream.closed
    text = io.StringIO("x y\n")
    assert list(iter_text(text)) == [["x", "y"]]
    assert not text.closed


def test_a_pipe_is_served_before_it_ends():
    class Pipe(io.RawIOBase):
        """Delivers one line, and fails if asked for more before that line was handed on."""

        def __init__(self):
            self.pieces = [b"first line\n"]

        def readable(self):
            return True

        def read1(self, size=-1):
            if not self.pieces:
                raise AssertionError("asked for more than one line")
            return self.pieces.pop()

        def read(self, size=-1):
            return b""

    assert next(iter_text(Pipe())) == ["first", "line"]


def test_text_keeps_empty_lines():
    assert list(iter_text(io.StringIO("a b\n\n \t\nc"))) == [["a", "b"], [], [], ["c"]]
    assert list(iter_text(io.StringIO(""))) == []


def test_split_blanks_drops_empty_pieces():
    assert split_blanks("  a \t b ") == ["a", "b"]
    assert split_blanks("") == []
