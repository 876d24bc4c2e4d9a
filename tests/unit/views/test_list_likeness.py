"""Likeness to word lists: which tokens are examples, what is learned from them, saving, learners."""

import numpy as np
import pytest
from sklearn.base import clone

import accord
from accord import CRF, BrownClusters, ListLikeness, Sequence, Tagger, TokenFeatures
from accord.exceptions import InputError

PEOPLE = ["Ana", "Bea", "Cid", "Dov", "Eva", "Fay", "Gil", "Hal"]
TOWNS = ["Rome", "Oslo", "Bonn", "Lyon", "Bern", "Cork", "Nice", "Graz"]
LISTS = {"people": PEOPLE[:4], "towns": TOWNS[:4]}
X = [["we", "met", who, "in", town] for who, town in zip(PEOPLE, TOWNS)]


def table(view, sentences):
    """The features of all tokens."""
    return view.transform(sentences).matrix().toarray()


def test_names_that_no_list_has_are_like_those_around_which_the_same_words_stand():
    view = ListLikeness(LISTS)
    found = view.fit_rows(X).matrix().toarray()
    assert view.feature_names(range(4)) == ["people: here", "towns: here", "people: everywhere", "towns: everywhere"]
    assert (view.feature_groups()[0].tolist(), view.feature_groups()[1]) == ([0, 1, 0, 1], ["people", "towns"])
    who, town = found[2::5], found[4::5]
    assert np.all(who[:, [0, 2]] > 0.0)
    assert np.all(town[:, [1, 3]] > 0.0)
    np.testing.assert_allclose(who[:, :2].sum(axis=1), 0.0, atol=1e-12)  # odds of a list against the others
    assert not found[0::5].any()  # words in small letters are no names
    np.testing.assert_array_equal(table(view, X)[:, :2], found[:, :2])


def test_everywhere_is_the_mean_of_a_word_over_the_text_of_fit_and_here():
    sentences = [*X, ["we", "met", "Zoe"], ["in", "Zoe"], ["Zoe"]]
    view = ListLikeness(LISTS, scale=2.0)
    found = view.fit_rows(sentences).matrix().toarray()
    at = [i for i, token in enumerate(token for x in sentences for token in x) if token == "Zoe"]
    total = found[at, :2].sum(axis=0)
    np.testing.assert_allclose(found[at, 2:], (total + found[at, :2]) / 4)
    new = table(view, [["in", "Yan"], ["in", "Zoe"]])
    np.testing.assert_allclose(new[1, 2:], new[1, :2])  # never seen: what is here is all there is
    np.testing.assert_allclose(new[3, 2:], (total + new[3, :2]) / 4)


@pytest.mark.parametrize(
    ("lists", "sentence", "kinds"),
    [
        ({"a": ["San Juan"], "b": ["Juan"]}, ["San", "Juan", "Juan"], [0, 0, 1]),  # the longest entry counts
        ({"a": ["Juan"], "b": ["Juan"]}, ["Juan", "x"], [-2, -1]),
        ({"a": ["Casa de Rey"], "b": ["x"]}, ["Casa", "de", "Rey"], [0, -1, 0]),  # no name
        ({"a": ["Paz"], "b": ["Rey"]}, ["Paz", "paz", "paz", "Rey", "rey"], [-1, -1, -1, 1, -1]),  # a common word
    ],
)
def test_examples_are_entries_of_one_list(lists, sentence, kinds):
    view = ListLikeness(lists)
    offsets = np.array([0, len(sentence)])
    found = view._examples(lists.values(), sentence, offsets, view._judged(sentence))
    assert np.where(found < 0, np.minimum(found, -1), found).tolist() == kinds


def test_words_in_small_letters_if_they_are_no_names():
    view = ListLikeness({"genes": ["ras"], "others": ["the"]}, names=False)
    found = view.fit_rows([["the", "ras", "gene"], ["the", "myc", "gene"]]).matrix().toarray()
    assert found[1, 0] > found[0, 0]
    assert found[4, 0] > 0.0


@pytest.mark.parametrize(
    ("view", "sentences", "message"),
    [
        (ListLikeness(), X, "lists is None"),
        (ListLikeness({"a": ["Ana"]}), X, "lists has 1 list"),
        (ListLikeness(LISTS, C=0.0), X, "C"),
        (ListLikeness(LISTS, names="no"), X, "names"),
        (ListLikeness(LISTS), [["a", 3]], "expected a token"),
    ],
)
def test_what_makes_no_sense(view, sentences, message):
    with pytest.raises(InputError, match=message):
        view.fit(sentences)


@pytest.mark.parametrize("sentences", [X, []])
def test_text_that_lists_say_nothing_about(sentences):
    with pytest.warns(UserWarning, match="entries of fewer than two lists"):
        rows = ListLikeness({"a": ["Ana"], "b": ["Uwe"]}).fit_rows(sentences)
    assert rows.matrix().shape == (sum(map(len, sentences)), 4)
    assert not rows.matrix().toarray().any()


def test_saved_models_know_what_was_learned(tmp_path):
    view = ListLikeness(LISTS, [TokenFeatures(window=1), BrownClusters({"met": "01", "in": "10"}, (1, 2), window=1)])
    assert clone(view).lists is LISTS
    model = CRF(Sequence(), view).fit(X, [["O", "O", "P", "O", "L"]] * len(X))
    model.save(tmp_path / "model")
    loaded = accord.load(tmp_path / "model")
    new = [["met", "Ida"], ["Ana", "in", "Ulm"], []]
    assert loaded.view_.lists is None
    np.testing.assert_array_equal(table(loaded.view_, new), table(model.view_, new))
    assert loaded.predict(new) == model.predict(new)


def test_kinds_of_names_that_no_list_has():
    sentences = [*X, *[[who, "and", town] for who, town in zip(PEOPLE, TOWNS)]]
    Y = [["P", "O", "L"] if i < 2 else None for i in range(len(PEOPLE))]
    found = Tagger(vectors=ListLikeness(LISTS), random_state=0).fit(sentences, [None] * len(X) + Y)
    assert found.predict([["Gil", "and", "Nice"]]) == [["P", "O", "L"]]
