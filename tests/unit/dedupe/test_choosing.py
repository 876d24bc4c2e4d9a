"""How a table is clustered: linkages, what is judged by held-out clusters, and similarities without labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_cases import people

import accord
from accord import Deduplicator, InputError
from accord.dedupe import choosing, decoding
from accord.dedupe.blocking import Closeness, candidate_pairs
from accord.dedupe.choosing import HeldOut, Similarity, Trial, choose
from accord.dedupe.compared import ComparedPairs
from accord.dedupe.decoding import Rule, average, cluster_table
from accord.dedupe.labels import folds_of_clusters
from accord.dedupe.mixture import fit_mixture, levels
from accord.dedupe.pairs import RecordPairs
from accord.kernels.partitions.condensed import pair_numbers
from accord.structures.partitions.losses import pair_counts

FIELDS = {"name": "text", "street": "text", "born": "date"}


def f1(truth, found) -> float:
    true, predicted, both = pair_counts(np.array(truth), np.array(found))
    return 2 * both / (true + predicted)


def average_slowly(scores: np.ndarray, n: int) -> list[list[int]]:
    """The best two clusters are joined while their mean similarity is not negative."""
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n, -1)] = scores
    matrix += matrix.T
    clusters = [[i] for i in range(n)]
    while len(clusters) > 1:
        pairs = [
            (matrix[np.ix_(a, b)].mean(), i, j) for i, a in enumerate(clusters) for j, b in enumerate(clusters[:i])
        ]
        best, i, j = max(pairs)
        if best < 0:
            break
        clusters[j] += clusters.pop(i)
    return sorted(sorted(one) for one in clusters)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12))
def test_average_linkage_by_the_book(seed, n):
    scores = np.random.default_rng(seed).normal(-0.3, 1.0, n * (n - 1) // 2)
    found = average(scores)
    assert sorted(np.flatnonzero(found == c).tolist() for c in np.unique(found)) == average_slowly(scores, n)


@pytest.fixture(scope="module")
def case() -> tuple[RecordPairs, ComparedPairs, np.ndarray, Similarity]:
    """Labeled people first, then others; rare trigrams of the whole record as similarity."""
    known, ids = people(14, seed=0)
    others, _ = people(25, seed=1)
    view = RecordPairs(FIELDS).fit([[*known, *others]])
    weights = np.zeros(len(view.names_))
    weights[view.alone()[-1]] = 10.0
    similarity = Similarity("whole", weights, 0.0, [(weights, 0.0)] * 3)
    return view, ComparedPairs(view.table([*known, *others]), 8), np.array(ids), similarity


def test_pairs_are_compared_once(case, monkeypatch):
    _, compared, _, _ = case
    left, right = np.array([3, 9, 9, 1]), np.array([1, 2, 2, 3])
    expected = compared.table.compare(left, right)
    np.testing.assert_array_equal(compared.features(left, right), expected)
    monkeypatch.setattr(compared.table, "compare", None)
    np.testing.assert_array_equal(compared.features(right, left), expected)


@pytest.mark.parametrize("linkage", ["average", "correlation", "components"])
def test_large_components_are_guessed_where_nothing_is_left_to_guess(case, monkeypatch, linkage):
    _, compared, _, similarity = case
    table, rule = compared.table, Rule(linkage, "agglomerative", np.zeros(1))
    settings = (similarity.weights, -2.5, rule)
    before = cluster_table(table, candidate_pairs(table, len(table)), *settings)
    monkeypatch.setattr(decoding, "MOST_ALL_PAIRS", 2)
    found = cluster_table(table, candidate_pairs(table, len(table)), *settings)
    np.testing.assert_array_equal(found, before)
    # some are: no other clusters, or nearly none
    assert f1(before, cluster_table(table, candidate_pairs(table, 4), *settings)) > 0.8


def two_large_clusters() -> tuple[RecordPairs, list[dict[str, str]], np.ndarray]:
    """Forty records of each of two things that share some words: most candidates are the same."""
    rng = np.random.default_rng(0)
    words = rng.permutation(["".join(chr(97 + one) for one in rng.integers(0, 26, 6)) for _ in range(22)])
    kinds = [words[:12], words[10:]]
    records = [{"text": " ".join(rng.choice(kind, 8, replace=False))} for kind in kinds for _ in range(40)]
    return RecordPairs({"text": "text"}).fit([records]), records, np.repeat([0, 1], 40)


def test_what_is_guessed_of_a_large_component_is_not_what_candidates_have(monkeypatch):
    view, records, truth = two_large_clusters()
    table = view.table(records)
    weights = np.zeros(len(view.names_))
    weights[view.alone()[-1]] = 10.0
    candidates = candidate_pairs(table, 5)
    near, j_k = table.scores(*candidates, weights), pair_numbers(len(records))
    same = truth[candidates[0]] == truth[candidates[1]]
    assert same.mean() > 0.9
    monkeypatch.setattr(decoding, "MOST_ALL_PAIRS", 30)

    def scores(left, right):
        return table.scores(left, right, weights)

    every = np.arange(len(records))
    guessed = decoding.guessed_scores(every, len(records), candidates, scores, Closeness(table))
    true = scores(*j_k)
    across = truth[j_k[0]] != truth[j_k[1]]
    for some in (across, ~across):
        assert guessed[some].mean() == pytest.approx(true[some].mean(), abs=0.35)
    assert guessed[across].mean() < near.min()
    compared = np.count_nonzero(guessed == true)
    assert near.size < compared < near.size + 2 * 30 * 29 // 2  # all candidates, and a part of the others


def test_pairs_compared_by_chance_are_the_same_in_every_component(monkeypatch):
    view, records, _ = two_large_clusters()
    table = view.table(records)
    monkeypatch.setattr(decoding, "MOST_ALL_PAIRS", 20)
    asked = []

    def scores(left, right):
        asked.append(set(zip(left.tolist(), right.tolist())))
        return np.zeros(left.size)

    none = (np.empty(0, np.int64), np.empty(0, np.int64))
    for part in (np.arange(80), np.arange(10, 70)):
        decoding.guessed_scores(part, len(records), none, scores, Closeness(table))
    inside = {pair for pair in asked[0] if all(10 <= one < 70 for one in pair)}
    assert inside <= asked[1]
    assert all(0.5 < len(some) / (20 * 19 / 2) < 1.5 for some in asked)


@pytest.mark.parametrize("complete", [True, False])
def test_held_out_clusters_are_judged_by_the_book(case, complete):
    _, compared, truth, similarity = case
    folds = folds_of_clusters(truth, 3, np.random.default_rng(0))
    held_out = HeldOut(compared, truth, folds, "agglomerative")
    held_out.complete = complete
    trial = held_out.judge(similarity, "average", False, 4.0)
    found = cluster_table(
        compared.table, compared.candidates, similarity.weights, -4.0, Rule("average", "agglomerative", np.zeros(1))
    )
    judged = range(len(found) if complete else truth.size)
    right = joined = true = 0
    precision, recall = [], []
    for i in range(truth.size):
        own = {j for j in range(truth.size) if truth[j] == truth[i]}
        with_it = {j for j in judged if found[j] == found[i]}
        right, joined, true = right + len(own & with_it) - 1, joined + len(with_it) - 1, true + len(own) - 1
        precision.append(len(own & with_it) / len(with_it))
        recall.append(len(own & with_it) / len(own))
    assert trial.precision == pytest.approx(right / joined)
    assert trial.recall == pytest.approx(right / true)
    assert trial.f1 == pytest.approx(2 * right / (joined + true))
    p, r = np.mean(precision), np.mean(recall)
    assert trial.b_cubed == pytest.approx(2 * p * r / (p + r))


def test_all_labels_are_as_strict_as_some_of_them(case):
    _, compared, truth, similarity = case
    folds = folds_of_clusters(truth, 3, np.random.default_rng(0))
    held_out = HeldOut(compared, truth, folds, "agglomerative")
    assert held_out.as_strict(similarity, 1.5) == 1.5  # nothing was learned
    stricter = similarity._replace(bias=-2.0, without=[(similarity.weights * one, 0.0) for one in (0.9, 1.0, 1.1)])
    found = held_out.as_strict(stricter, 3.0)
    left, right = compared.candidates
    pairs = [(a, b) for a, b in zip(left, right) if min(a, b) >= truth.size]
    products = [compared.table.compare(np.array([a]), np.array([b]))[0] @ similarity.weights for a, b in pairs]
    shares = [np.mean([product * one > 3.0 for product in products]) for one in (0.9, 1.0, 1.1)]
    assert shares[0] < shares[1] < shares[2]
    assert np.mean([product - 2.0 > found for product in products]) == pytest.approx(shares[1], abs=0.01)
    assert held_out.as_strict(stricter, 99.0) == pytest.approx(max(products) - 2.0)  # no pair, and
    assert held_out.as_strict(stricter, -1.0) == pytest.approx(min(products) - 2.0)  # all of them


def test_whether_whole_clusters_are_labeled_shows():
    records, ids = people(60, seed=3)
    ids, rng = np.array(ids), np.random.default_rng(0)
    view = RecordPairs(FIELDS).fit([records])
    weights = np.zeros(len(view.names_))
    weights[view.alone()[-1]] = 10.0
    for whole in (True, False):
        order = np.argsort(ids, kind="stable") if whole else rng.permutation(ids.size)
        n = 60
        while whole and ids[order[n]] == ids[order[n - 1]]:
            n += 1
        truth = np.unique(ids[order[:n]], return_inverse=True)[1]
        compared = ComparedPairs(view.table([records[i] for i in order]), 10)
        held_out = HeldOut(compared, truth, folds_of_clusters(truth, 4, rng), "agglomerative")
        held_out.judge(Similarity("whole", weights, 0.0, [(weights, 0.0)] * 4), "average", False, 4.0)
        assert held_out.complete == whole


def mean_by_hand(counts) -> float:
    """The mean of F1 of pairs and B³."""
    right, true, joined, precision, recall, n = (sum(row[k] for row in counts) for k in range(6))
    precision, recall = precision / n, recall / n
    return (2 * right / (true + joined) + 2 * precision * recall / (precision + recall)) / 2


def trial_of(counts, threshold=0.0, name="a") -> Trial:
    value = mean_by_hand(counts)
    return Trial(name, "average", True, threshold, 0.5, 0.5, value, value, np.array(counts))


def some_counts(rng, n_clusters: int, how_good: float) -> list[list[float]]:
    """Of clusters of three records, each found as a whole with this probability, else taken apart."""
    found = rng.random(n_clusters) < how_good
    return [[6, 6, 6, 3, 3, 3] if whole else [0, 6, 0, 3, 1, 3] for whole in found]


def test_gains_and_their_errors_are_those_of_the_jackknife():
    rng = np.random.default_rng(0)
    one, other = some_counts(rng, 12, 0.8), some_counts(rng, 12, 0.4)
    better, error = trial_of(one).gain(trial_of(other))
    assert better == pytest.approx(mean_by_hand(one) - mean_by_hand(other))
    left_out = [mean_by_hand(one[:k] + one[k + 1 :]) - mean_by_hand(other[:k] + other[k + 1 :]) for k in range(12)]
    assert error == pytest.approx(np.sqrt(11 / 12 * sum((gain - np.mean(left_out)) ** 2 for gain in left_out)))
    missing = [*other[:9], *[[0] * 6] * 3]  # clusters that are not held out in both say nothing
    better, error = trial_of(one).gain(trial_of(missing))
    assert (better, error) == pytest.approx(trial_of(one[:9]).gain(trial_of(other[:9])))


def test_what_is_usual_stays_unless_another_choice_is_clearly_better():
    whole, apart = [6, 6, 6, 3, 3, 3], [0, 6, 0, 3, 1, 3]
    usual = trial_of([apart] * 13 + [whole] * 13)
    strict, good, best = (trial_of([apart] * n + [whole] * (26 - n), t) for n, t in ((15, 1.0), (11, 2.0), (0, -2.0)))
    assert choose([[strict, usual]]) is usual
    assert choose([[strict, usual, good]]) is usual  # two clusters may be chance
    assert choose([[usual, good], [best]]) is best
    assert choose([[good], [usual]]) is good  # what is usual is the first rule's


def test_what_few_mistakes_leave_open_cannot_be_clearly_better():
    rng = np.random.default_rng(0)
    beaten = {True: 0, False: 0}
    for _ in range(3000):
        n = int(rng.integers(4, 60))
        sizes = rng.integers(2, int(rng.choice([3, 20])), n)
        before, after = [], []
        for size, wrong in zip(sizes.tolist(), rng.random(n) < rng.choice([0.05, 0.2, 0.6])):
            perfect = [size * (size - 1), size * (size - 1), size * (size - 1), size, size, size]
            apart = [0, size * (size - 1), 0, size, 1, size]
            before.append(apart if wrong else perfect)
            after.append(perfect if rng.random() < 0.9 else before[-1])
        usual = trial_of(before)
        if choosing.clearly_better(trial_of(after), usual):
            beaten[usual.can_be_beaten()] += 1
    assert beaten[True] > 100
    assert beaten[False] <= 3  # the standard error is that of a straight line


# -- without labels ---------------------------------------------------------------------------------------------------
def test_a_mixture_is_told_apart():
    rng = np.random.default_rng(0)
    truth = rng.random(3000) < 0.2
    seen = np.where(truth[:, None], rng.choice(7, (3000, 4), p=[0.02, 0.02, 0.06, 0.1, 0.2, 0.2, 0.4]), 0)
    seen = np.where(truth[:, None], seen, rng.choice(7, (3000, 4), p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02]))
    seen[rng.random(seen.shape) < 0.1] = -1
    unknown = np.full(3000, np.nan)
    found = fit_mixture(seen, (seen.sum(axis=1) > 15).astype(float), unknown)
    assert np.mean((found > 0.5) == truth) > 0.95
    assert abs(found.mean() - truth.mean()) < 0.03
    unknown[:5] = [0, 1, 0, 1, 1]
    assert fit_mixture(seen, found, unknown)[:5].tolist() == [0, 1, 0, 1, 1]


def test_a_single_text_says_more_by_the_numbers_in_it():
    records = [{"a": text} for text in ("12 oak street 5", "12 oak street", "9 oak street", "oak street")]
    table = RecordPairs({"a": "text"}).fit([records]).table(records)
    found = levels(table.view, table.compare(np.array([1, 2, 3, 3]), np.array([0, 0, 0, 2])))
    assert found.shape == (4, 3)
    assert found[:, 2].tolist() == [2, 0, -1, -1]  # half of them, none, and not to be compared
    records, truth = people(120, seed=4)
    joined = [{"all": " ".join(str(cell) for cell in record.values() if cell)} for record in records]
    assert f1(truth, Deduplicator(random_state=0).fit(joined).predict(joined)) > 0.9


def test_nothing_that_is_alike_is_left_apart():
    records = [{"a": "ann lee", "b": "x"}, {"a": "bob kay", "b": "y"}]
    assert Deduplicator({"a": "text", "b": "text"}).fit(records).predict(records) == [0, 1]


@pytest.mark.parametrize("ids", [None, [None] * 9, [0, 1, 2, *[None] * 6], [0, 0, *[None] * 7], [0, 0, 1, *[None] * 6]])
def test_clusters_without_labels_or_with_too_few(ids, tmp_path):
    records, truth = people(40, seed=2)
    model = Deduplicator(FIELDS, random_state=0)
    model.fit(records, None if ids is None else [*ids, *[None] * (len(records) - 9)])
    assert f1(truth, model.predict(records)) > 0.85
    assert model.linkage_ == "average"
    assert model.report_ is None
    model.save(tmp_path / "m")
    assert accord.load(tmp_path / "m").predict(records) == model.predict(records)
    index = model.index(records[:20], truth[:20])
    assert len(index.assign(records[20:25])) == 5


def test_which_sizes_are_probable_is_guessed_without_labels():
    records, truth = people(60, seed=5)
    seen: dict[int, int] = {}
    twice = []
    for record, who in zip(records, truth):
        seen[who] = seen.get(who, 0) + 1
        twice += [record] if seen[who] < 3 else []
    model = Deduplicator(FIELDS, random_state=0).fit(twice)
    assert model.size_costs_[2] == 0
    assert model.size_costs_[-1] > 2  # three are improbable
    assert model.rule(len(twice)).costs is model.size_costs_
    assert model.rule(3 * len(twice)).costs.tolist() == [0]  # what was seen is perhaps a part
    assert max(np.bincount(model.predict(twice))) <= 2


def test_one_record_is_too_few():
    with pytest.raises(InputError, match="records has 1 entries; expected at least two"):
        Deduplicator().fit([{"name": "a"}])


def test_the_report_says_what_was_chosen(monkeypatch):
    ways = RecordPairs.ways
    monkeypatch.setattr(RecordPairs, "ways", lambda self: ways(self)[::4])
    records, ids = people(18, seed=0)
    others, truth = people(20, seed=1)
    model = Deduplicator(FIELDS, random_state=0, self_training=False, tol=0.05)
    model.fit([*records, *others], [*ids, *[None] * len(others)])
    (chosen,) = [row for row in model.report_ if row["chosen"]]
    assert chosen["linkage"] == model.linkage_
    assert chosen["f1"] >= max(row["f1"] + row["b_cubed"] for row in model.report_) / 2 - 0.1
    assert {row["similarity"] for row in model.report_} == {"learned and guessed"}  # none can be better
    assert chosen["f1"] > 0.99
    assert f1(truth, model.predict(others)) > 0.85
    monkeypatch.setattr(Trial, "can_be_beaten", lambda self: True)
    named = Deduplicator(FIELDS, random_state=0, self_training=False, tol=0.05, linkage="components")
    named.fit([*records, *others], [*ids, *[None] * len(others)])
    assert named.linkage_ == "components"
    tried = {"learned and guessed", "learned", "whole record: rare trigrams", "mixture"}
    assert {row["similarity"] for row in named.report_} == tried


def test_views_of_earlier_versions_compare_as_they_did():
    records, _ = people(6, seed=0)
    view = RecordPairs(FIELDS).fit([records])
    new = view.pairs(records)
    del view.gram_counts_, view.whole_counts_
    names, view.names_ = view.names_, view._comparison_names()
    kept = [i for i, name in enumerate(names) if "rare trigrams" not in name and not name.startswith("whole record")]
    assert view.names_ == [names[i] for i in kept]
    np.testing.assert_array_equal(view.pairs(records), new[:, kept])
    assert max(columns.max() for columns in view.ways()) < len(kept)
