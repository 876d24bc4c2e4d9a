"""Views of whole texts against scikit-learn's TfidfVectorizer, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_tables import each_row
from sklearn.feature_extraction.text import TfidfVectorizer

import accord
from accord import CRF, InputError, MultiClass, Taxonomy, TextFeatures
from accord.views import documents

UNICODE = [
    "ΟΔΟΣ Οδος ΣΑΣ, Straße STRASSE ﬁne",
    "İstanbul ISTANBUL ıstanbul naïve NAÏVE",
    "Übung macht den Meister – übung_1 42 4² ½ x",
    "日本語 テキスト 日本語、テキスト。 한국어 عربي नमस्ते",
    "a\u0301bc e\u0301 tab\tnew\nline\x1cgroup\u2003em\xa0nbsp",
    "\ud800broken surrogate 😀😀 emoji",
    "",
    "   \n ",
    "the the the a I of to, the-end don't U.S.A.",
]


def rng_texts(seed, n=60):
    rng = np.random.default_rng(seed)
    words = ["wine", "Wine", "red", "a", "list", "price", "é", "Éa", "naïve", "x1", "_y", "ÀB", "σς", "ΣΣ"]
    return [
        " ".join(rng.choice(words, rng.integers(0, 12))) + str(rng.choice(["", ".", "\n!", " ,"])) for _ in range(n)
    ]


def as_dict(matrix, names):
    matrix = matrix.tocoo()
    found = {}
    for i, j, value in zip(*matrix.coords, matrix.data):
        assert (i, names[j]) not in found
        found[i, names[j]] = value
    return found


def compare(texts, new, view, **settings):
    peer = TfidfVectorizer(dtype=np.float64, **settings)
    expected, expected_new = peer.fit_transform(texts), peer.transform(new)
    rows, new_rows = view.fit_rows(texts), view.transform(new)
    ours = [name.partition("=")[2] for name in view.feature_names(range(view.n_dims_))]
    names = peer.get_feature_names_out()
    assert sorted(ours) == sorted(names)
    for mine, theirs in ((rows.matrix(), expected), (new_rows.matrix(), expected_new)):
        mine, theirs = as_dict(mine, ours), as_dict(theirs, names)
        assert mine.keys() == theirs.keys()
        np.testing.assert_allclose(list(mine.values()), [theirs[k] for k in mine], rtol=1e-12)


CASES = {
    "defaults": ({}, {"sublinear_tf": True, "min_df": 2}),
    "pairs": ({"words": 2, "min_count": 1}, {"sublinear_tf": True, "ngram_range": (1, 2)}),
    "frequent pairs": ({"words": 2, "min_count": 3}, {"sublinear_tf": True, "ngram_range": (1, 2), "min_df": 3}),
    "plain": (
        {"lower": False, "sublinear": False, "idf": False, "norm_rows": False, "min_count": 1},
        {"lowercase": False, "use_idf": False, "norm": None},
    ),
    "n-grams": (
        {"words": 0, "ngrams": (2, 3, 4), "min_count": 1},
        {"sublinear_tf": True, "analyzer": "char_wb", "ngram_range": (2, 4)},
    ),
    "frequent n-grams": (
        {"words": 0, "ngrams": (1, 2), "min_count": 3},
        {"sublinear_tf": True, "analyzer": "char_wb", "ngram_range": (1, 2), "min_df": 3},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("texts", [UNICODE * 3, rng_texts(0), rng_texts(1, 200)])
def test_the_matrix_is_that_of_scikit_learn(case, texts, monkeypatch):
    ours, settings = CASES[case]
    monkeypatch.setattr(documents, "BLOCK", 100)  # many blocks
    compare(texts, [*rng_texts(2), *UNICODE], TextFeatures(bias=False, **ours), **settings)


@settings(max_examples=40)
@given(st.lists(st.text(), min_size=1, max_size=6))
def test_any_text_is_understood_as_scikit_learn_does(texts):
    texts = [*texts, "two words"]
    compare(texts, texts[:2], TextFeatures(2, bias=False, min_count=1), sublinear_tf=True, ngram_range=(1, 2))
    compare(
        texts, texts[:2], TextFeatures(0, (2, 3), bias=False, min_count=1),
        sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 3),
    )  # fmt: skip


def test_words_and_ngrams_share_rows_of_length_one():
    view = TextFeatures(1, (3,), bias=False, min_count=1)
    matrix = view.fit_rows(rng_texts(3)).matrix()
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    assert set(np.round(lengths, 9)) <= {0.0, 1.0}
    groups, names = view.feature_groups()
    assert {names[g] for g in groups} == {"word", "ngram"}


def test_the_bias_is_as_large_as_the_other_features():
    view = TextFeatures(min_count=1)
    matrix = view.fit_rows(["one two three four"] * 3).matrix().toarray()
    np.testing.assert_allclose(matrix, 0.5)
    assert view.bias_ == pytest.approx(0.5)
    assert view.constant_features().tolist() == [4]
    assert view.feature_names([0, 4]) == ["word=one", "bias"]


def test_a_view_that_grows_keeps_its_columns():
    texts = rng_texts(4)
    view = TextFeatures(2, (3,), min_count=2).fit(texts[:30])
    before = view.feature_names(range(view.n_dims_ - 1))
    rows = view.extend_rows([*texts[30:], "fresh fresh words", "fresh words"])
    assert rows.n_dims == view.n_dims_
    assert view.feature_names(range(view.n_dims_))[: len(before)] == before
    assert "pair=fresh words" in view.feature_names(range(view.n_dims_))
    assert view.n_texts_ == len(texts) + 2


@pytest.mark.parametrize("structure", [MultiClass(), Taxonomy({"a": "top", "b": "top"})])
@pytest.mark.parametrize("container", [list, tuple, np.array])
def test_strings_are_texts_for_classes(structure, container, tmp_path):
    X = ["good wine", "good price", "bad wine", "bad list"] * 2
    Y = ["a", "a", "b", "b"] * 2
    model = CRF(structure).fit(container(X), Y)
    assert isinstance(model.view_, TextFeatures)
    assert list(model.predict(container(["good", "so bad"]))) == ["a", "b"]
    model.save(tmp_path / "m.accord")
    assert list(accord.load(tmp_path / "m.accord").predict(["good", "so bad"])) == ["a", "b"]


def test_a_series_of_strings_is_texts():
    pd = pytest.importorskip("pandas")
    X = pd.Series(["good wine", "good price", "bad wine", "bad list"], index=[3, 1, 2, 9])
    assert list(CRF(MultiClass()).fit(X, ["a", "a", "b", "b"]).predict(X)) == ["a", "a", "b", "b"]


def test_lists_of_words_are_no_texts():
    from accord import DictFeatures

    model = CRF(MultiClass()).fit([["good", "wine"], ["bad"]], ["a", "b"])
    assert isinstance(model.view_, DictFeatures)


@each_row(
    ("call", "message"),
    [
        (lambda: TextFeatures().fit_rows(["a text", None]), r"X\[1\] is None"),
        (lambda: TextFeatures().fit_rows(["a text", 3.5]), r"X\[1\] is 3.5 of type float; expected a text"),
        (lambda: TextFeatures().fit_rows([["a", "text"]]), r"X\[0\] is \['a', 'text'\].*DictFeatures"),
        (lambda: TextFeatures().fit_rows("a text"), "X is 'a text'"),
        (lambda: TextFeatures(0).fit_rows(["a text"]), "there are no features"),
        (lambda: TextFeatures(3).fit_rows(["a text"]), "words is 3; expected 0, 1 or 2"),
        (lambda: TextFeatures(ngrams=(0,)).fit_rows(["a text"]), "ngrams"),
    ],
)
def test_what_is_no_text_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
