"""Charsets of mail: text in any of them to UTF-8, in time that grows with the length of the text only.

A charset's name comes from whoever wrote the mail. Python would look any name up: it would find codecs that are not for
mail (``punycode`` takes quadratic time), and remember for ever what it does not find. So names are looked up here, in a
table of charsets that mail is written in; tests give each of them hostile bytes.
"""

from __future__ import annotations

from encodings.aliases import aliases

_CODECS = (
    "ascii", "utf_8", "utf_8_sig", "utf_7", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le",
    "latin_1", *(f"iso8859_{k}" for k in (*range(1, 12), *range(13, 17))), *(f"cp{k}" for k in range(1250, 1259)),
    "koi8_r", "koi8_t", "koi8_u", "kz1048", "ptcp154", "tis_620", "hp_roman8",
    "gb2312", "gbk", "gb18030", "hz", "big5", "big5hkscs", "cp950",
    "shift_jis", "shift_jis_2004", "shift_jisx0213", "cp932", "euc_jp", "euc_jis_2004", "euc_jisx0213", "iso2022_jp",
    "iso2022_jp_1", "iso2022_jp_2", "iso2022_jp_2004", "iso2022_jp_3", "iso2022_jp_ext",
    "euc_kr", "cp949", "johab", "iso2022_kr",
    *(f"cp{k}" for k in (437, 720, 737, 775, 850, 852, *range(855, 859), *range(860, 867), 869, 874, 1125)),
    "mac_roman", "mac_cyrillic", "mac_greek", "mac_iceland", "mac_latin2", "mac_turkish",
)  # fmt: skip
# in these, ASCII bytes may mean other characters
_NOT_ASCII = frozenset(c for c in _CODECS if c.startswith(("utf_7", "utf_16", "utf_32", "hz", "iso2022")))
_MOST_NAME = 40  # characters of a charset's name


def _squeezed(name: str) -> str:
    """Letters and digits of a name: people do not agree on the rest."""
    return "".join(filter(str.isalnum, name.lower()))


_BY_NAME = {_squeezed(codec): codec for codec in _CODECS}
_BY_NAME |= {_squeezed(alias): codec for alias, codec in aliases.items() if codec in _BY_NAME.values()}


def codec_of(charset: bytes) -> str:
    """Python's name of a charset; nothing if mail is not written in it.

    >>> codec_of(b"ISO_8859-1:1987"), codec_of(b'"Windows-1252"'), codec_of(b"punycode")
    ('latin_1', 'cp1252', '')
    """
    if len(charset) > _MOST_NAME:
        return ""
    return _BY_NAME.get(_squeezed(charset.decode("ascii", "replace")), "")


def as_utf8(content: bytes, charset: bytes) -> bytes:
    """The same text in UTF-8.

    What is declared UTF-8, ASCII or nothing is trusted if it can be, and Latin-1 otherwise, as is what is in a charset
    that we do not know.
    """
    codec = codec_of(charset) if charset else "utf_8"
    if content.isascii() and codec not in _NOT_ASCII:
        return content
    try:
        if codec in ("utf_8", "ascii"):
            content.decode("utf-8")
            return content
        if codec:
            return content.decode(codec, "replace").encode("utf-8", "replace")
    except Exception:  # wrong UTF-8; and nothing that a codec may trip over is to stop us
        pass
    return content.decode("latin-1").encode("utf-8")
