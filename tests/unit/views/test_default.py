"""The default view: one rule for learners and for views inside of others."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from row_tables import each_row

import accord
from accord import (
    CRF,
    RLSR,
    ArrayFeatures,
    ConcatenatedViews,
    CoPerceptron,
    DictFeatures,
    FeatureGroups,
    GraphFeatures,
    InputError,
    KernelFeatures,
    MultiClass,
    OddEvenSplit,
    RandomSplit,
    Select,
    Sequence,
    StructuredPerceptron,
    SumOfViews,
    TokenFeatures,
    Tree,
)
from accord.views.default import default_view, names_only

WORDS = [["good", "movie"], ["bad", "plot", "bad"], ["good", "plot"], ["bad", "movie"], ["good", "good", "fun"]]
LABELS = ["+", "-", "+", "-", "+"]
NEW = [["good"], ["bad", "bad"]]
MATRIX = np.arange(6.0).reshape(3, 2)

LOOKS = {
    "words": (WORDS, TokenFeatures),
    "tuples of words": ([("a", "b")], TokenFeatures),
    "words after an empty input": ([[], ["a"]], TokenFeatures),
    "dicts": ([{"a": 1.0}], DictFeatures),
    "sets": ([{"a", "b"}], DictFeatures),
    "lists of dicts": ([[{"a": "b"}]], DictFeatures),
    "lists of lists of features": ([[["a", "b"], ["c"]]], DictFeatures),
    "array": (MATRIX, ArrayFeatures),
    "stack of matrices": (MATRIX[None], ArrayFeatures),
    "sparse": (sp.csr_array(MATRIX), ArrayFeatures),
    "rows of numbers": (MATRIX.tolist(), ArrayFeatures),
    "vectors": (list(MATRIX), ArrayFeatures),
    "matrices": ([np.empty((0, 2)), MATRIX], ArrayFeatures),
    "sparse matrices": ([sp.csr_array(MATRIX)], ArrayFeatures),
    "lists of rows of numbers": ([MATRIX.tolist()], ArrayFeatures),
    "lists of vectors": ([list(MATRIX)], ArrayFeatures),
}


@each_row("look", LOOKS)
@each_row("one_row", [False, True])
def test_the_look_decides(look, one_row):
    X, kind = LOOKS[look]
    if one_row and kind is TokenFeatures:
        kind = DictFeatures
    assert repr(default_view(X, one_row)) == repr(kind())
    assert repr(RandomSplit().with_default(partial(default_view, one_row=one_row)).fit(X).view_) == repr(kind())
    plain = ArrayFeatures(bias=False) if kind is ArrayFeatures else kind()
    assert repr(KernelFeatures().with_default(partial(default_view, one_row=one_row)).fit(X).view_) == repr(plain)


def test_a_view_that_is_told_nothing_looks_itself():
    assert isinstance(OddEvenSplit().fit(WORDS).view_, TokenFeatures)
    assert isinstance(GraphFeatures(n_neighbors=1).fit(WORDS).view_, TokenFeatures)
    assert isinstance(ConcatenatedViews([RandomSplit()]).fit(MATRIX).views_[0].view_, ArrayFeatures)


@each_row(
    ("X", "message"),
    [
        ([[], []], "X has only empty inputs"),
        ([np.empty((0, 2))], "X has only empty inputs"),
        ([1.0, 2.0], r"X\[0\] is a float: cannot tell which features are meant. Give a list of tokens"),
        ([None], r"X\[0\] is a NoneType: cannot tell"),
        (["good movie"], r"X\[0\] is a str: cannot tell"),
        ([[], [None]], r"X\[1\] is a list that starts with a NoneType: cannot tell"),
        ("good movie", "X is 'good movie' of type str; expected a list of inputs"),
    ],
)
def test_unclear_inputs(X, message):
    with pytest.raises(InputError, match=message):
        default_view(X)
    with pytest.raises(InputError, match=message):
        RandomSplit().fit(X)


def test_unclear_inputs_of_classes():
    with pytest.raises(InputError, match="Give a text, a dict or list of features, or a row of numbers per input"):
        default_view([1.0], one_row=True)


OPEN = {
    "random": RandomSplit(),
    "odd and even": OddEvenSplit(),
    "groups": FeatureGroups(groups=lambda name: "short" if len(name) == 3 else "long"),
    "kernel": KernelFeatures(kernel="linear"),
    "graph": GraphFeatures(kernel="linear", n_neighbors=1, intrinsic=0.0),
    "list": [RandomSplit(), DictFeatures()],
    "kernel in a split": RandomSplit(KernelFeatures()),
    "split in a kernel": KernelFeatures(RandomSplit()),
    "split of a list": RandomSplit([OddEvenSplit(), DictFeatures()]),
}


@each_row("view", OPEN.values(), ids=OPEN.keys())
def test_lists_of_words_get_one_class_whatever_is_around_the_default_view(view):
    model = StructuredPerceptron(MultiClass(), view=view, random_state=0).fit(WORDS, LABELS)
    assert list(model.predict(WORDS)) == LABELS
    assert list(model.predict(NEW)) == ["+", "-"]


@pytest.mark.parametrize("name", sorted(set(OPEN) - {"kernel", "graph", "split in a kernel"}))
def test_lists_of_words_have_several_views(name):
    Y = [*LABELS[:4], None]
    assert list(CoPerceptron(MultiClass(), OPEN[name], random_state=0).fit(WORDS, Y).predict(NEW)) == ["+", "-"]
    learner = StructuredPerceptron(MultiClass(), random_state=0)
    assert list(SumOfViews(learner, views=OPEN[name]).fit(WORDS, LABELS).predict(NEW)) == ["+", "-"]


def test_a_split_has_the_features_of_the_default_view():
    plain = StructuredPerceptron(MultiClass(), random_state=0).fit(WORDS, LABELS)
    split = StructuredPerceptron(MultiClass(), view=RandomSplit(), random_state=0).fit(WORDS, LABELS)
    np.testing.assert_array_equal(split.weights_.unary, plain.weights_.unary)
    assert repr(split.view_.view_) == repr(plain.view_) == "DictFeatures()"
    assert split.view is not split.view_
    assert split.view.view is None


def test_parts_of_inputs():
    X = [{"words": words, "length": len(words)} for words in WORDS]
    view = {"words": Select("words"), "length": Select("length")}
    model = CRF(MultiClass(), view=view).fit(X, LABELS)
    assert [type(part.view_) for part in model.view_.views_] == [DictFeatures, ArrayFeatures]
    assert list(model.predict(X)) == LABELS
    learner = StructuredPerceptron(MultiClass(), view=Select("words"), random_state=0)
    model = SumOfViews(learner, n_views=2).fit(X, LABELS)
    assert isinstance(model.view_.view_.view_, DictFeatures)
    assert len(model.predict(X)) == len(X)


def test_sequences_of_words_have_one_row_per_word():
    Y = [["x"] * len(words) for words in WORDS]
    Y[0][0] = "y"
    for view in (RandomSplit(), [RandomSplit(), TokenFeatures()], KernelFeatures(kernel="linear")):
        assert CRF(Sequence(), view=view).fit(WORDS, Y).predict(NEW)[1] == ["x", "x"]


def test_batches_and_saved_models(tmp_path):
    model = StructuredPerceptron(MultiClass(), view=[RandomSplit(), OddEvenSplit()], random_state=0)
    model.partial_fit(WORDS[:2], LABELS[:2]).partial_fit(WORDS[2:], LABELS[2:])
    model.save(tmp_path / "model.accord")
    assert list(accord.load(tmp_path / "model.accord").predict(NEW)) == list(model.predict(NEW))


def test_numbers_from_words():
    y = [1.0, -1.0, 1.0, -1.0, 1.0]
    for view in (None, RandomSplit(), Select(slice(None)), KernelFeatures(RandomSplit())):
        model = RLSR(view, kernel="linear", eta=1e-3).fit(WORDS, y)
        np.testing.assert_allclose(model.predict(WORDS), y, atol=0.1)


def test_tags_are_names():
    trees = [("S", ("NP", ("DT", "the"), ("NN", "dog")), ("VP", ("VBZ", "runs")))] * 2
    X = [[("the", "DT"), ("dog", "NN"), ("runs", "VBZ")]] * 2
    names = names_only(1)
    for view in (None, RandomSplit()):
        model = StructuredPerceptron(Tree(terminals="tags"), view=view, random_state=0).fit(X, trees)
        assert repr(getattr(model.view_, "view_", model.view_)) == repr(names)
