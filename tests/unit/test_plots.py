"""Pictures show what they are given, escape it, and refuse what does not fit; their examples are tests of their own."""

import re

import matplotlib
import numpy as np
import pytest

from accord import CRF, HMM, InputError, MultiClass, Sequence, StructuredSVM, plots

matplotlib.use("agg")
X = [["Ana", "left", "Rome"], ["Tom", "slept"], ["Eva", "saw", "Tom"]]
Y = [["B-PER", "O", "B-LOC"], ["B-PER", "O"], ["B-PER", "O", "B-PER"]]


@pytest.fixture(scope="module")
def tagger():
    return CRF(Sequence(constraints="iob2")).fit(X, Y)


def text_of(picture: plots.Html) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", "", str(picture))).strip()


def test_entities_of_tokens_and_of_characters_are_the_same_picture():
    by_token = plots.entities([["Ana", "Ruiz", "left", "Rome"]], [["B-PER", "I-PER", "O", "B-LOC"]])
    by_place = plots.entities(["Ana Ruiz left Rome"], [[(0, 8, "PER"), (14, 18, "LOC")]])
    assert str(by_token) == str(by_place)
    assert text_of(by_token) == "Ana Ruiz PER left Rome LOC"
    assert "&lt;b&gt;" in str(plots.entities(["<b>"], [[]]))


def test_marginals_are_those_of_the_model(tagger):
    shown = str(plots.marginals(tagger, X[0], least=0.0))
    table = tagger.predict_marginals([X[0]])[0]
    figures = [float(p) for p in re.findall(r">(\d+) %<", shown)]
    assert sorted(figures) == sorted(float(f"{100 * p:.0f}") for p in table.ravel() if p >= 0.005)


def test_transitions_are_those_of_the_model(tagger):
    axes = plots.transitions(tagger)
    n = len(tagger.structure_.labels_)
    drawn = np.array([text.get_text() for text in axes.texts]).reshape(n + 1, n + 1)
    first, step, last = tagger.structure_.chain(tagger.weights_.transitions)
    expected = np.block([[first[None], np.full((1, 1), np.nan)], [step[:, 0], last[:, None]]])
    for text, weight in zip(drawn.ravel(), expected.ravel()):
        assert text == (
            "" if np.isnan(weight) else f"{weight:.1f}".replace("-0.0", "0.0") if np.isfinite(weight) else "·"
        )


def test_confusion_counts_tokens():
    axes = plots.confusion([["a", "b"], ["b"]], [["a", "a"], ["b"]], normalize=False)
    assert [text.get_text() for text in axes.texts] == ["1", "", "1", "1"]


def test_learning_curves_give_every_class_a_label_and_all_models_the_same_ones():
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1, 2], 20)
    points = np.eye(3)[kinds] * 4 + rng.normal(size=(60, 3))
    models = {"svm": StructuredSVM(MultiClass()), "again": StructuredSVM(MultiClass())}
    y = kinds.tolist()
    axes = plots.learning_curve(models, points, y, points, y, sizes=(3, 30), repetitions=2, random_state=0)
    first, again = (lines[0].get_ydata() for lines in axes.containers)
    np.testing.assert_array_equal(first, again)
    assert first[1] < first[0] + 1e-9 < 40  # with a label for each class it is far better than a guess


def test_clusters_show_the_largest_first():
    shown = plots.clusters(["a", "b", "c", "d", "e"], [0, 1, 1, 1, 0])
    assert text_of(shown) == "recordbcdae"


def test_pages_are_whole(tmp_path):
    page = plots.tree("(S (N dogs) (V bark))").save(tmp_path / "tree.html", title="dogs").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>dogs</title>" in page
    assert "</svg>" in page


def test_what_does_not_fit_is_refused(tagger):
    with pytest.raises(InputError, match=r"found\[0\]: the span"):
        plots.entities(["Ana"], [[(0, 9, "PER")]])
    with pytest.raises(InputError, match="sentences is a single string"):
        plots.entities("Ana", [["O"]])
    with pytest.raises(InputError, match=r"sentences\[0\] is 2 long and found\[0\] 1"):
        plots.entities([["Ana", "left"]], [["O"]])
    with pytest.raises(InputError, match="StructuredSVM has no predict_marginals"):
        plots.marginals(StructuredSVM(Sequence()), X[0])
    with pytest.raises(InputError, match="only fitted learners of sequences"):
        plots.transitions(HMM(Sequence()))
    with pytest.raises(InputError, match="three labels"):
        plots.transitions(CRF(Sequence(order=2)).fit(X, Y))
    with pytest.raises(InputError, match="y_true has 1"):
        plots.confusion(["a"], ["a", "b"])
    with pytest.raises(InputError, match="sizes"):
        plots.learning_curve(tagger, X, Y, X, Y, sizes=(4,))
