"""Splits and lists of views: every feature in its views and nowhere else, in the layout of the joint rows."""

import pickle
import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from row_tables import each_row
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import accord
from accord import (
    ArrayFeatures,
    ConcatenatedViews,
    DictFeatures,
    FeatureGroups,
    IndependentSplit,
    KernelFeatures,
    OddEvenSplit,
    RandomSplit,
    Select,
    TokenFeatures,
)
from accord.exceptions import InputError
from accord.kernels.features import sparse as kernels
from accord.packed.rows import Rows
from accord.views.compose import as_view
from accord.views.splits import check_channels

RNG = np.random.default_rng(1)
TEXT = [["Ana", "sees", "(", "Tom", ")"], [], ["Tom", "runs", "."], ["Eva"]]
WORDS = [["Ana"], ["Tom"], ["runs"]]  # text, and also lists of features of one row each
DICTS = [[{"w": w, "n": len(w) / 2, "all": ["a", "a"]} for w in x] for x in TEXT]
ARRAYS = [RNG.normal(size=(len(x), 4)) for x in TEXT]
MATRIX = np.array([[1.0, 0.0, 2.0, 5.0], [0.0, 3.0, 2.0, 4.0], [5.0, 6.0, 2.0, 3.0]])
BARE = TokenFeatures(window=0, position=False, bias=False)


def by_position(name):
    return "middle" if name.startswith("0:") else "around"


# views whose channels together have every feature once, apart from constant ones
DISJOINT = {
    "random text": (RandomSplit(TokenFeatures(window=(1, 2))), TEXT),
    "three random": (RandomSplit(TokenFeatures(window=1, ngrams=(2,)), n_views=3), TEXT),
    "random bare text": (RandomSplit(BARE, n_views=4), TEXT),
    "random dicts": (RandomSplit(DictFeatures(window=1), n_views=3), DICTS),
    "random matrix": (RandomSplit(ArrayFeatures()), MATRIX),
    "random sparse matrix": (RandomSplit(ArrayFeatures()), sp.csr_array(MATRIX)),
    "random array window": (RandomSplit(ArrayFeatures(window=1)), ARRAYS),
    "random sparse window": (RandomSplit(ArrayFeatures(window=(0, 1))), [sp.csr_array(x) for x in ARRAYS]),
    "random kernel": (RandomSplit(KernelFeatures()), ARRAYS),
    "random list": (RandomSplit([TokenFeatures(window=1), TokenFeatures(window=0, ngrams=(2,))]), TEXT),
    "odd and even": (OddEvenSplit(TokenFeatures(window=1)), TEXT),
    "odd and even matrix": (OddEvenSplit(ArrayFeatures(window=(1, 0))), ARRAYS),
    "independent": (IndependentSplit(TokenFeatures(window=1)), TEXT),
    "independent matrix": (IndependentSplit(ArrayFeatures()), MATRIX),
    "independent kernel": (IndependentSplit(KernelFeatures()), ARRAYS),
    "tokens and clues": (FeatureGroups(TokenFeatures(window=1, ngrams=(3,))), TEXT),
    "positions": (FeatureGroups(TokenFeatures(window=1), by_position), TEXT),
    "array positions": (FeatureGroups(ArrayFeatures(window=1), by_position), ARRAYS),
    "columns": (FeatureGroups(ArrayFeatures(), ["a", "b", "a", "c"]), MATRIX),
    "list": (ConcatenatedViews([TokenFeatures(window=1), TokenFeatures(window=0, bias=False)]), TEXT),
    "dict": (ConcatenatedViews({"poly": KernelFeatures(kernel="poly"), "rbf": KernelFeatures()}), ARRAYS),
    "nested": (ConcatenatedViews([RandomSplit(TokenFeatures()), OddEvenSplit(TokenFeatures(window=2)), BARE]), TEXT),
}
OTHERS = {
    "overlapping": (RandomSplit(TokenFeatures(), n_views=3, share=0.6), TEXT),
    "overlapping matrix": (RandomSplit(ArrayFeatures(), n_views=3, share=0.5), MATRIX),
    "groups in two views": (FeatureGroups(TokenFeatures(), {"a": ["token", "affix"], "b": ["affix"]}), TEXT),
    "one view": (RandomSplit(TokenFeatures(), n_views=1), TEXT),
    "plain": (TokenFeatures(), TEXT),
    "selected": (Select([0, 2], RandomSplit(ArrayFeatures())), MATRIX),
}


def dense(rows):
    return rows.matrix().toarray()


def shares(channels):
    """For each channel, which features it has in some row."""
    return [np.any(dense(channel) != 0, axis=0) for channel in channels]


def seeded(seed=0):
    return np.random.default_rng(seed)


def fitted(case):
    view, X = case
    view = clone(view)
    rows = view.fit_rows(X)
    return view, rows, view.channels(rows, seeded())


each_disjoint = each_row("disjoint", DISJOINT.values(), DISJOINT, fitted)
each_case = each_row("case", [*DISJOINT.values(), *OTHERS.values()], [*DISJOINT, *OTHERS], fitted)


def check_layout(rows: Rows, channel: Rows):
    assert (channel.n_dims, channel.n_rows, channel.n_inputs) == (rows.n_dims, rows.n_rows, rows.n_inputs)
    np.testing.assert_array_equal(channel.base, rows.base)
    np.testing.assert_array_equal(channel.stride, rows.stride)
    np.testing.assert_array_equal(channel.offsets, rows.offsets)
    assert channel.slots.shape == rows.slots.shape
    assert channel.slots.dtype == np.int32
    assert channel.slots.flags.c_contiguous
    assert channel.table.shape[1] == rows.table.shape[1]
    assert isinstance(channel.table, np.ndarray) == isinstance(rows.table, np.ndarray)
    if sp.issparse(channel.table):
        assert (channel.table.indices.dtype, channel.table.indptr.dtype) == (np.int32, np.int64)
    assert np.all((channel.slots >= channel.bounds[:, 0]) & (channel.slots < channel.bounds[:, 1]))


def check_meaning(rows: Rows, channel: Rows):
    """All ways to use the channel give the features of the joint rows that it has, and zero for the others."""
    joint, own = dense(rows), dense(channel)
    has = np.any(own != 0, axis=0)
    np.testing.assert_array_equal(own, joint * has)
    weights = RNG.normal(size=(rows.n_dims, 3))
    np.testing.assert_allclose(channel.scores(weights), own @ weights, atol=1e-12)
    coefficients = RNG.normal(size=(rows.n_rows, 2))
    np.testing.assert_allclose(channel.transpose_scores(coefficients), own.T @ coefficients, atol=1e-12)
    window = channel.window()
    for lo, hi in zip(rows.offsets[:-1], rows.offsets[1:]):
        wide, out = np.empty((hi - lo + 1, window.size * 3)), np.empty((hi - lo, 3))
        kernels.score_rows(channel.features(), window, lo, weights, wide, out)
        np.testing.assert_allclose(out, own[lo:hi] @ weights, atol=1e-12)


def check_sum(rows: Rows, channels: list[Rows], constant: np.ndarray):
    """Each feature in one channel, constant ones in as many as the views that have them."""
    joint, has = dense(rows), np.array(shares(channels))
    free = np.setdiff1d(np.arange(rows.n_dims), constant)
    assert np.all(has[:, free].sum(axis=0) == np.any(joint[:, free] != 0, axis=0))
    np.testing.assert_array_equal(sum(dense(c) for c in channels), joint * has.sum(axis=0))
    weights = [RNG.normal(size=(rows.n_dims, 2)) for _ in channels]
    summed = sum(w * own[:, None] for w, own in zip(weights, has))
    np.testing.assert_allclose(
        sum(c.scores(w) for c, w in zip(channels, weights)), rows.scores(summed), atol=1e-12
    )  # fmt: skip


@each_case
def test_channels_have_the_layout_of_the_joint_rows(case):
    view, rows, channels = case
    assert len(channels) == len(view.view_names()) == len(set(view.view_names()))
    for channel in channels:
        check_layout(rows, channel)
        check_meaning(rows, channel)
        taken = channel.take(np.array([2, 0]))
        np.testing.assert_array_equal(dense(taken), dense(channel)[np.r_[slice(*rows.offsets[2:4]), : rows.offsets[1]]])


@each_disjoint
def test_disjoint_channels_add_up(disjoint):
    view, rows, channels = disjoint
    check_sum(rows, channels, view.constant_features())


SENTENCES = st.lists(
    st.lists(st.sampled_from(["Ana", "a", "B2", "(", ")", "no-1"]), max_size=4), min_size=1, max_size=4
)


@settings(max_examples=40)
@given(SENTENCES, st.integers(0, 2), st.integers(0, 2), st.integers(1, 4), st.integers(0, 9))
def test_random_splits_of_any_text(X, before, after, n_views, seed):
    if not any(X):
        X = [*X, ["word"]]
    view = RandomSplit(TokenFeatures(window=(before, after), ngrams=(2,)), n_views=n_views)
    rows = view.fit_rows(X)
    channels = view.channels(rows, seeded(seed))
    check_sum(rows, channels, np.array([0]))
    for channel in channels:
        check_layout(rows, channel)
        assert channel.window() == rows.window()


@settings(max_examples=40)
@given(st.integers(1, 5), st.integers(2, 7), st.integers(0, 1), st.booleans(), st.integers(0, 99))
def test_random_splits_of_any_matrix(n_rows, n_columns, window, sparse, seed):
    X = seeded(seed).integers(0, 3, size=(n_rows, n_columns)).astype(float)
    X[0, :2] = 1.0, 2.0  # two columns at least can be split
    X = [sp.csr_array(X) if sparse else X]
    view = RandomSplit(ArrayFeatures(window=window))
    rows = view.fit_rows(X)
    channels = view.channels(rows, seeded(seed))
    check_sum(rows, channels, np.array([rows.n_dims - 1]))
    for channel in channels:
        check_layout(rows, channel)
        check_meaning(rows, channel)


# -- random splits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [None, 0.6])
def test_the_generator_decides(share):
    view = RandomSplit(TokenFeatures(), n_views=2, share=share)
    rows = view.fit_rows(TEXT)
    first, again, other = (shares(view.channels(rows, seeded(seed))) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.any(np.array(first) != other)
    rng = seeded(3)
    fresh = [shares(view.channels(rows, rng)) for _ in range(2)]
    np.testing.assert_array_equal(fresh[0], first)
    assert np.any(np.array(fresh[0]) != fresh[1])


@each_row(("n_columns", "sizes"), [(7, [3, 2, 2]), (6, [2, 2, 2]), (3, [1, 1, 1])])
def test_random_views_are_equally_large(n_columns, sizes):
    view = RandomSplit(ArrayFeatures(bias=False), n_views=3)
    channels = view.channels(view.fit_rows(RNG.normal(size=(4, n_columns))), seeded())
    assert sorted(map(np.sum, shares(channels)), reverse=True) == sizes


def test_columns_that_do_not_occur_do_not_count():
    X = np.zeros((3, 10))
    X[:, [1, 4, 6, 7]] = RNG.normal(size=(3, 4))
    for data in (X, sp.csr_array(X)):
        view = RandomSplit(ArrayFeatures(bias=False), n_views=2)
        assert [own.sum() for own in shares(view.channels(view.fit_rows(data), seeded()))] == [2, 2]


def test_overlapping_views_draw_independently():
    view = RandomSplit(ArrayFeatures(), n_views=40, share=0.6)
    has = np.array(shares(view.channels(view.fit_rows(RNG.normal(size=(4, 100))), seeded())))
    assert has[:, 100].all()
    assert np.all(has[:, :100].sum(axis=1) == 60)
    assert len({own.tobytes() for own in has}) == 40
    common = [np.sum(a & b) - 1 for a, b in combinations(has, 2)]  # 36 on average, deviation 2.4
    assert 35 < np.mean(common) < 37
    assert np.std(common) > 1


def test_positions_of_a_window_stay_together():
    view = RandomSplit(TokenFeatures(window=(1, 2)), n_views=3)
    rows = view.fit_rows(TEXT)
    for own in shares(view.channels(rows, seeded())):
        names = {}
        for name in view.feature_names(np.flatnonzero(own)):
            if ":" in name:
                position, column = name.split(":", 1)
                names.setdefault(column, set()).add(position)
        joint = view.feature_names(np.flatnonzero(np.any(dense(rows), axis=0)))
        for column, positions in names.items():
            assert positions == {name.split(":", 1)[0] for name in joint if name.endswith(":" + column)}


@each_row(
    ("view", "X", "n_constant"),
    [
        (TokenFeatures(), TEXT, 1),
        (ArrayFeatures(), MATRIX, 1),
        (ArrayFeatures(window=1), ARRAYS, 1),
        (DictFeatures(), DICTS, 0),
        ([TokenFeatures(), TokenFeatures(window=0, bias=False), TokenFeatures(ngrams=(2,))], TEXT, 2),
    ],
)
def test_the_bias_is_in_every_view(view, X, n_constant):
    split = RandomSplit(view, n_views=3)
    rows = split.fit_rows(X)
    constant = split.constant_features()
    assert len(constant) == n_constant
    assert all(name.endswith("bias") for name in split.feature_names(constant))
    values = dense(rows)[0, constant]
    assert np.all(values > 0)
    assert np.all(dense(rows)[:, constant] == values)
    for own in split.channels(rows, seeded()):
        assert np.all(dense(own)[:, constant] == values)


@each_row(
    ("view", "message"),
    [
        (
            RandomSplit(ArrayFeatures(), n_views=5),
            r"'random5' of RandomSplit has no features: none of the columns of features that X has, 4",
        ),
        (RandomSplit(ArrayFeatures(), share=0.1), r"view 'random1' of RandomSplit has no features"),
        (
            OddEvenSplit(Select([0])),
            r"view 'odd' of OddEvenSplit has no features: none of the columns of features that X has, 1",
        ),
        (FeatureGroups(ArrayFeatures(), [None] * 4), r"FeatureGroups puts no feature into any view"),
        (FeatureGroups(ArrayFeatures(), lambda name: None), r"FeatureGroups puts no feature into any view"),
    ],
)
def test_views_without_features(view, message):
    rows = view.fit_rows(MATRIX)
    with pytest.raises(InputError, match=message):
        view.channels(rows, seeded())


@each_row("n_views", [0, -1, 1.5, True, "two"])
def test_number_of_views(n_views):
    with pytest.raises(InputError, match="n_views is"):
        RandomSplit(ArrayFeatures(), n_views=n_views).fit(MATRIX)


@each_row("share", [0, 1.01, -0.5, "half", True, np.nan])
def test_share_of_columns(share):
    with pytest.raises(InputError, match="share is"):
        RandomSplit(ArrayFeatures(), share=share).fit(MATRIX)


# -- odd and even, groups ---------------------------------------------------------------------------------------------


def test_odd_and_even_columns():
    view = OddEvenSplit(ArrayFeatures(bias="one"))
    odd, even = view.channels(view.fit_rows(MATRIX), seeded())
    assert view.view_names() == ["odd", "even"]
    np.testing.assert_array_equal(dense(odd), np.hstack([MATRIX * [0, 1, 0, 1], np.ones((3, 1))]))
    np.testing.assert_array_equal(dense(even), np.hstack([MATRIX * [1, 0, 1, 0], np.ones((3, 1))]))


def names_of(view, channel):
    return view.feature_names(np.flatnonzero(np.any(dense(channel), axis=0)))


def test_tokens_against_surface_clues():
    view = FeatureGroups(TokenFeatures(window=1, lower=False, affixes=None, ngrams=(2, 3, 4)))
    token, surface = view.channels(view.fit_rows(TEXT), seeded())
    assert view.view_names() == ["token", "surface"]
    kinds = {name.split(":")[-1].split("=")[0] for name in names_of(view, token)}
    assert kinds == {"bias", "token", "ngram2", "ngram3", "ngram4"}
    kinds = {name.split(":")[-1].split("=")[0] for name in names_of(view, surface)}
    assert {"bias", "initial", "enclosed", "boundary", "shape", "length"} < kinds
    assert not kinds & {"token", "ngram2", "ngram3", "ngram4"}


def test_groups_that_no_view_has_are_left_out():
    view = FeatureGroups(TokenFeatures(window=0), {"words": "token", "both": ["token", "shape"]})
    words, both = view.channels(view.fit_rows(TEXT), seeded())
    kinds = {name.split("=")[0] for name in names_of(view, words)}
    assert kinds == {"bias", "0:token", "0:lower"}
    assert {name.split("=")[0] for name in names_of(view, both)} == kinds | {"0:shape", "0:short-shape"}


def test_groups_of_several_views():
    views = {"text": TokenFeatures(window=0), "own": Select(slice(None), BARE), "dicts": DictFeatures()}
    groups = {"a": ["text/token", "dicts"], "b": ["text/clue", "own/affix"]}
    view = FeatureGroups(views, groups)
    a, b = view.channels(view.fit_rows(WORDS), seeded())
    kinds = {name.split("=")[0] for name in names_of(view, a)}
    assert kinds == {"text/bias", "text/0:token", "text/0:lower", "dicts/Ana", "dicts/Tom", "dicts/runs"}
    kinds = {name.split("=")[0].rstrip("1234") for name in names_of(view, b)}
    assert {"text/bias", "own/0:prefix", "own/0:suffix", "text/0:length"} <= kinds
    assert not any(kind.startswith("dicts") for kind in kinds)


def test_groups_by_name():
    view = FeatureGroups(DictFeatures(), lambda name: name.split("=")[0] if name[0] in "wn" else None)
    rows = view.fit_rows(DICTS)
    words, numbers = view.channels(rows, seeded())
    assert view.view_names() == ["w", "n"]
    assert names_of(view, numbers) == ["n"]
    assert set(names_of(view, words)) == {f"w={token}" for x in TEXT for token in x}
    view.extend_rows([[{"w": "new", "name": 1}]])
    assert view.view_names() == ["w", "n", "name"]


def test_positions_as_views():
    view = FeatureGroups(TokenFeatures(window=1), by_position)
    rows = view.fit_rows(TEXT)
    around, middle = view.channels(rows, seeded())
    assert view.view_names() == ["around", "middle"]
    assert all(name == "bias" or name.startswith("0:") for name in names_of(view, middle))
    assert not any(name.startswith("0:") for name in names_of(view, around))


def test_groups_of_columns():
    view = FeatureGroups(Select([1, 2, 3], ArrayFeatures(window=1)), np.array([0, 1, 0]))
    rows = view.fit_rows([MATRIX, MATRIX[:1]])
    zero, one = view.channels(rows, seeded())
    assert view.view_names() == ["0", "1"]
    assert set(names_of(view, zero)) == {"bias", *(f"{p}:x{k}" for p in ("-1", "0", "+1") for k in (0, 2))}
    assert set(names_of(view, one)) == {"bias", *(f"{p}:x1" for p in ("-1", "0", "+1"))}


@each_row(
    ("view", "groups", "message"),
    [
        (TokenFeatures(), {"a": ["tokens"]}, r"groups\['a'\] has 'tokens'; the groups .*'token', 'affix'"),
        (TokenFeatures(), {"a": 3}, r"groups\['a'\] is 3 of type int; expected a list of groups"),
        (TokenFeatures(), {}, r"groups is \{\} of type dict; expected a dict such as"),
        (TokenFeatures(), 3, r"groups is 3 of type int"),
        (DictFeatures(), {"a": ["w"]}, r"DictFeatures knows no groups of features; give groups as a function"),
        (DictFeatures(), ["a"], r"groups is \['a'\].*for the columns of ArrayFeatures; DictFeatures needs a dict"),
        (DictFeatures(), lambda name: 0.5, r"groups gives 0.5 of type float for 'Ana'; expected the name of a view"),
        ([BARE, DictFeatures()], {"a": ["view1/w"]}, r"\['unused', 'view0/bias', .*'view1'\]"),
    ],
)
def test_groups_that_make_no_sense(view, groups, message):
    split = FeatureGroups(view, groups)
    with pytest.raises(InputError, match=message):
        split.channels(split.fit_rows(WORDS), seeded())


def test_one_group_for_each_column():
    split = FeatureGroups(ArrayFeatures(), ["a", "b"])
    rows = split.fit_rows(MATRIX)
    with pytest.raises(InputError, match=r"groups has 2 entries but X has 4 columns"):
        split.channels(rows, seeded())


# -- lists and dicts --------------------------------------------------------------------------------------------------


def test_each_view_of_a_list_is_the_view_itself():
    views = {"words": TokenFeatures(window=1, clues=False), "clues": TokenFeatures(window=2, token=False)}
    joint = as_view(views)
    rows = joint.fit_rows(TEXT)
    assert joint.view_names() == ["words", "clues"]
    expected = [dense(clone(view).fit_rows(TEXT)) for view in views.values()]
    words, clues = map(dense, joint.channels(rows, seeded()))
    n = expected[0].shape[1]
    np.testing.assert_array_equal(words, np.hstack([expected[0], np.zeros_like(expected[1])]))
    np.testing.assert_array_equal(clues, np.hstack([np.zeros_like(expected[0]), expected[1]]))
    assert joint.feature_names([0, n]) == ["words/bias", "clues/bias"]
    assert ConcatenatedViews(list(views.values())).view_names() == ["view0", "view1"]


def test_different_kernels_on_the_same_input():
    kinds = [KernelFeatures(kernel="poly"), KernelFeatures(kernel="rbf"), ArrayFeatures(bias=False)]
    joint = as_view(kinds)
    channels = joint.channels(joint.fit_rows(MATRIX), seeded())
    for view, channel in zip(kinds, channels):
        own = dense(clone(view).fit_rows(MATRIX))
        np.testing.assert_allclose(dense(channel) @ dense(channel).T, own @ own.T, atol=1e-9)


def test_a_list_has_the_views_of_its_parts():
    joint = as_view({"text": RandomSplit(TokenFeatures(), 3), "bare": BARE, "last": OddEvenSplit(BARE)})
    assert joint.view_names() == ["text/random1", "text/random2", "text/random3", "bare", "last/odd", "last/even"]
    rows = joint.fit_rows(TEXT)
    channels = joint.channels(rows, seeded())
    for name, channel in zip(joint.view_names(), channels):
        assert {n.split("/")[0] for n in names_of(joint, channel)} == {name.split("/")[0]}
    # the split inside is the one that the part would make of its own rows
    alone = RandomSplit(TokenFeatures(), 3)
    expected = shares(alone.channels(alone.fit_rows(TEXT), seeded()))
    np.testing.assert_array_equal([own[: alone.n_dims_] for own in shares(channels)[:3]], expected)


def test_views_of_a_list_that_has_grown():
    joint = as_view([OddEvenSplit(TokenFeatures(window=1)), TokenFeatures(window=(2, 2))])
    joint.fit(TEXT)
    for batch in ([["Eva", "goes"]], [["Pau", "y", "Bea"], ["fin"]]):
        rows = joint.extend_rows(batch)
        channels = joint.channels(rows, seeded())
        check_sum(rows, channels, joint.constant_features())
        parts = [joint.views_[0].transform(batch), joint.views_[1].transform(batch)]
        own = joint.views_[0].channels(parts[0], seeded())
        for view, expected, channel in zip([*[joint.views_[0]] * 2, joint.views_[1]], [*own, parts[1]], channels):
            names = {name.split("/", 1)[1] for name in names_of(joint, channel)}
            assert names == set(names_of(view, expected))


def test_names_of_views_must_be_strings():
    with pytest.raises(InputError, match="views has the key 3 of type int; expected a name"):
        as_view({3: TokenFeatures()}).fit(TEXT)
    with pytest.raises(InputError, match=r"views\['a'\] is 3 of type int"):
        as_view({"a": 3}).fit(TEXT)
    with pytest.raises(InputError, match=r"views is \{\}"):
        as_view({}).fit(TEXT)


def test_channels_of_inputs_without_features():
    joint = as_view([TokenFeatures(), RandomSplit(DictFeatures(), 1)])
    with pytest.raises(InputError, match="view 'random1' of RandomSplit has no features"):
        joint.channels(joint.fit_rows([[], []]), seeded())


# -- parts of inputs --------------------------------------------------------------------------------------------------


def frame(**columns):
    return pytest.importorskip("pandas").DataFrame(columns)


@each_row("X", [MATRIX, sp.csr_matrix(MATRIX), sp.coo_array(MATRIX), MATRIX.tolist(), list(MATRIX)])
@each_row(
    ("key", "columns"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None, None, 2), [0, 2]),
        ([3, 0], [3, 0]),
        (np.array([1, -1]), [1, 3]),
        ([False, True, True, False], [1, 2]),
        (2, [2]),
        (range(1, 4), [1, 2, 3]),
    ],
)
def test_columns_of_matrices(X, key, columns):
    view = Select(key, ArrayFeatures(bias=False))
    np.testing.assert_array_equal(dense(view.fit_rows(X)), MATRIX[:, columns])
    np.testing.assert_array_equal(dense(view.transform(X)), MATRIX[:, columns])
    np.testing.assert_array_equal(dense(view.extend_rows(X)), MATRIX[:, columns])


def test_columns_of_token_matrices():
    for X in ([MATRIX, MATRIX[:1]], [sp.csr_array(MATRIX), sp.csr_array(MATRIX[:1])]):
        rows = Select([1, 3], ArrayFeatures(bias=False)).fit_rows(X)
        np.testing.assert_array_equal(dense(rows), np.vstack([MATRIX, MATRIX[:1]])[:, [1, 3]])
    rows = Select(slice(2), ArrayFeatures(bias=False)).fit_rows(np.stack([MATRIX, 2 * MATRIX]))
    np.testing.assert_array_equal(dense(rows), np.vstack([MATRIX, 2 * MATRIX])[:, :2])


def test_columns_of_frames():
    X = frame(age=[1, 2], rate=[0.5, 1.5], words=[["a", "b"], ["c"]], size=[7, 8])
    for key, names in [
        ("age", ["age"]),
        (["size", "age"], ["size", "age"]),
        (slice(0, 2), ["age", "rate"]),
        (slice("age", "rate"), ["age", "rate"]),
        ([0, 3], ["age", "size"]),
        (1, ["rate"]),
        (X.columns != "words", ["age", "rate", "size"]),
        ([True, False, False, True], ["age", "size"]),
    ]:
        view = Select(key, ArrayFeatures(bias=False))
        np.testing.assert_array_equal(dense(view.fit_rows(X)), X[names].to_numpy(float))
        assert view.feature_names(range(len(names))) == names
    assert Select("words").fit_rows(X).n_rows == 3
    numbered = X[["age", "rate"]].set_axis([1, 0], axis="columns")
    for key, expected in ((1, [1, 2]), ([0], [0.5, 1.5]), ([True, False], [1, 2])):
        np.testing.assert_array_equal(dense(Select(key, ArrayFeatures(bias=False)).fit_rows(numbered))[:, 0], expected)
    for key in ("town", ["age", "town"], slice("town", None)):
        with pytest.raises(InputError, match=r"X has no column 'town', which Select takes; it has .*'age', 'rate'"):
            Select(key).fit(X)


def test_entries_of_inputs():
    X = [{"words": ["Ana", "runs"], "sound": np.ones((2, 3)), "age": 3}, {"words": [], "sound": [], "age": 5}]
    pairs = [(x["words"], x["sound"], x["age"]) for x in X]
    for data, keys in ((X, ["words", "sound", "age"]), (pairs, [0, 1, 2])):
        words, sound, age = (Select(key) for key in keys)
        np.testing.assert_array_equal(dense(words.fit_rows(data)), dense(TokenFeatures().fit_rows([["Ana", "runs"]])))
        assert isinstance(words.view_, TokenFeatures)
        np.testing.assert_array_equal(dense(sound.fit_rows(data)), np.ones((2, 4)))
        np.testing.assert_array_equal(dense(age.fit_rows(data)), [[3, 4], [5, 4]])
        joint = as_view({"words": words, "sound": sound})
        channels = joint.channels(joint.fit_rows(data), seeded())
        assert [own.sum() for own in shares(channels)] == [np.any(dense(words.fit_rows(data)), axis=0).sum(), 4]
    picked = Select(["age", "size"]).fit_rows([{"age": 2.0, "town": "Oslo"}, {"size": 1.0}])
    np.testing.assert_array_equal(dense(picked), [[2, 0], [0, 1]])


@each_row(
    ("X", "key", "message"),
    [
        ([{"a": 1}, {"a": 2}, {"a": 3}, {"b": 4}], "a", r"X\[3\] is .* has no 'a', which Select takes .* it has 'b'"),
        ([(1, 2), (1,)], 1, r"X\[1\] is \(1,\) of type tuple and has no 1.*; it has 1 entries"),
        ([["a"], 3], 0, r"X\[1\] is 3 of type int and has no 0"),
        (["Tom", "Ana"], 0, r"X\[0\] is 'Tom' of type str and has no 0"),
        ([[1, 2], [3, 4]], "a", r"X\[0\] is \[1, 2\] of type list and has no 'a'"),
        ([[1, 2], [3, 4]], [0, 2], r"X\[0\] is \[1, 2\] of type list and has no \[0, 2\]"),
        (MATRIX, [0, 4], r"X has 4 columns; Select cannot take \[0, 4\] from it. Expected column numbers from 0 to 3"),
        (MATRIX, "age", r"X has 4 columns; Select cannot take 'age'"),
        (MATRIX, [True, False], r"X has 4 columns; Select cannot take \[True, False\]"),
        (sp.csr_array(MATRIX), 9, r"X has 4 columns; Select cannot take 9"),
        ([MATRIX, MATRIX[:, :2]], [3], r"X\[1\] has 2 columns; Select cannot take \[3\]"),
        (3, 0, "X is 3 of type int; expected a list of inputs"),
    ],
)
def test_parts_that_are_not_there(X, key, message):
    with pytest.raises(InputError, match=message):
        Select(key).fit(X)


# -- manners of views -------------------------------------------------------------------------------------------------


@each_row(
    ("X", "kind"),
    [
        (MATRIX, ArrayFeatures),
        (sp.csr_array(MATRIX), ArrayFeatures),
        (MATRIX.tolist(), ArrayFeatures),
        (list(MATRIX), ArrayFeatures),
        ([MATRIX, MATRIX], ArrayFeatures),
        (TEXT[1:], TokenFeatures),
        (DICTS[1:], DictFeatures),
        ([{"a": 1}, {"b": 2}], DictFeatures),
        ([{"a", "b"}, {"c"}], DictFeatures),
    ],
)
def test_the_view_that_suits_the_inputs(X, kind):
    for view in (RandomSplit(n_views=1), OddEvenSplit()):
        view.fit(X)
        assert type(view.view_) is kind
    with pytest.raises(InputError, match="X is None"):
        RandomSplit().fit(None)


@each_case
def test_copies(case):
    view, rows, channels = case
    fresh = clone(view)
    assert not hasattr(fresh, "n_dims_")
    assert repr(fresh.get_params(deep=False)) == repr(view.get_params(deep=False))
    copy = pickle.loads(pickle.dumps(view)) if not callable(getattr(view, "groups", None)) else view
    assert copy.view_names() == view.view_names()
    for own, other in zip(channels, copy.channels(rows, seeded())):
        np.testing.assert_array_equal(dense(own), dense(other))


def test_new_inputs_and_growth():
    for view in (
        RandomSplit(TokenFeatures()),
        IndependentSplit(TokenFeatures()),
        OddEvenSplit(TokenFeatures()),
        FeatureGroups(TokenFeatures()),
    ):
        with pytest.raises(NotFittedError):
            view.transform(TEXT)
        own = TokenFeatures().fit(TEXT)
        np.testing.assert_array_equal(dense(view.extend_rows(TEXT)), dense(own.transform(TEXT)))
        new = [["Pau", "runs"]]
        np.testing.assert_array_equal(dense(view.transform(new)), dense(own.transform(new)))
        np.testing.assert_array_equal(dense(view.extend_rows(new)), dense(own.extend_rows(new)))
        assert view.n_dims_ == own.n_dims_ == view.transform(new).n_dims
        assert view.feature_names(range(view.n_dims_)) == own.feature_names(range(own.n_dims_))


@pytest.mark.parametrize(
    ("view", "X"),
    [
        (RandomSplit(TokenFeatures(), n_views=3, share=0.5), TEXT),
        ({"odd": OddEvenSplit(TokenFeatures()), "groups": FeatureGroups(TokenFeatures(), {"a": ["token"]})}, TEXT),
        ([Select(slice(0, 2)), Select([2, 3], KernelFeatures()), Select(np.array([1]))], ARRAYS),
        (FeatureGroups(ArrayFeatures(), ["a", "b", None, "a"]), ARRAYS),
    ],
)
def test_saved_with_a_learner(view, X, tmp_path):
    Y = [[("A", "B")[k % 2] for k in range(len(x))] for x in X]
    model = accord.StructuredPerceptron(accord.Sequence(), view=view, max_iter=2, random_state=0).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = accord.load(tmp_path / "model")
    assert list(loaded.predict(X)) == list(model.predict(X))
    assert loaded.view_.view_names() == model.view_.view_names()
    rows = model.view_.transform(X)
    channels = [v.channels(rows, seeded()) for v in (model.view_, loaded.view_)]
    np.testing.assert_array_equal(shares(channels[0]), shares(channels[1]))


# -- checks for learners ----------------------------------------------------------------------------------------------


def test_views_without_features_are_refused():
    empty = as_view({"a": ArrayFeatures(bias=False), "b": Select([1], ArrayFeatures(bias=False))})
    rows = empty.fit_rows([[1.0, 0.0], [2.0, 0.0]])
    channels = empty.channels(rows, seeded())
    with pytest.raises(InputError, match="view 'b' has no features in X"):
        check_channels(channels, empty.view_names())


@each_row(
    ("view", "X", "same"),
    [
        ([TokenFeatures(), TokenFeatures()], TEXT, ["'view0' and 'view1'"]),
        ([KernelFeatures(), ArrayFeatures(), KernelFeatures()], ARRAYS, ["'view0' and 'view2'"]),
        (RandomSplit(TokenFeatures(), n_views=2, share=1.0), TEXT, ["'random1' and 'random2'"]),
        (RandomSplit(TokenFeatures(), n_views=4, share=0.5), TEXT, []),
        (RandomSplit(ArrayFeatures()), MATRIX, []),
        ([KernelFeatures(), KernelFeatures(kernel="poly")], ARRAYS, []),
        ([ArrayFeatures(), Select([0, 1, 2])], MATRIX, []),
        (TokenFeatures(), TEXT, []),
    ],
)
def test_views_with_the_same_features(view, X, same):
    view = clone(as_view(view))
    channels = view.channels(view.fit_rows(X), seeded())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_channels(channels, view.view_names())
    assert len(caught) == len(same)
    for warning, pair in zip(caught, same):
        assert issubclass(warning.category, UserWarning)
        assert f"views {pair} have the same features" in str(warning.message)
