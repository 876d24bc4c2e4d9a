"""Raw text as tokens: the documented rules, and that nothing of a text is lost."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_tables import each_row

import accord
from accord import CRF, PCFG, InputError, Sequence, StructuredPerceptron, Tagger, Tree, TypeConsistency, tokenize
from accord.datasets.formats.json_lines import iter_json_sentences
from accord.exceptions import FormatError
from accord.tokenizer import Tokens, labels_of_spans, sentences, spans_by, token_spans

# Tokens with a bar between them.
EXAMPLES = """
Dr.|Ana|O'Neil|does|n't|live|in|Melbourne|,|Australia|.
I|ca|n't|,|we|'ll|;|it|'s|John|’s|U.S.|book
See|(|https://a.org/b?c=1|)|or|www.b.org|,|mail|ana.b@x.org|!!!
l'|homme|d'|accord|qu'|il|dell'|arte|L'|Oréal|'s
@ana|#news|👩‍👩‍👧|🇫🇷|…|so|...|well|--|fine
J.|Smith|and|P.D.|James|,|i.e.|both|,|at|no.|10|;|no|.|Then|etc|.
$|1,000.50|at|10:30|on|2020-05-01|,|3.5|%|off|a|20-year-old|,|well-known|AT&T|rock'n'roll
東|京|は|大|き|い
हिन्दी|में|लिखा|है|।
La|Sra.|Díaz|vive|en|EE.UU.|desde|1990|.
“|Hello|,|”|she|said|—|really|?
"""


@each_row("line", EXAMPLES.strip().splitlines())
def test_rules(line):
    tokens = line.split("|")
    # blanks go where a writer puts them; the rules find the tokens without them, too
    text = line.replace("|", " ")
    for mark in ",.;:!?)%”…।":
        text = text.replace(f" {mark}", mark)
    text = text.replace("( ", "(").replace("“ ", "“").replace("$ ", "$").replace(" 's", "'s").replace(" ’s", "’s")
    text = re.sub(r"(\S) (n't|'ll)", r"\1\2", text)
    text = re.sub(r"\b(l|d|qu|dell|L)' ", r"\1'", text)
    text = re.sub(r"(?<=[\u3040-\u9fff]) ", "", text)
    assert tokenize(text) == tokens


def test_tokenised_text_is_cut_at_blanks_only():
    assert tokenize("Sr. Ruiz ( 38 ) , de EE.UU\xa0y foo.bar .") == [
        "Sr.",
        "Ruiz",
        "(",
        "38",
        ")",
        ",",
        "de",
        "EE.UU\xa0y",
        "foo.bar",
        ".",
    ]


@given(st.text(max_size=60))
def test_nothing_is_lost(text):
    spans = token_spans(text)
    assert all(a < b for a, b in spans)
    assert all(b <= c for (_, b), (c, _) in pairwise(spans))
    outside = [text[b:c] for (_, b), (c, _) in zip([(0, 0), *spans], [*spans, (len(text), 0)])]
    assert not "".join(outside).strip()


@given(
    st.lists(st.sampled_from(["don't", "U.S.", "Dr.", "(x)", "it's,", "1,5", "a-b", "no.", "...", "l'eau"]), max_size=6)
)
def test_tokens_stay_tokens_when_they_are_tokenised_again(words):
    tokens = tokenize(" ".join([*words, "end."]))
    assert tokenize(" ".join(tokens)) == tokens


class Word(str):
    """A token as spaCy has it."""

    def __new__(cls, text, idx):
        return super().__new__(cls, text)

    def __init__(self, text, idx):
        self.text, self.idx = text, idx


def test_tokenizers_of_users():
    assert spans_by(str.split, "a bb a") == [(0, 1), (2, 4), (5, 6)]
    assert spans_by("blanks", "a, b") == [(0, 2), (3, 4)]
    assert spans_by(lambda text: [(0, 1), (1, 2)], "ab") == [(0, 1), (1, 2)]
    assert spans_by(lambda text: [Word("b", 2), Word(" ", 3)], "a b ") == [(2, 3)]
    with pytest.raises(InputError, match="'c', which 'a b' does not have"):
        spans_by(lambda text: ["c"], "a b")
    with pytest.raises(InputError, match="tokenizer returned 3"):
        spans_by(lambda text: [3], "a b")
    with pytest.raises(InputError, match="tokenizer is 'words'"):
        CRF(Sequence(tokenizer="words")).fit(["a"], [["x"]])


class Document:
    """A document as spaCy has it."""

    text_with_ws = "Ana left"

    def __iter__(self):
        return iter([Word("Ana", 0), Word("left", 4)])

    def __len__(self):
        return 2


def test_sentences():
    assert sentences(["Ana left.", ["a", "b"]]) == [["Ana", "left", "."], ["a", "b"]]
    assert sentences([Document()]) == [["Ana", "left"]]
    lists = [["a"], ("b",)]
    assert sentences(lists) is lists


def test_spans_become_labels():
    tokens = token_spans("Ana Díaz left Rome.")
    assert labels_of_spans([(0, 8, "PER"), (14, 18, "LOC")], tokens) == ["B-PER", "I-PER", "O", "B-LOC", "O"]
    with pytest.raises(InputError, match=r"spans\[1\].* shares a token"):
        labels_of_spans([(0, 8, "PER"), (4, 8, "LOC")], tokens)
    with pytest.raises(InputError, match=r"spans\[0\].* has no token"):
        labels_of_spans([(8, 9, "PER")], tokens)


# -- learners ---------------------------------------------------------------------------------------------------------
TEXTS = ["Ana left Melbourne, Australia.", "Tom left Rome.", "Eva saw Rome, Italy."]
LABELS = [["PER", "O", "LOC", "O", "LOC", "O"], ["PER", "O", "LOC", "O"], ["PER", "O", "LOC", "O", "LOC", "O"]]
TAGS = [[y if y == "O" else f"B-{y}" for y in ys] for ys in LABELS]


TAGGERS = [
    CRF(Sequence()),
    StructuredPerceptron(Sequence(), random_state=0),
    TypeConsistency(CRF(Sequence()), strength=0.4, random_state=0),
    Tagger(random_state=0),
]


@pytest.mark.parametrize("learner", TAGGERS, ids=lambda learner: type(learner).__name__)
def test_taggers_take_texts(learner, tmp_path):
    words = [tokenize(text) for text in TEXTS]
    Y = [*TAGS[:2], None]
    from_texts = learner.fit(TEXTS * 2, Y * 2)
    assert from_texts.predict(TEXTS) == from_texts.predict(words)
    assert from_texts.predict(TEXTS)[0] == TAGS[0]
    assert from_texts.predict_spans(TEXTS[:1]) == [[(0, 3, "PER"), (9, 18, "LOC"), (20, 29, "LOC")]]
    assert from_texts.predict_spans(words[:1]) == [[(0, 1, "PER"), (2, 3, "LOC"), (4, 5, "LOC")]]
    from_texts.save(tmp_path / "model")
    assert accord.load(tmp_path / "model").predict(TEXTS) == from_texts.predict(TEXTS)


def test_parsers_take_texts():
    trees = ["(S (NP (N Ana)) (VP (V left) (NP (N Rome))) (. .))", "(S (NP (N Tom)) (VP (V slept)) (. .))"]
    parser = PCFG(Tree()).fit(["Ana left Rome.", "Tom slept."], trees)
    assert parser.predict(["Tom left Rome."]) == parser.predict([["Tom", "left", "Rome", "."]])


def test_a_function_cannot_be_saved(tmp_path):
    model = CRF(Sequence(tokenizer=str.split)).fit(["a b"], [["x", "y"]])
    with pytest.raises(InputError, match="tokenizer"):
        model.save(tmp_path / "model")


# -- JSON lines -------------------------------------------------------------------------------------------------------
def test_json_lines(tmp_path):
    lines = [
        {"text": "Ana left Rome.", "spans": [[0, 3, "PER"], {"start": 9, "end": 13, "label": "LOC"}]},
        {"tokens": ["Tom", "left"], "labels": ["B-PER", "O"]},
        {"text": "Eva slept."},
    ]
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    assert list(iter_json_sentences(path)) == [
        (["Ana", "left", "Rome", "."], ["B-PER", "O", "B-LOC", "O"]),
        (["Tom", "left"], ["B-PER", "O"]),
        (["Eva", "slept", "."], None),
    ]


@each_row(
    ("line", "message"),
    [
        ("{", "no JSON object"),
        ("[1]", "a list; expected"),
        ("{}", "no text and no list of tokens"),
        ('{"tokens": ["a"], "labels": []}', "labels is no list of 1"),
        ('{"text": "a b", "labels": ["O"]}', "1 labels but the text has 2 tokens"),
        ('{"text": "a b", "spans": [[0, "PER"]]}', r"spans\[0\] is \[0, 'PER'\]"),
    ],
)
def test_bad_json_lines(line, message, tmp_path):
    (tmp_path / "data.jsonl").write_text('{"text": "fine"}\n' + line)
    with pytest.raises(FormatError, match=message) as error:
        list(iter_json_sentences(tmp_path / "data.jsonl"))
    assert error.value.line == 2 if hasattr(error.value, "line") else "2" in str(error.value)


def test_tokens_know_their_places():
    tokens = Tokens("Ana  left.")
    assert (tokens, tokens.span(0, 2), tokens.text) == (["Ana", "left", "."], (0, 9), "Ana  left.")
