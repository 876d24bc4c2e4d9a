"""What a newcomer tries first: a test for every row of the list of first attempts that once went wrong.

================================================================  ==============================================
what was tried                                                    held by
================================================================  ==============================================
a CSV file of texts                                               test_cli_texts, test_cli_named_rows
scikit-learn's scorers and checks                                 below; test_sklearn_checks, test_facilities
tables as other programs write them                               test_cli_odd_files
a search with None among the labels                               below; test_facilities ("None in y")
co-SVM with many unlabeled sentences: says something, and ends    below; test_progress, test_co_svm_frozen
which option to take: the default is the best recipe              test_cli_unlabeled (the tagger), test_tagger
defaults of the SVM                                               below
the constant feature drowns the others                            below; test_array_view
raw text                                                          below; test_tokenizer
-1 for unlabeled, prices as classes                               test_estimator
documents of spaCy, embeddings                                    below; test_tokenizer
training in a pipe, a parser                                      below; test_cli_talks
``accord train --help``                                           test_cli_talks
the first run                                                     test_cli_warm
nan in a CSV file, ``--categorical``, other files given as CoNLL  test_cli_talks
numpy arrays of strings as tokens                                 below
kinds of fields of a Deduplicator                                 below
a very wide window, a huge C                                      test_cli_talks
================================================================  ==============================================
"""

import re

import numpy as np
import pytest
from cli_helpers import ok, run
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV

from accord import (
    CRF,
    ArrayFeatures,
    Classifier,
    ConcatenatedViews,
    CoPerceptron,
    Deduplicator,
    InputError,
    MultiClass,
    Select,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    TokenFeatures,
)
from accord.datasets import embedded_ner, write_conll
from accord.evaluation import LabeledFolds, scorer

X, Y = embedded_ner(40, random_state=0)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    return 3.0 * np.eye(3)[y] + rng.normal(size=(30, 3)), np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "roc_auc_ovr", "neg_log_loss"])
def test_scorers_of_scikit_learn(rows, scoring):
    search = GridSearchCV(CRF(MultiClass()), {"C": [0.1, 1.0]}, scoring=scoring, cv=2, error_score="raise").fit(*rows)
    assert np.isfinite(search.best_score_)
    assert get_scorer(scoring)(search.best_estimator_, *rows) == pytest.approx(search.score(*rows))


def test_searches_with_unlabeled_examples(rows):
    points, labels = rows
    some = [label if i % 2 else None for i, label in enumerate(labels)]
    grid = {"max_iter": [2, 3]}
    search = GridSearchCV(CoPerceptron(MultiClass(), random_state=0), grid, cv=LabeledFolds(2), scoring="f1_macro")
    assert search.fit(points, some).best_score_ > 0.5
    partly = [*Y[:12], *[None] * 12]
    for scoring in (None, scorer("span_f1")):
        search = GridSearchCV(CoPerceptron(Sequence(), random_state=0), grid, cv=LabeledFolds(2), scoring=scoring)
        assert np.isfinite(search.fit(X[:24], partly).best_score_)


def test_the_co_svm_talks_and_ends_also_in_a_pipe(tmp_path):
    write_conll(tmp_path / "few.conll", X[:6], Y[:6])
    (tmp_path / "many.txt").write_text("".join(" ".join(x) + "\n" for x in X[6:]))
    data = (tmp_path / "few.conll", "--unlabeled", tmp_path / "many.txt", "-o", tmp_path / "m")
    told = run("train", *data, "--learner", "co-svm", "--max-iter", 2)
    assert told.exit_code == 0, told.output
    assert "training CoSVM on 6 labeled sentences and 34 unlabeled ones ..." in told.stderr
    assert re.search(r"\nCoSVM from 40 sentences, \d+ labels, [\d,]+ features, [\d.]+ s: ", told.stderr)
    assert not re.search(r"\d+ of 0\b|\d+/0\b", told.stderr)


def test_defaults_of_the_machine_count_wrong_tokens():
    """Not their share in the sentence, by which short sentences weighed as much as long ones: normalize=True."""
    loss = {}
    for normalize in (False, True):
        structure = StructuredSVM(Sequence(normalize=normalize), C=0.1).fit(X[:3], Y[:3]).structure_
        loss[normalize] = structure.loss_between(np.zeros(4, np.int32), np.array([0, 1, 1, 0], np.int32))
    assert loss == {False: 2.0, True: 0.5}
    assert Sequence().normalize is False


def test_the_constant_feature_does_not_drown_rows_of_length_one():
    """Few labels, many columns: the default errs as a perceptron without a constant does, and less than with 1."""
    rng = np.random.default_rng(0)
    centers, y = rng.normal(size=(5, 200)), np.arange(500) % 5
    points = centers[y] + 3.0 * rng.normal(size=(500, 200))
    points = (points + 2.0) / np.linalg.norm(points + 2.0, axis=1, keepdims=True)
    error = {}
    for bias in (True, False, "one"):
        model = StructuredPerceptron(MultiClass(), ArrayFeatures(bias=bias), random_state=0)
        error[bias] = 1.0 - model.fit(points[:25], y[:25]).score(points[25:], y[25:])
    assert error[True] <= error[False] + 0.02
    assert error[True] < error["one"]


def test_raw_text_is_tokenised_by_the_commands(tmp_path):
    labels = [["B-PER", "O", "B-LOC", "O", "B-LOC", "O"], ["B-PER", "O", "B-LOC", "O"]]
    tokens = [["Ana", "left", "Melbourne", ",", "Australia", "."], ["Tom", "left", "Rome", "."]]
    write_conll(tmp_path / "few.conll", tokens * 3, labels * 3)
    ok("train", tmp_path / "few.conll", "-o", tmp_path / "m", "-q", "--learner", "perceptron")
    found = ok("predict", tmp_path / "m", "-q", stdin="Tom left Melbourne, Australia.\n")
    assert [line.split("\t")[0] for line in found.splitlines() if line] == ["Tom", "left", *tokens[0][2:]]
    told = ok("predict", tmp_path / "m", "-q", "--output-format", "text", stdin="Ana left Rome.\n")
    assert told == "Ana/B-PER left/O Rome/B-LOC ./O\n"


class Token:
    """A token as spaCy has it."""

    def __init__(self, text):
        self.text = text


class Document:
    """A document as spaCy has it."""

    def __init__(self, text):
        self.text = self.text_with_ws = text

    def __iter__(self):
        return map(Token, self.text.split())

    def __len__(self):
        return len(self.text.split())

    text_with_ws = ""


def test_documents_of_spacy():
    texts = ["Ana left", "Tom saw Rome"] * 2
    labels = [["PER", "O"], ["PER", "O", "LOC"]] * 2
    model = StructuredPerceptron(Sequence(), random_state=0).fit(list(map(Document, texts)), labels)
    assert model.predict([Document(text) for text in texts]) == model.predict([text.split() for text in texts])
    of_texts = Classifier(random_state=0).fit(list(map(Document, texts)), ["a", "b", "a", "b"])
    assert of_texts.predict(list(map(Document, texts))).tolist() == of_texts.predict(texts).tolist()


def test_embeddings_of_sentences_and_of_tokens(rows):
    points, labels = rows
    expected = Classifier(random_state=0).fit(points, labels).predict(points)
    assert (
        Classifier(random_state=0).fit(list(points), list(labels)).predict(list(points)).tolist() == expected.tolist()
    )
    vectors = [np.array([[float(token[0].isupper()), len(token)] for token in x]) for x in X]
    both = [{"tokens": x, "vectors": v} for x, v in zip(X, vectors)]
    view = ConcatenatedViews([Select("tokens", TokenFeatures()), Select("vectors", ArrayFeatures())])
    assert StructuredPerceptron(Sequence(), view, random_state=0).fit(both, Y).score(both, Y) > 0.9


def test_a_parser_says_what_it_does(tmp_path):
    tree = "(S (NP (D the) (N {})) (VP (V {})))\n"
    (tmp_path / "t.mrg").write_text("".join(tree.format(n, v) for n in ("dog", "cat") for v in ("barks", "runs")))
    told = run("train", tmp_path / "t.mrg", "-o", tmp_path / "m", "--learner", "perceptron", "--max-iter", 2)
    assert told.exit_code == 0, told.output
    assert "training StructuredPerceptron on 4 labeled sentences ...\n" in told.stderr
    assert re.search(r"\nStructuredPerceptron from 4 sentences, .* s: ", told.stderr)


def test_numpy_strings_are_tokens():
    arrays = [np.array(x) for x in X[:8]]
    model = StructuredPerceptron(Sequence(), random_state=0).fit(arrays, [np.array(y) for y in Y[:8]])
    assert model.predict(arrays) == StructuredPerceptron(Sequence(), random_state=0).fit(X[:8], Y[:8]).predict(X[:8])


def test_kinds_of_fields_are_said():
    records = [{"n": "Ana Lee"}, {"n": "Anna Lee"}, {"n": "Tom Ray"}]
    with pytest.raises(InputError, match=r"fields\['n'\] is 'string'; expected one of text, number, date, category"):
        Deduplicator({"n": "string"}).fit(records, [0, 0, 1])
    with pytest.raises(InputError, match=r"fields is \['n'\]; expected a dict .* such as {'name': 'text'}"):
        Deduplicator(["n"]).fit(records, [0, 0, 1])
