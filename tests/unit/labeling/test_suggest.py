"""What to label next: strategies against enumerations of all outputs, what each needs, and every kind of model."""

import itertools
import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from accord import (
    CRF,
    BatchDetector,
    CallablePairs,
    ClusteringSVM,
    CollectiveSpamFilter,
    CoPerceptron,
    CoRLSR,
    Deduplicator,
    InputError,
    Matching,
    MultiClass,
    Pool,
    Select,
    Sequence,
    StructuredPerceptron,
    SumOfViews,
    Taxonomy,
    Tree,
    suggest,
)
from accord.labeling import diversity
from accord.labeling.outputs import LEAST, uncertain_spans
from accord.labeling.strategies import STRATEGIES

X = [["Ana", "left", "Rome"], ["Tom", "slept"], ["Rome", "slept", "well"], ["Ana", "and", "Tom"], ["well"], []]
Y = [["PER", "O", "LOC"], ["PER", "O"], *[None] * 4]
SEEN = (0, 1)


def by_index(found):
    return {one.index: one.score for one in found}


def every(model, inputs, **how):
    """All questions, with their scores."""
    return by_index(suggest(model, inputs, 1000, random_state=0, **how))


# -- label sequences, by enumeration of all outputs ----------------------------------------------------------------
def enumerated(model, x):
    """All label sequences with their scores, from the weights, as the definition has it."""
    s, rows = model.structure_, model._rows([x])
    unary = rows.matrix().toarray() @ model.weights_.unary
    n = s.n_labels_
    start, end, pair = np.split(model.weights_.transitions, [n, 2 * n])
    pair = pair.reshape(n, n)
    out = {}
    for y in itertools.product(range(n), repeat=len(x)):
        score = start[y[0]] + end[y[-1]] + sum(unary[t, k] for t, k in enumerate(y))
        out[y] = score + sum(pair[a, b] for a, b in itertools.pairwise(y))
    return out


def token_entropies(model, x):
    scores = enumerated(model, x)
    z = sum(map(math.exp, scores.values()))
    found = []
    for t in range(len(x)):
        p = [sum(math.exp(v) for y, v in scores.items() if y[t] == k) / z for k in range(model.structure_.n_labels_)]
        found.append(-sum(q * math.log(q) for q in p if q > 0) / math.log(len(p)))
    return found


@pytest.mark.parametrize("learner", [CRF(Sequence()), StructuredPerceptron(Sequence(), random_state=0)])
def test_sequences_are_scored_as_enumeration_does(learner):
    model = learner.fit(X, Y)
    entropy, margin = (every(model, X, strategy=name) for name in ("entropy", "margin"))
    assert set(entropy) == set(margin) == {0, 1, 2, 3, 4}  # an empty sentence is never asked about
    for i in range(5):
        each = token_entropies(model, X[i])
        assert entropy[i] == pytest.approx(sum(each) / len(each), abs=1e-9)
        best, second = sorted(enumerated(model, X[i]).values())[:-3:-1]
        assert margin[i] == pytest.approx(math.exp(second - best), abs=1e-9)
    found = suggest(model, X, 3, labeled=SEEN, strategy="entropy", random_state=0)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert not {one.index for one in found} & set(SEEN)
    assert "(" in found[0].reason
    assert "%" in found[0].reason


def plain_spans(entropies):
    """Spans of one sentence, from the definition: peak after peak."""
    free, found = set(range(len(entropies))), []
    while free:
        t = max(free, key=lambda t: (entropies[t], -t))
        if entropies[t] <= 0:
            break
        start = end = t
        while start - 1 in free and entropies[start - 1] >= LEAST * entropies[t]:
            start -= 1
        while end + 1 in free and entropies[end + 1] >= LEAST * entropies[t]:
            end += 1
        free -= set(range(start, end + 1))
        found.append((start, end + 1, entropies[t]))
    return found


def test_spans_are_the_peaks_of_uncertainty():
    rng = np.random.default_rng(0)
    for _ in range(50):
        lengths = rng.integers(0, 6, 4)
        values = rng.choice([0.0, 0.1, 0.3, 0.5, 0.75, 0.9], lengths.sum())
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        expected = []
        for i in range(4):
            expected += [(i, a, b, h) for a, b, h in plain_spans(values[offsets[i] : offsets[i + 1]].tolist())]
        found = uncertain_spans(values, offsets, 1000)
        assert sorted(found) == sorted(expected)
        assert uncertain_spans(values, offsets, 2) == found[:2]
        assert uncertain_spans(np.tile(values, 9), np.arange(10) * values.size, 1) == [
            (0, *plain_spans(values.tolist())[0]) for _ in range(1) if values.any()
        ]
        assert [h for *_, h in found] == sorted((h for *_, h in found), reverse=True)


def test_of_spans_with_a_word_in_common_one_is_asked_about_at_a_time():
    X = [["Ana", "left"], ["Tom", "slept"], *[[word, "Rome", "now"] for word in ("in", "near", "past", "to")]]
    model = CRF(Sequence()).fit(X[:2], [["PER", "O"], ["PER", "O"]])
    found = suggest(model, X, 8, unit="part", labeled=[0, 1])
    known, repeated = set(), []
    for one in found:
        own = {word.lower() for word in X[one.index][slice(*one.part)]}
        repeated.append(bool(known & own))
        known |= own
    assert not repeated[0]
    assert repeated[-1]
    assert repeated == sorted(repeated)  # what comes again comes last


def test_spans_of_a_model():
    model = CRF(Sequence()).fit(X, Y)
    found = suggest(model, X, 3, unit="part", labeled=[0, 1])
    best = found[0]
    each = token_entropies(model, X[best.index])
    assert best.score == pytest.approx(max(max(token_entropies(model, X[i])) for i in (2, 3, 4)), abs=1e-9)
    assert best.score == pytest.approx(max(each[slice(*best.part)]), abs=1e-9)
    again = suggest(model, X, 3, unit="part", labeled=[0, 1, best])
    assert (best.index, best.part) not in [(one.index, one.part) for one in again]
    assert len({one.index for one in found}) == len(found)  # one span of a sentence at a time


# -- classes -------------------------------------------------------------------------------------------------------
POINTS = np.array([[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.5, 0.5], [0.4, 0.7], [2.0, 0.1]])


@pytest.mark.parametrize("structure", [MultiClass(labels=["a", "b", "c"]), Taxonomy({"a": "r", "b": "r", "c": "s"})])
def test_classes_are_scored_as_enumeration_does(structure):
    model = CRF(structure).fit(POINTS[:2], ["a", "b"])
    features = model._rows(POINTS).matrix().toarray()
    labels, p = model.structure_.labels_, model.predict_proba(POINTS)
    nodes = [model.structure_.label_scores(np.eye(model.structure_.n_nodes_))[:, k] for k in range(len(labels))]
    for i, score in every(model, POINTS, strategy="change").items():
        # the gradient of log p(y | x) is x times (nodes of y - expected nodes)
        mean = sum(q * node for q, node in zip(p[i], nodes))
        gradients = [np.outer(features[i], node - mean) for node in nodes]
        assert score == pytest.approx(sum(q * np.linalg.norm(g) for q, g in zip(p[i], gradients)))
    for i, score in every(model, POINTS, strategy="entropy").items():
        assert score == pytest.approx(-sum(q * math.log(q) for q in p[i]) / math.log(len(labels)))
    for i, score in every(model, POINTS, strategy="margin").items():
        assert score == pytest.approx(sorted(p[i])[-2] / max(p[i]))


def test_classes_of_other_estimators():
    other = LogisticRegression().fit(POINTS[:2], ["a", "b"])
    found = suggest(other, POINTS, 2, labeled=[0, 1])
    assert found[0].index == 3
    assert found[0].reason in ("a (50 %) or b (50 %)", "b (50 %) or a (50 %)")


# -- views ---------------------------------------------------------------------------------------------------------
def test_views_disagree_as_often_as_their_predictions_differ():
    model = CoPerceptron(Sequence(), unlabeled_weight=0.1, random_state=0).fit(X, Y)
    a, b = model.predict_views(X)
    for i, score in every(model, X, strategy="disagreement").items():
        assert score == pytest.approx(np.mean([p != q for p, q in zip(a[i], b[i])]))
    classes = SumOfViews(StructuredPerceptron(MultiClass(), random_state=0), n_views=3)
    points = np.random.default_rng(0).normal(size=(12, 6))
    classes.fit(points[:3], ["a", "b", "c"])
    views = classes.predict_views(points)
    for i, score in every(classes, points, strategy="disagreement").items():
        assert score == pytest.approx(np.mean([v[i] != w[i] for v, w in itertools.combinations(views, 2)]))


def test_numbers_vary_between_views():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(30, 4))
    model = CoRLSR(disagreement_weight=0.1, views=[Select([0, 1]), Select([2, 3])], random_state=0)
    model.fit(table[:20], table[:20].sum(axis=1))
    views = np.stack([*model.predict_views(table).values()])
    expected = views.var(axis=0) / model.y_scale_**2
    for i, score in every(model, table, strategy="disagreement").items():
        assert score == pytest.approx(expected[i])
    best = suggest(model, table, 1)[0]  # what "auto" takes
    assert best.score == pytest.approx(expected.max())
    assert best.reason.startswith("the views predict")


# -- trees ---------------------------------------------------------------------------------------------------------
TREES = [
    "(S (NP (N dogs)) (VP (V see) (NP (N cats))))",
    "(S (NP (N dogs)) (VP (V see) (NP (NP (N cats)) (PP (P with) (NP (N ears))))))",
    "(S (NP (N dogs)) (VP (VP (V see) (NP (N cats))) (PP (P with) (NP (N eyes)))))",
]
SENTENCES = ["dogs see cats", "dogs see cats with ears", "dogs see cats with eyes", "cats see dogs with ears with eyes"]


def test_trees_and_brackets():
    words = [s.split() for s in SENTENCES]
    model = CRF(Tree()).fit(words[:3], TREES)
    marginals = model.predict_marginals(words)

    def h(p):
        return 0.0 if p <= 0 or p >= 1 else -(p * math.log2(p) + (1 - p) * math.log2(1 - p))

    for i, score in every(model, words, strategy="entropy").items():
        assert score == pytest.approx(sum(map(h, marginals[i].values())) / len(words[i]), abs=1e-9)
    for i, score in every(model, words, strategy="margin").items():
        trees = model.predict_k_best(words[i : i + 1], 1000)[0]  # all there are
        values = [s for _, s in trees] + [-math.inf]
        assert score == pytest.approx(math.exp(values[1] - values[0]), abs=1e-9)
    best = suggest(model, words, 1, unit="part")[0]
    assert best.score == pytest.approx(max(h(p) for one in marginals for p in one.values()), abs=1e-9)
    assert h(marginals[best.index][best.part]) == pytest.approx(best.score, abs=1e-9)
    assert best.part[0] in best.reason
    # what the grammar cannot parse is asked first
    with pytest.warns(UserWarning, match="no parse"):
        found = suggest(model, [*words, ["with", "with"]], 2)
    assert found[0].index == len(words)
    assert "no tree" in found[0].reason


# -- pairs ---------------------------------------------------------------------------------------------------------
def test_pairs_of_records():
    names = "Ann Lee", "Lee, Ann", "Bob Kay", "Bob Kaye", "Cy Orr", "Di Roe", "D. Roe", "Bob Key"
    records = [{"name": name} for name in names]
    model = Deduplicator({"name": "text"}, calibrate=False).fit(records[:7], [0, 0, 1, 1, 2, 3, 3])
    found = suggest(model, records, 100, strategy="entropy")
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        a, b = one.part
        assert one.index == a < b
        p = 1 / (1 + math.exp(-model.similarity(records[a], records[b], len(records))))
        assert one.score == pytest.approx(-(p * math.log2(p) + (1 - p) * math.log2(1 - p)), abs=1e-6)
    assert found[0] not in suggest(model, records, 100, strategy="entropy", labeled=[found[0]])
    for one in suggest(model, records, 100, labeled=range(7)):
        assert one.part[1] == 7  # pairs of records whose clusters are known are not asked
    pairs = {one.part: one.score for one in found}
    together = {
        pair for pair in pairs
        if model.similarity(records[pair[0]], records[pair[1]], len(records)) >= math.log(0.1 / 0.9)
    }  # fmt: skip
    for one in suggest(model, records, 100, unit="cluster"):
        reached = {one.index}
        for _ in records:  # what links of two or more steps reach
            reached |= {b for pair in together for b in pair if reached & set(pair)}
        assert one.part == tuple(sorted(reached))
        own = [score for pair, score in pairs.items() if set(pair) <= reached]
        assert one.score == pytest.approx(np.mean(own), abs=1e-6)
        assert f"of {len(own)} pairs" in one.reason
    with pytest.raises(InputError, match="only records"):
        suggest(None, records, unit="cluster")


def test_sets_and_mails():
    view = CallablePairs(lambda a, b: abs(a - b), names=["distance"])
    model = ClusteringSVM(pair_features=view).fit([[1.0, 1.1, 5.0, 5.2], [2.0, 7.0, 7.1]], [[0, 0, 1, 1], [0, 1, 1]])
    sets = [[1.0, 2.0, 3.5], [1.0, 9.0], [4.0]]
    pairs = {(one.index, one.part): one.score for one in suggest(model, sets, 10, unit="part", strategy="margin")}
    for (i, (a, b)), score in pairs.items():
        assert score == pytest.approx(math.exp(-abs(model.similarities(sets[i])[a, b])))
    assert len(pairs) == 4
    whole = by_index(suggest(model, sets, 10, strategy="margin"))
    assert whole[0] == pytest.approx(np.mean([score for (i, _), score in pairs.items() if i == 0]))
    assert set(whole) == {0, 1}  # one object has no pairs
    text = b"From: %s\n\nWe accept your mortgage application, fill out http://x.example/1"
    mails = [text % name for name in (b"a@b", b"c@d")]
    found = suggest(BatchDetector(), mails, 5)
    assert [one.part for one in found] == [(0, 1)]
    spam = CollectiveSpamFilter().fit([b"From: a\n\nbuy pills", b"From: b\n\nlunch today"], [True, False])
    assert {one.index for one in suggest(spam, mails, 5)} == {0, 1}


# -- what is alike -------------------------------------------------------------------------------------------------
def test_near_duplicates_come_last():
    texts = [["Ana", "met", "Tom"], ["Ana", "met", "Tom"], ["well", "Tom", "slept"]]
    model = CRF(Sequence()).fit(X, Y)
    first = [one.index for one in suggest(model, texts, 3, strategy="entropy", random_state=0)]
    assert sorted(first) == [0, 1, 2]
    assert first[2] in (0, 1)


@pytest.mark.parametrize("worth", [None, np.random.default_rng(1).random(30)], ids=["alike", "worth more or less"])
def test_a_cover_gains_most_at_each_step(worth):
    rng = np.random.default_rng(0)
    sketches = rng.normal(size=(30, 4))
    sketches /= np.linalg.norm(sketches, axis=1, keepdims=True)
    near, weights = (1, np.ones(30)) if worth is None else (diversity.NEAR, worth**diversity.WORTH)
    candidates, done = np.arange(5, 30), np.array([0, 1])

    def mean_likeness(chosen):
        return np.mean([max(0.0, *(float(sketches[i] @ sketches[j]) for j in chosen)) ** near for i in range(30)])

    taken, gains = diversity.cover(candidates, 4, sketches, done, rng, worth)
    chosen = done.tolist()
    for number, gain in zip(taken.tolist(), gains):
        before, left = mean_likeness(chosen), [j for j in candidates.tolist() if j not in chosen]
        possible = {j: weights[j] * (mean_likeness([*chosen, j]) - before) for j in left}
        assert possible[number] == pytest.approx(max(possible.values()))
        assert gain == pytest.approx(possible[number])
        chosen.append(number)


def test_texts_without_a_model_are_covered_by_subject():
    subjects = "ball goal team match", "flour oven bake bread", "star planet orbit moon"
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(s.split(), 3)) for s in subjects for _ in range(10)]
    found = suggest(None, texts, 3, random_state=0)
    assert {one.index // 10 for one in found} == {0, 1, 2}
    more = suggest(None, texts, 1, labeled=[0, 10], random_state=0)
    assert more[0].index // 10 == 2


# -- pools ---------------------------------------------------------------------------------------------------------
def test_a_pool_notices_that_a_model_was_fitted_again():
    pool, model = Pool(X), CRF(Sequence(), solver="sgd", random_state=0)
    model.fit(X[:2], Y[:2])
    for _ in range(2):
        assert pool.suggest(model, 9, strategy="entropy") == suggest(model, X, 9, strategy="entropy")
        assert pool.suggest(model, 9, unit="part") == suggest(model, X, 9, unit="part")
        model.partial_fit([["Rome", "slept", "well"]], [["LOC", "O", "O"]])
    assert pool.suggest(model, 9, strategy="entropy") == suggest(model, X, 9, strategy="entropy")
    model.fit(X[:4], [*Y[:2], ["LOC", "O", "O"], ["PER", "O", "PER"]])
    assert pool.suggest(model, 9, strategy="margin") == suggest(model, X, 9, strategy="margin")
    assert len(pool) == len(X)
    assert suggest(model, pool, 1, random_state=0) == suggest(model, X, 1, random_state=0)


# -- errors --------------------------------------------------------------------------------------------------------
def test_errors_say_what_is_needed():
    model = CRF(Sequence()).fit(X, Y)
    for wrong, message in [
        ({"strategy": "best"}, "expected one of"),
        ({"strategy": "disagreement"}, "needs two or more views"),
        ({"strategy": "change"}, "one label per input"),
        ({"unit": "token"}, "unit is 'token'"),
        ({"labeled": [17]}, r"labeled\[0\] is 17; expected a number from 0 to 5"),
        ({"labeled": "all"}, "labeled is a str"),
        ({"n": 0}, "n is 0"),
        ({"random_state": "x"}, "random_state is 'x'"),
    ]:
        with pytest.raises(InputError, match=message):
            suggest(model, X, **wrong)
    with pytest.raises(InputError, match="no parts"):
        suggest(CRF(MultiClass()).fit(POINTS[:2], ["a", "b"]), POINTS, unit="part")
    with pytest.raises(InputError, match="expected a fitted learner"):
        suggest("model", X)
    with pytest.raises(InputError, match='"margin", "diversity"'):  # what works is listed
        suggest(model, X, strategy="disagreement")
    assert suggest(model, X, 3, labeled=range(6)) == []
    assert suggest(model, [], 3) == []


def test_random_is_random_and_every_strategy_has_words():
    model = CRF(Sequence()).fit(X, Y)
    drawn = {tuple(one.index for one in suggest(model, X, 5, strategy="random", random_state=k)) for k in range(5)}
    assert len(drawn) > 1
    assert all(sorted(one) == [0, 1, 2, 3, 4] for one in drawn)
    assert all(one.looks_for for one in STRATEGIES.values())


def test_structures_without_probabilities():
    pairs = [(["red", "house"], ["casa", "roja"]), (["white", "house"], ["casa", "blanca"])]
    model = StructuredPerceptron(Matching(), random_state=0).fit(pairs, [[(0, 1), (1, 0)]] * 2)
    found = suggest(model, [*pairs, (["house", "red"], ["roja", "casa"])], 3)
    assert sorted(one.index for one in found) == [0, 1, 2]
    with pytest.raises(InputError, match="probabilities of labels"):
        suggest(model, pairs, strategy="entropy")
