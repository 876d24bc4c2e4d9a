"""Word vectors and classes from unlabeled text: counts, information, grouping, back-off, windows."""

import math
import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
from row_tables import each_row
from sklearn.base import clone

import accord
from accord import Sequence, StructuredPerceptron
from accord.exceptions import InputError
from accord.views import distributional as d
from accord.views.compose import ConcatenatedViews
from accord.views.distributional import DistributionalFeatures
from accord.views.splits import RandomSplit
from accord.views.text import TokenFeatures

pytestmark = pytest.mark.filterwarnings("ignore:n_classes has")

SUBJECTS, VERBS, PLACES = ["ana", "tom", "eva", "pau"], ["lives", "works", "sleeps"], ["Rome", "Paris", "Vigo"]
TEXT = [[s, v, "in", p, "."] for s in SUBJECTS for v in VERBS for p in PLACES] + [[], ["Hapax", "in", "1999"]]
NEW = [["ana", "Unseen", "in", "unseen", "2001", "NATO", "?"], [], ["Paris"]]


def small(**parameters):
    return DistributionalFeatures(**{"n_classes": (2, 4), "n_components": 4, **parameters})


def dense(rows):
    return rows.matrix().toarray()


def slow_counts(sentences, n_words, neighbours):
    """Dicts (word, context) -> sum of 1/d for the left and for the right side."""
    left, right = Counter(), Counter()
    for x in sentences:
        for t, w in enumerate(x):
            for k in range(1, neighbours + 1):
                left[w, x[t - k] if t - k >= 0 else n_words] += 1 / k
                right[w, x[t + k] if t + k < len(x) else n_words] += 1 / k
    return left, right


@each_row("neighbours", [1, 2, 4])
def test_neighbours_are_counted(neighbours):
    rng = np.random.default_rng(neighbours)
    sentences = [rng.integers(5, size=n).tolist() for n in (4, 0, 1, 7, 2)]
    units, offsets = np.concatenate(sentences).astype(np.int64), np.cumsum([0, *map(len, sentences)])
    sides = d.neighbour_counts(units, offsets, 6, neighbours)
    multiple = math.lcm(*range(1, neighbours + 1))
    for side, expected in zip(sides, slow_counts(sentences, 6, neighbours)):
        assert side.shape == (6, 7)
        assert side.has_canonical_format
        assert side.nnz == len(expected)
        for (w, c), n in expected.items():
            assert side[w, c] == pytest.approx(multiple * n)
            assert side[w, c] == int(side[w, c])  # exact, so the order of sentences cannot matter


def test_left_is_not_right():
    left, right = d.neighbour_counts(np.array([0, 1]), np.array([0, 2]), 2, 1)
    np.testing.assert_array_equal(left.toarray(), [[0, 0, 1], [1, 0, 0]])
    np.testing.assert_array_equal(right.toarray(), [[0, 1, 0], [0, 0, 1]])


def test_information_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    counts = (rng.poisson(1.0, size=(6, 7)) ** 4).astype(float)
    counts[3] = 0.0  # a shape that does not occur
    p_word = counts.sum(axis=1) / counts.sum()
    q_context = counts.sum(axis=0) ** 0.75 / (counts.sum(axis=0) ** 0.75).sum()
    expected = np.zeros_like(counts)
    for w, c in zip(*np.nonzero(counts)):
        expected[w, c] = max(0.0, math.log(counts[w, c] / counts.sum() / (p_word[w] * q_context[c])) - 1.0)
    assert 0 < np.count_nonzero(expected) < np.count_nonzero(counts)
    np.testing.assert_allclose(d.ppmi(d.sp.csr_array(counts)).toarray(), expected, atol=1e-12)


def test_vectors_keep_the_angles_of_the_information():
    """With all components, cosines of vectors are those of the rows of the matrix that is decomposed."""
    rng = np.random.default_rng(0)
    sides = [d.sp.csr_array(rng.poisson(0.7, size=(8, 9)).astype(float)) for _ in range(2)]
    rows = np.hstack([side.toarray() for side in sides])
    rows[2] = 0.0
    sides = [d.sp.csr_array(rows[:, :9]), d.sp.csr_array(rows[:, 9:])]
    vectors = d.word_vectors(sides, 100, 0)
    lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-9)
    np.testing.assert_allclose(vectors @ vectors.T, rows @ rows.T / np.outer(lengths, lengths), atol=1e-5)
    assert not vectors[2].any()
    assert d.word_vectors(sides, 3, 0).shape == (8, 3)


def test_words_used_alike_share_classes():
    view = small(n_classes=(5,), n_components=6, neighbours=1).fit(TEXT)
    for group in (SUBJECTS, VERBS, PLACES):
        assert len({view.class_of(word)[5] for word in group}) == 1
        assert {word for word, _ in view.nearest(group[0], len(group) - 1)} == {w.lower() for w in group[1:]}
    assert len({view.class_of(group[0])[5] for group in (SUBJECTS, VERBS, PLACES)}) == 3


def test_nearest_words_come_with_their_cosines():
    view = small().fit(TEXT)
    found = view.nearest("ana", 100)
    assert len(found) == len(view.words_) - 1
    assert "ana" not in [word for word, _ in found]
    cosines = [cosine for _, cosine in found]
    assert cosines == sorted(cosines, reverse=True)
    word, cosine = found[3]
    place = view.words_.index(word)
    assert cosine == pytest.approx(float(view.vectors_[place] @ view.vectors_[view.words_.index("ana")]), abs=1e-5)
    assert len(view.nearest("NeverSeen", 3)) == 3  # neighbours of what stands for it


def test_frequent_words_come_first_and_rare_ones_not_at_all():
    view = small(min_count=9).fit(TEXT)
    assert view.words_[:2] == ["in", "."]
    assert "hapax" not in view.words_
    counts = Counter(word.lower() for x in TEXT for word in x)
    assert set(view.words_) == {word for word, n in counts.items() if n >= 9}
    assert [counts[w] for w in view.words_] == sorted((counts[w] for w in view.words_), reverse=True)


@each_row(
    ("word", "shape"),
    [
        ("1999", "digits"), ("B-52", "digits"), ("NATO", "capitals"), ("A.", "capitals"), ("A", "capitalised"),
        ("Ana", "capitalised"), ("McX", "capitalised"), ("ana", "letters"), ("ñu", "letters"), ("iPod", "letters"),
        ("?", "symbols"), ("", "symbols"), ("«x", "symbols"),
    ],
)  # fmt: skip
def test_shapes(word, shape):
    assert d.SHAPES[d.shape_of(word)] == shape


def test_rare_and_new_words_have_the_features_of_their_shape():
    X = [*TEXT, ["Otro", "in", "."], ["Mas", "in", "."]]
    view = small().fit(X)
    rows = dense(view.transform([["Hapax", "Otro", "Mas", "Nuevo", "1999", "2001", "NATO", "zzz"]]))
    for same in (1, 2, 3):
        np.testing.assert_array_equal(rows[same], rows[0])
    np.testing.assert_array_equal(rows[4], rows[5])
    assert (rows[0] != rows[4]).any()
    assert rows[0].any()
    assert not rows[6].any()  # no rare word was written in capitals
    assert not rows[7].any()
    assert set(view.class_of("NATO").values()) == {-1}
    assert view.class_of("Nuevo") == view.class_of("Hapax")


def test_rare_words_are_counted_together():
    """Three words that occur once each stand in the same place, so their shape is like the words of that place."""
    X = [[s, "lives", "in", "Rome"] for s in ["Ana", "Tom"] * 5] + [[s, "lives", "in", "Rome"] for s in ("Eva", "Pau")]
    view = small(n_components=8).fit(X)
    vector = view.vectors_[len(view.words_) + d.SHAPES.index("capitalised")]
    assert float(vector @ view.vectors_[view.words_.index("ana")]) == pytest.approx(1.0, abs=1e-5)


def test_case():
    X = [["Ana", "runs"], ["ana", "runs"], ["ANA", "runs"]]
    assert small(min_count=1).fit(X).words_ == ["ana", "runs"]
    assert small(min_count=1, lowercase=False).fit(X).words_ == ["runs", "ANA", "Ana", "ana"]
    view = small(min_count=2, lowercase=False).fit(X)
    assert view.words_ == ["runs"]
    assert len({repr(view.class_of(word)) for word in ("Ana", "Eva")}) == 1


@pytest.mark.parametrize("window", [0, 1, 2, (2, 0), (0, 1)])
@pytest.mark.parametrize("part", ["classes", "vectors", "both"])
def test_windows_are_those_of_a_slow_reference(window, part):
    view = small(window=window, classes=part != "vectors", vectors=part != "classes", scale=2.0)
    view.fit(TEXT)
    before, after = (window, window) if isinstance(window, int) else window
    for X, rows in ((TEXT, small(**view.get_params()).fit_rows(TEXT)), (NEW, view.transform(NEW))):
        names = view.feature_names(range(view.n_dims_))
        assert len(set(names)) == len(names) == view.n_dims_
        expected = []
        for x in X:
            for t in range(len(x)):
                features = {}
                for shift in range(-before, after + 1):
                    prefix = f"{shift:+d}:" if shift else "0:"
                    if not 0 <= t + shift < len(x):
                        features[prefix + "boundary"] = 1.0
                        continue
                    own = view._unit_of(x[t + shift]) - 1
                    if part != "vectors":
                        for n, c in view.class_of(x[t + shift]).items():
                            features[f"{prefix}class{n}={c}"] = float(c >= 0)
                    if part != "classes":
                        for k, value in enumerate(view.vectors_[own]):
                            features[f"{prefix}vector{k}"] = 2.0 * value
                expected.append([features.get(name.split(" (")[0], 0.0) for name in names])
        np.testing.assert_allclose(dense(rows), np.array(expected).reshape(rows.n_rows, -1), atol=1e-12)
    if before + after:
        found = rows.window()
        assert (found.size, found.first, found.before, found.outside) == (before + after + 1, 0, before, 0)


def test_windows_are_found_beside_other_views():
    parts = [small(window=1), small(window=0)]
    assert ConcatenatedViews(parts).fit_rows(TEXT).window().size == 3
    assert ConcatenatedViews(parts[::-1]).fit_rows(TEXT).window().size == 3


def test_vectors_as_features_have_the_wanted_length():
    view = small(classes=False, scale=2.5).fit(TEXT)
    lengths = np.linalg.norm(dense(view.transform([[*SUBJECTS, *VERBS, *PLACES]])), axis=1)
    np.testing.assert_allclose(lengths, 2.5, rtol=1e-6)


def test_names_show_the_most_frequent_words_of_a_class():
    view = small(n_classes=(5,), n_components=6, neighbours=1, window=1).fit(TEXT)
    names = view.feature_names(range(view.n_dims_))
    c = view.class_of("tom")[5]
    assert f"0:class5={c} (ana, eva, pau, ...)" in names
    c = view.class_of("lives")[5]
    assert f"-1:class5={c} (lives, sleeps, works)" in names
    assert names[-3:] == ["-1:boundary", "0:boundary", "+1:boundary"]


def test_groups():
    view = small(window=1).fit(TEXT)
    groups, names = view.feature_groups()
    assert groups.shape == (view.n_dims_,)
    for group, name in zip(groups, view.feature_names(range(view.n_dims_))):
        kind = name.split(":", 1)[1]
        assert kind.startswith({"class": "class", "vector": "vector", "position": "boundary"}[names[group]])


def test_a_fit_can_be_repeated_and_order_does_not_matter():
    rng = np.random.default_rng(0)
    X = [[f"w{i}" for i in rng.zipf(1.5, size=12) % 60] for _ in range(200)]
    first = small(n_classes=(4, 16), n_components=16).fit(X)
    for again in (X, X[::-1], [X[i] for i in rng.permutation(len(X))]):
        view = small(n_classes=(4, 16), n_components=16).fit(again)
        assert view.words_ == first.words_
        np.testing.assert_array_equal(view.vectors_, first.vectors_)
        np.testing.assert_array_equal(view.word_classes_, first.word_classes_)
    other = small(n_classes=(4, 16), n_components=16, random_state=1).fit(X)
    assert (other.word_classes_ != first.word_classes_).any()


def test_fitting_again_forgets():
    view = small().fit(TEXT)
    view.transform(NEW)
    view.feature_names([0])
    X = [["other", "words"], ["other", "things"]]
    np.testing.assert_array_equal(dense(view.fit_rows(X)), dense(small().fit_rows(X)))
    assert view.words_ == ["other"]


def test_more_text_is_seen_with_the_eyes_of_the_first():
    view = small(window=1)
    view.extend_rows(TEXT)
    n_dims = view.n_dims_
    np.testing.assert_array_equal(dense(view.extend_rows(NEW)), dense(view.transform(NEW)))
    assert view.n_dims_ == n_dims


def test_pickle_and_clone():
    view = small(window=1).fit(TEXT)
    copy = pickle.loads(pickle.dumps(view))
    np.testing.assert_array_equal(dense(copy.transform(NEW)), dense(view.transform(NEW)))
    assert copy.feature_names(range(view.n_dims_)) == view.feature_names(range(view.n_dims_))
    assert copy.nearest("ana") == view.nearest("ana")
    assert all(not name.startswith("_") for name in view.__getstate__())
    assert not hasattr(clone(view), "words_")


def test_too_few_words_for_the_classes():
    with pytest.warns(UserWarning, match=r"n_classes has 512, but X has only \d+ words that differ"):
        view = DistributionalFeatures().fit(TEXT)
    n_known = (view.word_classes_[:, 0] >= 0).sum()
    assert view.n_classes_ == sorted({min(n, len(np.unique(view.vectors_[view.word_classes_[:, 0] >= 0], axis=0)))
                                      for n in (32, 128, 512)})  # fmt: skip
    assert max(view.n_classes_) <= n_known
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small().fit(TEXT)


@each_row("X", [[["a"]], [["a", "a"]], [["a"], ["b"]], [["a", "b", "a", "b"]]])
def test_hardly_any_text(X):
    view = small(window=1)
    rows = view.fit_rows(X)
    assert np.isfinite(dense(rows)).all()
    assert len(view.feature_names(range(view.n_dims_))) == view.n_dims_
    assert view.transform([["b", "c"]]).n_rows == 2


@each_row("empty", [[], [[]], [[], []]])
def test_no_text(empty):
    with pytest.raises(InputError, match="X has no tokens"):
        small().fit(empty)
    assert small().fit(TEXT).transform(empty).n_inputs == len(empty)


@each_row(
    ("bad", "message"),
    [
        ("a b", "X is 'a b'"),
        ([["a"], "b"], r"X\[1\] is 'b'"),
        ([["a"], ["b", 7]], r"X\[1\]\[1\] is 7 of type int"),
    ],
)
def test_bad_tokens(bad, message):
    for use in (small().fit, small().fit(TEXT).transform):
        with pytest.raises(InputError, match=message):
            use(bad)


@each_row(
    ("parameters", "message"),
    [
        ({"n_classes": 32}, "n_classes is 32"),
        ({"n_classes": (0,)}, r"n_classes is \(0,\)"),
        ({"n_components": 0}, "n_components is 0"),
        ({"min_count": 0}, "min_count is 0"),
        ({"neighbours": 0}, "neighbours is 0"),
        ({"neighbours": 1.5}, "neighbours is 1.5"),
        ({"window": -1}, "window is -1"),
        ({"scale": 0}, "scale is 0"),
        ({"scale": math.nan}, "scale is nan"),
        ({"random_state": None}, "random_state is None"),
        ({"classes": False, "vectors": False}, "no features"),
        ({"n_classes": (), "vectors": False}, "no features"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InputError, match=message):
        small(**parameters).fit(TEXT)


def test_unlabeled_sentences_teach_a_learner():
    """Rome is a place in the only labeled sentence; what unlabeled text says of Vigo makes it one, too."""
    X = [["ana", "lives", "in", "Rome", "."], *TEXT]
    Y = [["O", "O", "O", "LOC", "O"], *[None] * len(TEXT)]
    view = small(n_classes=(5,), n_components=6, neighbours=1)
    model = StructuredPerceptron(Sequence(), view=view, random_state=0).fit(X, Y)
    assert model.predict([["eva", "sleeps", "in", "Vigo", "."]]) == [["O", "O", "O", "LOC", "O"]]
    both = [TokenFeatures(window=1), small(window=1)]
    model = StructuredPerceptron(Sequence(), view=both, random_state=0).fit(X, Y)
    assert len(model.predict(NEW)) == len(NEW)


def test_model_files(tmp_path):
    X = [["ana", "lives", "in", "Rome", "."], *TEXT]
    Y = [["O", "O", "O", "LOC", "O"], *[None] * len(TEXT)]
    model = StructuredPerceptron(Sequence(), view=small(window=1), random_state=0).fit(X, Y)
    model.save(tmp_path / "model.accord")
    loaded = accord.load(tmp_path / "model.accord")
    assert loaded.predict(NEW) == model.predict(NEW)
    assert loaded.view_.nearest("ana") == model.view_.nearest("ana")
    assert loaded.view_.class_of("Unseen") == model.view_.class_of("Unseen")
    assert loaded.view_.feature_names(range(9)) == model.view_.feature_names(range(9))


def test_split_into_views():
    """Each feature goes to exactly one of the views, which together are the whole."""
    view = RandomSplit(small(window=1), n_views=2)
    rows = view.fit_rows(TEXT)
    parts = [part.matrix().toarray() for part in view.channels(rows, np.random.default_rng(0))]
    assert all(part.any() for part in parts)
    np.testing.assert_array_equal(sum(parts), dense(rows))
    assert not (parts[0].any(axis=0) & parts[1].any(axis=0)).any()
