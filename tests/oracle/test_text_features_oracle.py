"""Token features against plain string operations, for any Unicode text."""

from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord import TokenFeatures

GREEK_NAMES = """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu
    nu xi omicron pi rho sigma tau upsilon phi chi psi omega"""
PAIRS = ["()", "[]", "{}", ("-LRB-", "-RRB-"), "«»", "“”", "‘’", '""', "''", ("``", "''")]


def shape(token):
    return "".join(
        "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else "c" if c.isalpha() else c for c in token
    )


def is_greek(c):
    return c.isalpha() and (0x370 <= ord(c) <= 0x3FF or 0x1F00 <= ord(c) <= 0x1FFF)


def clues(token):
    runs = ["".join(run) for letters, run in groupby(token.lower(), str.isalpha) if letters]
    triples = zip(token, token[1:], token[2:])
    found = {
        "initial-upper": token[:1].isupper(),
        "initial-lower": token[:1].islower(),
        "all-upper": any(c.isupper() for c in token) and not any(c.islower() for c in token),
        "mixed-case": any(c.isupper() for c in token[1:]) and any(c.islower() for c in token),
        "digit-dot-digit": any(a.isdigit() and b == "." and c.isdigit() for a, b, c in triples),
        "digit": any(c.isdigit() for c in token),
        "number": token != "" and all(c.isdigit() for c in token),
        "symbol": any(not c.isalnum() for c in token),
        "punctuation": token != "" and not any(c.isalnum() for c in token),
        "greek": any(is_greek(c) for c in token) or any(run in GREEK_NAMES.split() for run in runs),
    }
    return {name for name, yes in found.items() if yes}


def token_names(token, view):
    names = set()
    if view.token:
        names.add(f"token={token}")
    if view.lower:
        names.add(f"lower={token.lower()}")
    for n in view.affixes or ():
        if n <= len(token):
            names |= {f"prefix{n}={token[:n]}", f"suffix{n}={token[-n:]}"}
    for n in view.ngrams or ():
        names |= {f"ngram{n}={token[i : i + n]}" for i in range(len(token) - n + 1)}
    if view.shape:
        names |= {f"shape={shape(token)}", "short-shape=" + "".join(c for c, _ in groupby(shape(token)))}
    if view.clues:
        names |= clues(token)
        names.add("length=10+" if len(token) >= 10 else f"length={len(token)}")
        for i, c in enumerate(token[: view.case_positions]):
            if i > 0 and c.isupper():
                names.add(f"upper-at={i + 1}")
            elif i > 0 and c.islower():
                names.add(f"lower-at={i + 1}")
    return names


def enclosed(sentence):
    """For every token, whether some pair of marks encloses it: match each closing mark with the nearest open one."""
    inside = [False] * len(sentence)
    for pair, (opening, closing) in enumerate(PAIRS):
        toggles = pair >= 7
        stack = []
        for t, token in enumerate(sentence):
            if token == "''" and (opening, closing) != ("``", "''"):
                continue
            is_open = token == opening if not toggles else token == opening != closing
            is_close = token == closing
            if toggles and is_close and not stack:
                is_open, is_close = True, False
            if is_open:
                stack.append(t)
            elif is_close and stack:
                begin = stack.pop()
                for s in range(begin + 1, t):
                    inside[s] = True
    return inside


def sentence_names(sentence, view):
    before, after = (view.window, view.window) if isinstance(view.window, int) else view.window
    rows = []
    for t in range(len(sentence)):
        names = {"bias"} if view.bias else set()
        if view.position:
            names |= {"initial"} if t == 0 else set()
            names |= {"last"} if t == len(sentence) - 1 else set()
            names |= {"enclosed"} if enclosed(sentence)[t] else set()
        for shift in range(-before, after + 1):
            here = f"{shift:+d}:" if shift else "0:"
            inside = 0 <= t + shift < len(sentence)
            names |= {here + name for name in (token_names(sentence[t + shift], view) if inside else {"boundary"})}
        rows.append(names)
    return rows


def row_names(view, rows):
    """The features of every row as sets of names; every value must be 1."""
    matrix = rows.matrix()
    assert np.all(matrix.data == 1.0)
    assert matrix.shape == (rows.n_rows, view.n_dims_)
    return [set(view.feature_names(matrix.indices[a:b])) for a, b in zip(matrix.indptr, matrix.indptr[1:])]


def split(names, offsets):
    return [names[a:b] for a, b in pairwise(offsets)]


MARKS = ["(", ")", "[", "]", '"', "'", "``", "''", "«", "»", "-LRB-", "-RRB-", "“", "”"]
TRICKY = [
    "",
    "3.5",
    "TGF-alpha1",
    "kDa",
    "İstanbul",
    "ΟΔΟΣ",
    "ǅ",
    "½",
    "x²",
    "β",
    "Ⓐ",
    "EE.UU.",
    "aaaa",
    "漢字",
    "\ud800",
    "pi",
]
TOKENS = st.one_of(
    st.sampled_from(MARKS), st.sampled_from(TRICKY), st.text(max_size=12), st.text("abAB1.-", max_size=6)
)
CORPORA = st.lists(st.lists(TOKENS, max_size=7), max_size=5)
VIEWS = st.builds(
    TokenFeatures,
    window=st.one_of(st.integers(0, 2), st.tuples(st.integers(0, 2), st.integers(0, 1))),
    token=st.booleans(),
    lower=st.booleans(),
    affixes=st.sampled_from([None, (1, 2, 3, 4), (3,)]),
    ngrams=st.sampled_from([None, (2, 3, 4), (2, 4)]),
    shape=st.booleans(),
    clues=st.booleans(),
    case_positions=st.integers(0, 6),
    position=st.booleans(),
    bias=st.booleans(),
)


@settings(max_examples=30)
@given(view=VIEWS, X=CORPORA)
def test_fit_gives_every_feature_of_every_token(view, X):
    rows = view.fit_rows(X)
    assert split(row_names(view, rows), rows.offsets) == [sentence_names(sentence, view) for sentence in X]


@settings(max_examples=25)
@given(view=VIEWS, X=CORPORA, new=CORPORA)
def test_transform_keeps_the_features_that_fit_has_seen(view, X, new):
    view.fit(X)
    known = set(view.feature_names(range(view.n_dims_)))
    rows = view.transform(new)
    expected = [[names & known for names in sentence_names(sentence, view)] for sentence in new]
    assert split(row_names(view, rows), rows.offsets) == expected
    assert rows.table is view.table_


@settings(max_examples=20)
@given(view=VIEWS, X=CORPORA, new=CORPORA)
def test_a_view_that_grows_knows_all_features_and_keeps_old_numbers(view, X, new):
    view.fit(X)
    before = view.feature_names(range(view.n_dims_))
    rows = view.extend_rows(new)
    assert view.feature_names(range(len(before))) == before
    assert split(row_names(view, rows), rows.offsets) == [sentence_names(sentence, view) for sentence in new]
    again = view.transform(X)
    assert split(row_names(view, again), again.offsets) == [sentence_names(sentence, view) for sentence in X]


@settings(max_examples=20)
@given(view=VIEWS, X=CORPORA, min_count=st.integers(2, 3))
def test_rare_features_are_left_out(view, X, min_count):
    view.set_params(min_count=min_count)
    rows = view.fit_rows(X)
    counts: dict[str, int] = {}
    for sentence in X:
        for token in sentence:
            for name in token_names(token, view):
                counts[name] = counts.get(name, 0) + 1

    def frequent(name):
        return (
            ":" not in name or name.split(":", 1)[1] == "boundary" or counts.get(name.split(":", 1)[1], 0) >= min_count
        )

    expected = [[set(filter(frequent, names)) for names in sentence_names(sentence, view)] for sentence in X]
    assert split(row_names(view, rows), rows.offsets) == expected


@pytest.mark.parametrize("token", ["Zabala", "Ωmega", "x" * 50])
def test_names_are_distinct(token):
    view = TokenFeatures(ngrams=(2, 3, 4)).fit([[token, "otro"]])
    names = view.feature_names(range(view.n_dims_))
    assert len(set(names)) == len(names)
