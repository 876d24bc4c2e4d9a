"""Generated tasks: repeatable, of the promised shape, and neither trivial nor hopeless."""

from collections import Counter

import numpy as np
import pytest
from row_tables import each_row
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid

from accord.datasets import (
    embedded_ner,
    galaxy,
    gaussian_classes,
    gaussian_clusters,
    grammar_sentences,
    hmm_sequences,
    taxonomy_documents,
    two_moons,
)
from accord.exceptions import InputError

GENERATORS = [
    embedded_ner,
    galaxy,
    gaussian_classes,
    gaussian_clusters,
    grammar_sentences,
    hmm_sequences,
    taxonomy_documents,
    two_moons,
]


def same(a, b):
    if isinstance(a, list) and a and isinstance(a[0], np.ndarray):
        return np.array_equal(a, b)
    if hasattr(a, "toarray"):
        return (a != b).nnz == 0
    return np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b


@each_row("generator", GENERATORS)
def test_seed_decides_everything(generator):
    first, again, other = generator(30, random_state=5), generator(30, random_state=5), generator(30, random_state=6)
    assert all(same(a, b) for a, b in zip(first, again))
    assert not same(first[0], other[0])
    assert len(first[1]) == 30
    with pytest.raises(InputError, match="must"):
        generator(-1)


@each_row("generator", GENERATORS)
def test_no_examples(generator):
    X, Y, *_ = generator(0, random_state=0)
    assert (X.shape[0] if hasattr(X, "shape") else len(X)) == len(Y) == 0


def test_hmm_sequences_follow_a_markov_chain():
    X, Y = hmm_sequences(3000, n_labels=3, n_tokens=20, mean_length=6, random_state=1)
    assert all(len(x) == len(y) >= 1 for x, y in zip(X, Y))
    assert {label for y in Y for label in y} == {"L0", "L1", "L2"}
    assert {token for x in X for token in x} <= {f"w{k}" for k in range(20)}
    assert np.mean([len(x) for x in X]) == pytest.approx(6, abs=0.2)
    # The next label depends on the last one, but not on the one before it.
    triples = Counter((y[t - 2], y[t - 1], y[t]) for y in Y for t in range(2, len(y)))
    given_one, given_two = Counter(), Counter()
    for (a, b, c), count in triples.items():
        given_one[b, c] += count
        given_two[a, b] += count
    marginal = Counter()
    for (_, b), count in given_two.items():
        marginal[b] += count
    total = sum(marginal.values())
    unconditional = Counter()
    for (_, _, c), count in triples.items():
        unconditional[c] += count / total
    dependence = max(abs(n / marginal[b] - unconditional[c]) for (b, c), n in given_one.items())
    assert dependence > 0.1
    for (a, b, c), n in triples.items():
        if given_two[a, b] > 500:
            assert n / given_two[a, b] == pytest.approx(given_one[b, c] / marginal[b], abs=0.08)


def test_embedded_ner_is_valid_iob2():
    X, Y = embedded_ner(300, random_state=0)
    kinds = Counter()
    for x, y in zip(X, Y):
        assert len(x) == len(y)
        assert x[0][0].isupper() or not x[0][0].isalpha()
        for before, label in zip(["O", *y], y):
            if label.startswith("I-"):
                assert before[2:] == label[2:]
            kinds[label] += 1
    assert set(kinds) == {"O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"}
    assert 0.2 < 1 - kinds["O"] / sum(kinds.values()) < 0.4


def test_embedded_ner_is_ambiguous_and_open():
    X, Y = embedded_ner(2000, random_state=0)
    labels = {}
    for x, y in zip(X, Y):
        for token, label in zip(x, y):
            if label != "O":
                labels.setdefault(token, set()).add(label[2:])
    shared = [token for token, kinds in labels.items() if len(kinds) > 1]
    assert len(shared) > 20
    seen = {token for x in embedded_ner(2000, random_state=1)[0] for token in x}
    names = [token for x, y in zip(X, Y) for token, label in zip(x, y) if label.startswith("B-")]
    assert 0.1 < np.mean([token not in seen for token in names]) < 0.5


def token_features(x, t):
    row = {}
    for d in (-2, -1, 0, 1, 2):
        word = x[t + d] if 0 <= t + d < len(x) else "<>"
        row |= {f"{d}={word}": 1, f"{d}~{word[-3:]}": 1, f"{d}^": word[0].isupper(), f"{d}!": word.isupper()}
    return row


def test_embedded_ner_is_learnable_but_not_trivial():
    errors = []
    for n in (20, 50):
        train, test = embedded_ner(n, random_state=2), embedded_ner(200, random_state=3)
        rows = [[token_features(x, t) for x in X for t in range(len(x))] for X, _ in (train, test)]
        labels = [np.array([label for y in Y for label in y]) for _, Y in (train, test)]
        encoder = DictVectorizer().fit(rows[0])
        model = LogisticRegression(C=3, max_iter=200).fit(encoder.transform(rows[0]), labels[0])
        errors.append(np.mean(model.predict(encoder.transform(rows[1])) != labels[1]))
    assert errors[0] > errors[1]
    assert 0.03 < errors[1] < 0.2


def test_taxonomy_documents_are_more_alike_below_a_common_ancestor():
    X, y, taxonomy = taxonomy_documents(900, depth=2, branching=3, mean_length=40, random_state=0)
    assert X.shape == (900, 200)
    assert X.dtype == np.float64
    leaves = [node for node in taxonomy if node not in {p for ps in taxonomy.values() for p in ps}]
    assert Counter(y) == dict.fromkeys(leaves, 100)
    assert len(taxonomy) == 1 + 3 + 9
    dense = X.toarray() / np.asarray(X.sum(axis=1)).reshape(-1, 1)
    means = {leaf: dense[[label == leaf for label in y]].mean(axis=0) for leaf in leaves}
    distances = {"near": [], "far": []}
    for a in leaves:
        for b in leaves:
            if a < b:
                kind = "near" if taxonomy[a] == taxonomy[b] else "far"
                distances[kind].append(np.linalg.norm(means[a] - means[b]))
    assert np.mean(distances["near"]) < 0.9 * np.mean(distances["far"])


def test_gaussian_classes_get_easier_with_separation():
    accuracies = []
    for separation in (0.3, 1.0, 4.0):
        X, y = gaussian_classes(600, n_classes=3, n_features=4, separation=separation, random_state=0)
        assert X.shape == (600, 4)
        assert sorted(Counter(y).items()) == [("c0", 200), ("c1", 200), ("c2", 200)]
        accuracies.append(NearestCentroid().fit(X[:300], y[:300]).score(X[300:], y[300:]))
    assert accuracies == sorted(accuracies)
    assert accuracies[0] < 0.75
    assert accuracies[2] > 0.95


@each_row(
    ("generator", "argument", "value"),
    [
        (hmm_sequences, "n_labels", 0),
        (hmm_sequences, "concentration", 0.0),
        (hmm_sequences, "mean_length", 0.5),
        (taxonomy_documents, "depth", 0),
        (taxonomy_documents, "share_own", 1.5),
        (gaussian_classes, "n_features", 0),
    ],
)
def test_wrong_arguments_are_named(generator, argument, value):
    with pytest.raises(InputError, match=argument):
        generator(**{argument: value})
