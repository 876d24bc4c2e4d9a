"""TokenFeatures: layout, growth, errors. What the features are is checked in tests/oracle."""

import numpy as np
import pytest
from row_tables import each_row

from accord import TokenFeatures
from accord.exceptions import InputError

X = [["El", "Grupo", '"', "Magenta", '"', "(", "Madrid", ")", "."], [], ["el", "grupo", "gana", "34.32", "euros"]]
NEW = [["Otro", "Grupo", "en", "Madrid"], ["34.32"], []]


def names_of(view, rows, row):
    matrix = rows.matrix()
    return view.feature_names(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]])


def test_place_in_the_sentence():
    view = TokenFeatures(window=0, token=True, lower=False, affixes=None, shape=False, clues=False)
    rows = view.fit_rows(X)
    enclosed = [t for t in range(rows.n_rows) if "enclosed" in names_of(view, rows, t)]
    assert enclosed == [3, 6]
    assert [t for t in range(rows.n_rows) if "initial" in names_of(view, rows, t)] == [0, 9]
    assert [t for t in range(rows.n_rows) if "last" in names_of(view, rows, t)] == [8, 13]
    assert list(rows.offsets) == [0, 9, 9, 14]


def test_clues_of_the_papers_tables():
    # the examples of Tables 5.3 and 5.4
    view = TokenFeatures(window=0, token=False, lower=False, affixes=None, shape=False, position=False, bias=False)
    tokens = ["Msp", "MMTV", "kDa", "75.0", "HSF1", "ICAM-1", "alpha", "informaciones", "1975", "Lasa-Zabala", "β"]
    rows = view.fit_rows([tokens])
    clues = {token: {n[2:] for n in names_of(view, rows, t)} for t, token in enumerate(tokens)}
    assert clues["Msp"] == {"initial-upper", "length=3", "lower-at=2", "lower-at=3"}
    assert clues["MMTV"] == {"initial-upper", "all-upper", "length=4", "upper-at=2", "upper-at=3", "upper-at=4"}
    assert clues["kDa"] == {"initial-lower", "mixed-case", "length=3", "upper-at=2", "lower-at=3"}
    assert clues["75.0"] == {"digit-dot-digit", "digit", "symbol", "length=4"}
    assert {"digit", "all-upper"} <= clues["HSF1"]
    assert "number" not in clues["HSF1"]
    assert {"symbol", "digit", "all-upper"} <= clues["ICAM-1"]
    assert {"greek", "initial-lower"} <= clues["alpha"]
    assert {"initial-lower", "length=10+"} <= clues["informaciones"]
    assert clues["1975"] == {"digit", "number", "length=4"}
    assert {"symbol", "mixed-case", "initial-upper"} <= clues["Lasa-Zabala"]
    assert "greek" in clues["β"]


def test_table_is_shared_and_unknown_tokens_are_extra_units():
    view = TokenFeatures(window=1)
    fitted = view.fit_rows(X)
    rows = view.transform(NEW)
    assert fitted.shared
    assert rows.shared
    assert rows.table is fitted.table is view.table_
    assert rows.extra.shape == (2, view.table_.shape[1])  # Otro, en
    assert view.transform(X).extra is None
    weights = np.random.default_rng(0).normal(size=(view.n_dims_, 3))
    np.testing.assert_allclose(rows.scores(weights), rows.matrix() @ weights)
    kept = {}
    fitted.scores(weights, kept)
    np.testing.assert_allclose(rows.scores(weights, kept), rows.matrix() @ weights)


def test_transform_of_training_text_is_what_fit_returned():
    view = TokenFeatures(window=(2, 1), ngrams=(2, 3))
    rows = view.fit_rows(X)
    again = view.transform(X)
    np.testing.assert_array_equal(rows.slots, again.slots)
    np.testing.assert_array_equal(rows.offsets, again.offsets)


def test_growth_leaves_old_scores_alone():
    view = TokenFeatures(window=1)
    rows = view.fit_rows(X)
    weights = np.random.default_rng(0).normal(size=(view.n_dims_, 2))
    before = rows.scores(weights)
    view.extend_rows(NEW)
    padded = np.zeros((view.n_dims_, 2))
    padded[: weights.shape[0]] = weights
    assert padded.shape[0] > weights.shape[0]
    np.testing.assert_allclose(view.transform(X).scores(padded), before)


def test_extending_an_unfitted_view_fits_it():
    grown, fitted = TokenFeatures(), TokenFeatures()
    np.testing.assert_array_equal(grown.extend_rows(X).slots, fitted.fit_rows(X).slots)
    assert grown.n_dims_ == fitted.n_dims_


def test_rare_feature_that_becomes_frequent():
    view = TokenFeatures(window=0, lower=False, affixes=None, shape=False, clues=False, position=False, min_count=2)
    view.fit([["a", "a", "b"]])
    assert view.feature_names(range(view.n_dims_)) == ["bias", "0:boundary", "0:token=a"]
    view.extend_rows([["b", "b", "c"]])
    assert view.feature_names(range(view.n_dims_)) == ["bias", "0:boundary", "0:token=a", "0:token=b"]
    assert view.transform([["b", "a", "c"]]).matrix().toarray().tolist() == [[1, 0, 0, 1], [1, 0, 1, 0], [1, 0, 0, 0]]


def test_feature_groups_agree_with_names():
    view = TokenFeatures(ngrams=(2,)).fit(X)
    groups, names = view.feature_groups()
    assert groups.shape == (view.n_dims_,)
    group_of = {"prefix": "affix", "suffix": "affix", "token": "token", "lower": "token", "ngram": "ngram"}
    group_of |= {"shape": "shape", "short-shape": "shape", "boundary": "position"}
    for group, feature in zip(groups, view.feature_names(range(view.n_dims_))):
        if ":" not in feature:
            expected = "bias" if feature == "bias" else "position"
        else:
            template = feature.split(":", 1)[1].split("=")[0].rstrip("0123456789")
            expected = group_of.get(template, "clue")
        assert names[group] == expected, feature


@each_row("empty", [[], [[]], [[], []]])
def test_nothing_to_learn_from(empty):
    view = TokenFeatures()
    rows = view.fit_rows(empty)
    assert rows.n_rows == 0
    assert rows.n_inputs == len(empty)
    assert view.transform(NEW).n_rows == 5
    assert TokenFeatures().fit(X).transform(empty).n_inputs == len(empty)


@each_row("x", [("a", "b"), np.array(["a", "b"]), iter(["a", "b"])])
def test_any_sequence_of_strings_is_a_sentence(x):
    assert TokenFeatures().fit([["a", "b"]]).transform([x]).extra is None


@each_row(
    ("bad", "message"),
    [
        ("a b", r"X is 'a b' of type str; expected a list of inputs"),
        (None, r"X is None"),
        (["a b", "c"], r"X\[0\] is 'a b' of type str; expected a list of tokens. Split"),
        ([["a"], "b"], r"X\[1\] is 'b'"),
        ([["a"], None], r"X\[1\] is None"),
        ([["a"], ["b", 7]], r"X\[1\]\[1\] is 7 of type int; expected a token"),
        ([["a", None]], r"X\[0\]\[1\] is None of type NoneType"),
        ([[], ["a", b"b"]], r"X\[1\]\[1\] is b'b' of type bytes"),
        ([["a"], ["b", {"w": "b"}]], r"X\[1\]\[1\] is \{'w': 'b'\} of type dict.*DictFeatures"),
        ([["a", float("nan")]], r"X\[0\]\[1\] is nan of type float"),
    ],
)
def test_bad_tokens(bad, message):
    fitted = TokenFeatures().fit(X)
    for use in (TokenFeatures().fit, fitted.transform, fitted.extend_rows):
        with pytest.raises(InputError, match=message):
            use(bad)
    assert fitted.transform(X).n_dims == fitted.n_dims_  # a failed call changes nothing


@each_row(
    ("parameters", "message"),
    [
        ({"window": -1}, "window is -1"),
        ({"window": 1.5}, "window is 1.5"),
        ({"window": (1, 2, 3)}, "window is"),
        ({"affixes": 4}, "affixes is 4"),
        ({"ngrams": (0, 2)}, "ngrams is"),
        ({"affixes": (1, 2**31)}, "affixes is .* lengths from 1 to 1,000"),
        ({"case_positions": -1}, "case_positions is -1"),
        ({"min_count": 0}, "min_count is 0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InputError, match=message):
        TokenFeatures(**parameters).fit(X)


@pytest.mark.parametrize("odd", ["", "\n", "a\nb", "ß", "\ud800", "🂡 x"])
def test_many_tokens_are_found_like_few(odd):
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(50)]
    X = [[words[i] for i in rng.integers(40, size=30)] for _ in range(20)] + [[odd, "w1", odd]]
    new = [[words[i] for i in rng.integers(50, size=30)] for _ in range(20)] + [[odd, "unknown", "w1"]]
    for known in (X, X[:-1]):
        view = TokenFeatures(window=1).fit(known)
        together = view.transform(new).matrix().toarray()  # 603 tokens at once
        apart = np.vstack([view.transform([x]).matrix().toarray() for x in new])
        np.testing.assert_array_equal(together, apart)
