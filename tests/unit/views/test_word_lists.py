"""Word lists as features: which entries are found, what tokens have of them, files, saving."""

import numpy as np
import pytest
from sklearn.base import clone

import accord
from accord import CRF, Sequence, Tagger
from accord.exceptions import FormatError, InputError
from accord.tokenizer import tokenize
from accord.views.phrases import PhraseIndex, cuts
from accord.views.word_lists import COLUMNS, WordLists, file_and_name

LISTS = {"towns": ["New York", "Rome", "rio de janeiro", "Rome City"], "names": ["Ana", "York"]}
TWO = "0:towns: a word of 2 to 9 entries"
X = [["in", "new", "York", "."], [], ["ROME", "City", "rome", "Ana"]]


def named(view, rows):
    """The names of the features that each row has."""
    names = np.array(view.feature_names(range(view.n_dims_)))
    return [set(names[row != 0]) for row in rows.matrix().toarray()]


# -- what is found, against the plainest search ----------------------------------------------------------------------
def plain_matches(tokens, is_entry):
    """From left to right, the longest first, by trying all."""
    found, start = [], 0
    while start < len(tokens):
        fits = [end for end in range(start + 1, len(tokens) + 1) if is_entry(tokens[start:end])]
        found += [(start, end) for end in fits[-1:]]
        start = max(fits, default=start + 1)
    return found


def plain_features(tokens, lists, text):
    """The names of the features of every token of a sentence; `text` has all tokens of fit."""
    found = [set() for _ in tokens]
    for name, entries in lists.items():
        exact = {cut for entry in entries for cut in cuts(entry)}
        folded = {tuple(token.lower() for token in cut) for cut in exact}

        def is_entry(part, exact=exact, folded=folded):
            small = tuple(token.lower() for token in part)
            return tuple(part) in exact or (tuple(part) != small and small in folded)

        for start, end in plain_matches(tokens, is_entry):
            small = tokens[start].lower()
            case = "" if tuple(tokens[start:end]) in exact else " in other case"
            if end == start + 1 and 2 * text.count(small) > sum(token.lower() == small for token in text):
                case = ", a common word"
            length = {1: "1 token", 2: "2 tokens"}.get(end - start, "3 tokens or more")
            for t in range(start, end):
                place = "first" if t == start else "last" if t == end - 1 else "inside"
                place = "all" if end - start == 1 else place
                found[t] |= {f"0:{name}: {place} of an entry{case}", f"0:{name}: an entry of {length}"}
        for t, word in enumerate(tokens):
            forms = [word] if word == word.lower() else [word, word.title(), word.lower()]
            counts = [sum(form in entry.split() for entry in entries) for form in forms]
            n = next((count for count in counts if count), 0)
            ranges = [(1, 1, "1 entry"), (2, 9, "2 to 9 entries"), (10, 99, "10 to 99 entries")]
            found[t] |= {f"0:{name}: a word of {said}" for low, high, said in ranges if low <= n <= high}
    return found


@pytest.mark.parametrize("seed", range(8))
def test_features_are_those_of_the_plainest_search(seed):
    rng = np.random.default_rng(seed)
    words = ["a", "A", "b", "Bb", "bB", "c", "C", "d."]
    phrases = [" ".join(rng.choice(words, rng.integers(1, 5))) for _ in range(40)]
    lists = {"one": phrases[:5], "two": phrases[5:15], "three": phrases[15:]}
    sentences = [rng.choice(words, rng.integers(0, 9)).tolist() for _ in range(30)]
    view = WordLists(lists)
    text = [token for x in sentences for token in x]
    expected = [found for x in sentences for found in plain_features(x, lists, text)]
    assert named(view, view.fit_rows(sentences)) == expected
    new = [rng.choice(words, rng.integers(0, 9)).tolist() for _ in range(30)]
    assert named(view, view.transform(new)) == [found for x in new for found in plain_features(x, lists, text)]


def test_an_index_finds_the_longest_phrase_first():
    index = PhraseIndex(tuple(phrase.split()) for phrase in ("a b c", "a", "b c d", "Jr ."))
    assert list(index.find(["a", "b", "x", "a", "b", "c", "d"])) == [(0, 1), (3, 6)]
    assert list(index.find(["Jr", "."])) == [(0, 2)]
    assert list(index.find([])) == []
    assert [*index.find(["a b"]), *index.find(["b c", "d"])] == []  # blanks in tokens are no cuts


PHRASES = ["New York", "Élan vital", "北京", "O'Brien's", "Jr.", " p53 ", "don't", "×", "a.b", "TEF-1/x", "(a) 3,5"]


@pytest.mark.parametrize("phrase", PHRASES)
def test_phrases_are_cut_at_blanks_as_texts_are_and_at_all_marks(phrase):
    at_marks = "".join(char if char.isalnum() else f" {char} " for char in phrase).split()
    assert cuts(phrase) == {tuple(phrase.split()), tuple(tokenize(phrase)), tuple(at_marks)}


def test_names_with_marks_are_found_however_text_is_cut():
    view = WordLists({"genes": ["TEF-1", "NF-kappa B"]})
    found = named(view, view.fit_rows([["tef", "-", "1"], ["TEF-1"], ["Tef", "-", "1"], ["NF", "-", "kappa", "B"]]))
    assert found[0] == found[1] == found[2] == set()  # no capital letter
    assert "0:genes: all of an entry" in found[3]
    assert ["0:genes: last of an entry in other case" in names for names in found[4:7]] == [False, False, True]
    assert [min(names & {"0:genes: an entry of 3 tokens or more"}, default="") for names in found[7:]] == [
        "0:genes: an entry of 3 tokens or more"
    ] * 4


# -- features ---------------------------------------------------------------------------------------------------------
def test_what_tokens_have():
    view = WordLists(LISTS)
    found = named(view, view.fit_rows(X))
    assert found[0] == found[3] == set()
    assert found[1] == {"0:towns: first of an entry in other case", "0:towns: an entry of 2 tokens"}
    assert found[2] >= {"0:towns: last of an entry in other case", "0:names: all of an entry"}
    assert found[4] == {"0:towns: first of an entry in other case", "0:towns: an entry of 2 tokens", TWO}
    assert found[6] == set()  # not a name as it is written
    assert view.n_dims_ == 2 * len(COLUMNS)


def test_capital_letters_of_common_words_say_little():
    view = WordLists({"names": ["Rosa", "Ana", "el"]})
    found = named(view, view.fit_rows([["Rosa", "Ana"], ["rosa"], ["rosa"], ["Rosa", "Ana"], ["la", "rosa"]]))
    entry, alone = "0:names: an entry of 1 token", "0:names: a word of 1 entry"
    assert found[0] == {"0:names: all of an entry, a common word", entry, alone}
    assert found[1] == {"0:names: all of an entry", entry, alone}
    assert found[2] == set()
    assert (view.common_, clone(view).fit([["Rosa", "rosa", "ana"]]).common_) == (["rosa"], ["ana"])


def test_windows_scale_and_groups():
    view = WordLists(LISTS, window=1, scale=2.0)
    rows = view.fit_rows(X)
    found = named(view, rows)
    assert {"-1:boundary", "+1:towns: an entry of 2 tokens"} <= found[0]
    assert set(np.unique(rows.matrix().data)) == {1.0, 2.0}  # the end of a sentence is none of the lists' features
    groups, names = view.feature_groups()
    assert (names, groups.shape) == (["towns", "names", "position"], (view.n_dims_,))
    some = view.feature_names(range(view.n_dims_))
    assert {names[g] for g, said in zip(groups, some) if ":boundary" in said} == {"position"}


def test_no_sentences():
    assert WordLists(LISTS).fit_rows([]).matrix().shape == (0, 2 * len(COLUMNS))


# -- files ------------------------------------------------------------------------------------------------------------
def test_files(tmp_path):
    (tmp_path / "towns.txt").write_text("New York\n\n Rome \n")
    (tmp_path / "empty.txt").write_text("\n\n")
    path = str(tmp_path / "towns.txt")
    expected = ["New York", "Rome"]
    for lists, name in ((path, "towns"), ([path], "towns"), ([f"{path}:LOC"], "LOC"), ({"a": path}, "a")):
        view = WordLists(lists).fit(X)
        assert (view.names_, view.phrases_) == ([name], expected)
    view = WordLists([tmp_path / "towns.txt", f"{path}:again"]).fit(X)
    assert (view.names_, view.offsets_.tolist()) == (["towns", "again"], [0, 2, 4])
    assert file_and_name("C:\\data\\towns.txt") == ("C:\\data\\towns.txt", "C:\\data\\towns")
    with pytest.raises(FormatError, match="no words"):
        WordLists(str(tmp_path / "empty.txt")).fit(X)
    with pytest.raises(FileNotFoundError):
        WordLists("nowhere.txt:LOC").fit(X)


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (WordLists(), "lists is None"),
        (WordLists({}), "lists is empty"),
        (WordLists([]), "lists is empty"),
        (WordLists(3), "lists is 3"),
        (WordLists([3]), r"lists\[0\] is 3"),
        (WordLists({"a": 3}), r"lists\['a'\] is 3"),
        (WordLists({"a": []}), r"lists\['a'\] has no words"),
        (WordLists({"a": ["x", " "]}), r"lists\['a'\]\[1\] is ' '"),
        (WordLists({1: ["x"]}), "lists has the name 1"),
        (WordLists(LISTS, scale=0.0), "scale"),
        (WordLists(LISTS, window=-1), "window"),
    ],
)
def test_what_makes_no_sense(view, message):
    with pytest.raises(InputError, match=message):
        view.fit(X)


def test_a_list_twice(tmp_path):
    (tmp_path / "a.txt").write_text("Rome\n")
    with pytest.raises(InputError, match="'a' twice; say FILE:NAME"):
        WordLists([tmp_path / "a.txt", tmp_path / "a.txt"]).fit(X)


# -- in learners ------------------------------------------------------------------------------------------------------
def test_saved_models_know_their_lists(tmp_path):
    view = WordLists(LISTS, window=1)
    assert clone(view).lists is LISTS
    model = CRF(Sequence(), view).fit(X, [["D", "V", "V", "P"], [], ["V", "V", "D", "P"]])
    model.save(tmp_path / "model")
    loaded = accord.load(tmp_path / "model")
    assert (loaded.view_.lists, loaded.view_.names_) == (None, ["towns", "names"])
    new = [["Rio", "de", "Janeiro"], ["rome"]]
    np.testing.assert_array_equal(
        loaded.view_.transform(new).matrix().toarray(), model.view_.transform(new).matrix().toarray()
    )
    assert loaded.predict(new) == model.predict(new)


def test_names_that_are_not_in_labeled_sentences():
    people = ["Ana", "Bea", "Cid", "Dov", "Eva", "Fay", "Gil", "Hal"]
    towns = ["Rome", "Oslo", "Bonn", "Lyon", "Bern", "Cork", "Nice", "Graz"]
    lists = WordLists({"people": people, "towns": towns})
    sentences = [[a, "or", b] for a, b in zip(people[:4], towns[:4])] + [[b, "or", a] for a, b in zip(people, towns)]
    Y = [["P", "O", "L"]] * 4 + [["L", "O", "P"]] * 4
    few = [*Y, *[None] * 4]
    found = Tagger(vectors=lists, random_state=0).fit(sentences, few).predict([["Hal", "or", "Gil"]])
    assert found == [["P", "O", "P"]]
