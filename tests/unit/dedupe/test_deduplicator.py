"""De-duplication: what is learned, stable ids, files, mistakes."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_cases import people
from row_tables import each_row
from scipy.optimize import minimize
from sklearn.base import clone

import accord
from accord import ClusteringSVM, Deduplicator, InputError, RecordIndex
from accord.dedupe.blocking import candidate_pairs
from accord.dedupe.decisions import Decisions
from accord.dedupe.decoding import Rule, cluster_pairs, large_clusters_apart, small_parts
from accord.dedupe.labels import Labeled, check_ids, folds_of_clusters, size_costs, training_sets
from accord.dedupe.machines import Machines, held_out_models
from accord.dedupe.pairs import RecordPairs
from accord.kernels.partitions.condensed import pair_numbers
from accord.solvers import margin_qp
from accord.structures.partitions.losses import pair_counts
from accord.structures.partitions.partition import Partition

FIELDS = {"name": "text", "street": "text", "born": "date"}
TRAINING = people(18, seed=0)


def f1(truth, found) -> float:
    true, predicted, both = pair_counts(np.array(truth), np.array(found))
    return 2 * both / (true + predicted)


@pytest.fixture(scope="module")
def model() -> Deduplicator:
    return Deduplicator(FIELDS, random_state=0).fit(*TRAINING)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "decoder"),
    [("pairwise", "sequential"), pytest.param("sequential", "agglomerative", marks=pytest.mark.long)],
)
def test_it_finds_duplicates(method, decoder):
    records, ids = people(12, seed=0)
    more, truth = people(15, seed=1)
    fitted = Deduplicator(FIELDS, random_state=0, method=method, decoder=decoder, tol=0.2).fit(
        records + more, [*ids, *[None] * len(more)]
    )
    assert f1(truth, fitted.predict(more)) > 0.9
    assert fitted.slope_ > 0
    assert fitted.n_calibration_ is not None


def test_numbers_in_order_of_appearance_and_repeatable(model):
    records, _ = people(30, seed=2)
    found = model.predict(records)
    seen = list(dict.fromkeys(found))
    assert seen == list(range(len(seen)))
    assert found == model.predict(records) == clone(model).fit(*TRAINING).predict(records)
    assert model.predict([]) == []
    assert model.predict(records[:1]) == [0]


def test_a_threshold_prefers_precision(model):
    records, _ = people(60, seed=4)
    found = []
    for threshold in (-8.0, 0.0, 8.0, 1e6):
        one = pickle.loads(pickle.dumps(model)).set_params(threshold=threshold)
        found.append(len(set(one.predict(records))))
    assert found == sorted(found)
    assert found[0] < found[2]
    assert found[-1] == len(records)


def test_larger_tables_ask_for_more(model):
    a, b = people(5, seed=5)[0][:2]
    assert model.similarity(a, b, 20_000) == pytest.approx(model.similarity(a, b, 2000) - np.log(10) / 2)


def test_contributions_add_up(model):
    a, b = people(5, seed=5)[0][:2]
    found = model.explain(a, b)
    assert sum(one.contribution for one in found) == pytest.approx(model.similarity(a, b))
    assert [abs(one.contribution) for one in found] == sorted((abs(one.contribution) for one in found), reverse=True)
    assert {one.name for one in found} <= {*model.view_.names_, "bias"}


def test_pairs_instead_of_clusters():
    records, ids = people(25, seed=0)
    ids = np.array(ids)
    j, k = np.tril_indices(len(ids), -1)
    same = ids[j] == ids[k]
    pairs = np.column_stack([j, k])
    fitted = Deduplicator(FIELDS, random_state=0).fit_pairs(records, pairs[same], pairs[~same][::20])
    more, truth = people(80, seed=1)
    assert fitted.n_calibration_ is None
    assert f1(truth, fitted.predict(more)) > 0.8


def test_files(model, tmp_path):
    records, _ = people(30, seed=2)
    model.save(tmp_path / "m.accord")
    again = accord.load(tmp_path / "m.accord")
    assert again.predict(records) == model.predict(records)
    assert again.get_params() == model.get_params()


# -- stable ids ----------------------------------------------------------------------------------------------------
@settings(max_examples=12, deadline=None)
@given(st.data())
def test_ids_never_change_whatever_the_order(model, data):
    records, ids = people(15, seed=6)
    order = data.draw(st.permutations(range(len(records))))
    n_known = data.draw(st.integers(0, len(records)))
    known, new = order[:n_known], order[n_known:]
    index = model.index([records[i] for i in known], [ids[i] for i in known])
    before = list(index.ids)
    while new:
        size = data.draw(st.integers(1, len(new)))
        given_ids = index.assign([records[i] for i in new[:size]])
        assert index.ids[: len(before)] == before  # nothing that was said is taken back
        assert index.ids[len(before) :] == given_ids
        before, new = list(index.ids), new[size:]
    assert len(index) == len(records)
    assert f1([ids[i] for i in order], _numbers(index.ids)) > 0.75


def _numbers(ids) -> list[int]:
    names = {one: k for k, one in enumerate(dict.fromkeys(ids))}
    return [names[one] for one in ids]


def test_the_sequential_rule(model):
    """Against all clusters, by hand: the largest sum of similarities if it is >= 0."""
    records, ids = people(14, seed=7)
    known, new = 18, len(records)
    assert new > 24
    index = model.index(records[:known], ids[:known])
    given_ids = index.assign_detailed(records[known:])
    clusters = list(ids[:known])
    fresh = max(clusters) + 1
    for r in range(known, new):
        sums = {}
        for i in range(r):
            cost = model.size_costs_[min(clusters.count(clusters[i]) + 1, model.size_costs_.size - 1)]
            similarity = model.similarity(records[r], records[i], r + 1) - cost
            sums[clusters[i]] = sums.get(clusters[i], 0.0) + similarity
        best = max(sums, key=lambda c: sums[c])
        assignment = given_ids[r - known]
        if sums[best] >= 0:
            assert assignment.id == best
            assert not assignment.is_new
            assert assignment.similarity == pytest.approx(sums[best])
            clusters.append(best)
        else:
            assert assignment.id == fresh
            assert assignment.is_new
            clusters.append(fresh)
            fresh += 1


def test_a_large_index_is_lenient_within_clusters(model, monkeypatch):
    monkeypatch.setattr(model, "size_costs_", np.zeros(1))
    engine = model.index(people(3, seed=8)[0][:2], [7, 7])._decisions()
    n_large = int(model.n_calibration_ * np.exp(6))  # 3 is taken off, but no more than 2 within a cluster
    for n, scores, total in (
        (3, (0.8, -0.5), 0.3),
        (3, (0.8, -2.0), None),
        (n_large, (0.8, -2.0), 0.8),
        (n_large, (0.8, -3.0), None),
        (n_large, (-0.1, -0.1), None),  # no record is similar
    ):
        monkeypatch.setattr(engine, "_compare", lambda *_, found=scores: ({0: 0, 1: 0}, dict(enumerate(found))))
        cluster, found = engine._best([], [0, 1], 2, n)
        assert cluster == (None if total is None else 0)
        assert total is None or found == pytest.approx(total, abs=0.01)


@each_row(
    ("ids", "fresh"),
    [
        ([4, 9], [10, 11]),
        (["4", "9"], ["10", "11"]),
        (["a", "new-1"], ["new-2", "new-3"]),
        ([1, "x"], ["new-1", "new-2"]),
    ],
)
def test_fresh_ids_collide_with_nothing(model, ids, fresh):
    def person(letter: str) -> dict[str, str]:
        return {"name": letter * 9, "street": letter * 12, "born": f"19{10 + ord(letter) - 97}-01-01"}

    index = model.index([person("a"), person("b")], ids)
    assert index.assign([person("c"), person("d")]) == fresh
    assert index.assign([person("c")]) == fresh[:1]


def test_an_empty_index_grows(model):
    records, ids = people(10, seed=8)
    index = model.index()
    assert index.assign([]) == []
    assert f1(ids, index.assign(records)) > 0.75
    assert index.n_clusters == len(set(index.ids))


def test_index_files(model, tmp_path):
    records, ids = people(20, seed=9)
    index = model.index(records[:15], ids[:15])
    index.save(tmp_path / "i.accord")
    again = RecordIndex.load(tmp_path / "i.accord")
    copied = pickle.loads(pickle.dumps(index))
    assert index.assign(records[15:]) == again.assign(records[15:]) == copied.assign(records[15:])
    model.save(tmp_path / "m.accord")
    with pytest.raises(InputError, match="holds a Deduplicator, not an index"):
        RecordIndex.load(tmp_path / "m.accord")


def test_a_bad_record_leaves_the_index_alone(model):
    records, ids = people(5, seed=9)
    index = model.index(records, ids)
    with pytest.raises(InputError, match="field 'name' of record 1"):
        index.assign([records[0], {"name": object()}])
    assert len(index) == len(records)
    assert index.assign(records[:1]) == ids[:1]


def test_an_interrupted_assignment_adds_nothing(model, monkeypatch):
    records, ids = people(8, seed=9)
    index = model.index(records[:6], ids[:6])

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Decisions, "_best", interrupt)
        with pytest.raises(KeyboardInterrupt):
            index.assign(records[6:])
    assert index.ids == ids[:6]
    assert index.assign(records[:2]) == ids[:2]
    assert len(index) == 8


# -- parts -----------------------------------------------------------------------------------------------------------
def test_training_sets_hold_whole_clusters():
    records, ids = people(40, seed=1)
    table, truth = RecordPairs(FIELDS).fit([records]).table(records), np.array(ids)
    sets = training_sets(table, truth, 12, np.random.default_rng(0))
    assert sorted(np.concatenate(sets).tolist()) == list(range(len(ids)))
    assert max(len(one) for one in sets) <= 12
    assert sum(np.unique(truth[one]).size for one in sets) == np.unique(truth).size
    folds = folds_of_clusters(truth, 3, np.random.default_rng(0))
    assert all(np.unique(folds[truth == c]).size == 1 for c in truth)
    assert set(folds) == {0, 1, 2}


def test_large_components_are_taken_apart():
    left, right = np.arange(1, 10), np.arange(9)  # a chain
    similar = np.array([9.0, 8, 1, 7, 6, 2, 5, 4, 3])
    parts = small_parts(11, left, right, similar, 10)
    assert [part.tolist() for part in parts] == [list(range(10))]
    parts = small_parts(11, left, right, similar, 4)
    assert [part.tolist() for part in parts] == [[0, 1, 2], [3, 4, 5]]
    assert small_parts(3, left[:0], right[:0], similar[:0], 4) == []


# -- sizes -----------------------------------------------------------------------------------------------------------
def test_lenience_is_for_records_that_similar_pairs_connect():
    similar = {(1, 0): 1.0, (2, 1): 0.5, (2, 0): -2.5, (3, 0): -0.5, (3, 1): -0.5, (3, 2): -0.5}

    def clusters(lenience):
        def scores(left, right):
            return np.array([similar[max(pair), min(pair)] for pair in zip(left.tolist(), right.tolist())])

        sides = tuple(np.array(side) for side in zip(*similar))
        rule = Rule("average", "agglomerative", np.zeros(1), lenience)
        return cluster_pairs(4, sides, np.array(list(similar.values())), scores, lambda: None, rule).tolist()

    assert clusters(0.0) == [0, 0, 1, 2]  # the mean of 2 with 0 and 1 is -1
    assert clusters(0.9) == [0, 0, 1, 2]
    assert clusters(1.1) == [0, 0, 0, 1]  # no similar pair connects 3, however much is added


def test_costs_of_sizes_by_hand():
    pairs_only = size_costs(np.repeat(np.arange(90), 2))
    assert pairs_only == pytest.approx([0, 0, 0, -np.log((2 / 3) / 91)])
    mixed = size_costs(np.array([0, 1, 1, 2, 2, 2, 2]))  # sizes 1, 2, 4
    second, third, fourth = (1 + 2 / 3) / 3, (1 + 3 / 4) / 2, (4 / 5) / 2
    assert mixed == pytest.approx([0, 0, 0, -np.log(second), -np.log(min(second, third)), -np.log(fourth)])


@given(st.lists(st.integers(1, 60), min_size=2, max_size=60))
def test_costs_of_sizes_never_fall_and_stay_small_where_sizes_vary(sizes):
    costs = size_costs(np.repeat(np.arange(len(sizes)), sizes))
    assert costs.size == max(*sizes, 2) + 2 - (max(sizes) == 1)
    assert (np.diff(costs) >= 0).all()
    assert not costs[:3].any()
    assert costs[-1] <= np.log(1.5 * (len(sizes) + 1))  # the least probable of all: none has a third record


def apart_slowly(scores, found, costs, decoder):
    """One cluster after another, from the matrix of similarities."""
    n = found.size
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n, -1)] = scores
    todo, done = [np.flatnonzero(found == c) for c in np.unique(found)], []
    while todo:
        members = todo.pop()
        own = matrix[np.ix_(members, members)][np.tril_indices(members.size, -1)]
        parts = np.zeros(members.size, int)
        if members.size > 2:
            parts = Partition().decode(own - costs[min(members.size, costs.size - 1)], decoder)
        if parts.max() == 0:
            done.append(members)
        else:
            todo += [members[parts == part] for part in range(parts.max() + 1)]
    return sorted(members.tolist() for members in done)


@given(st.integers(0, 10_000), st.integers(1, 14), st.sampled_from(["agglomerative", "sequential"]))
def test_large_clusters_come_apart_by_the_cost_of_their_size(seed, n, decoder):
    rng = np.random.default_rng(seed)
    scores = rng.normal(1.0, 2.0, n * (n - 1) // 2)
    costs = np.concatenate([np.zeros(3), np.sort(rng.exponential(1.0, 4))])
    found = Partition().decode(scores, decoder)
    rule, free = (Rule("correlation", decoder, one) for one in (costs, np.zeros(1)))
    result = large_clusters_apart(scores, found, rule)
    assert sorted(np.flatnonzero(result == c).tolist() for c in np.unique(result)) == apart_slowly(
        scores, found, costs, decoder
    )
    assert (large_clusters_apart(scores, found, free) == found).all()
    assert (large_clusters_apart(scores, result, rule) == result).all()
    together = large_clusters_apart(np.full(n * (n - 1) // 2, 50.0), np.zeros(n, int), rule)
    assert not together.any()  # similar enough for any size


def test_sizes_that_were_never_seen_need_more():
    """Labeled clusters are pairs; groups of records that are all alike are cut, pairs are not."""
    records, ids = TRAINING
    twos = [i for i in range(len(ids)) if ids[:i].count(ids[i]) < 2]
    fitted = Deduplicator(FIELDS, random_state=0).fit([records[i] for i in twos], [ids[i] for i in twos])
    assert fitted.size_costs_.size == 4
    assert fitted.size_costs_[3] > 3
    more, _ = people(60, seed=5)
    largest = max(np.bincount(fitted.predict(more)))
    n_clusters = len(set(fitted.predict(more)))
    fitted.size_costs_ = np.zeros(1)
    assert len(set(fitted.predict(more))) < n_clusters
    assert max(np.bincount(fitted.predict(more))) >= largest


# -- machines and held-out records ------------------------------------------------------------------------------------
def test_weights_are_the_mean_of_a_machine_for_each_way():
    records, ids = TRAINING
    model = Deduplicator(FIELDS, random_state=0, calibrate=False).fit(records, ids)
    table = model.view_.table(records)
    pairs = table.compare(*pair_numbers(len(records)))
    weights, bias = np.zeros(pairs.shape[1]), 0.0
    ways = model.view_.ways()
    for columns in ways:
        machine = ClusteringSVM("pairwise", tol=model.tol).fit([pairs[:, columns]], [ids])
        for column, weight in zip(columns, machine.weights_[:-1]):
            weights[column] += weight / len(ways)
        bias += machine.weights_[-1] / len(ways)
    np.testing.assert_allclose(model.weights_, weights, rtol=1e-6, atol=1e-9)
    assert model.bias_ == pytest.approx(bias)
    assert len(model.machines_) == len(ways) > 2
    threads = Deduplicator(FIELDS, random_state=0, calibrate=False, n_jobs=2).fit(records, ids)
    np.testing.assert_allclose(threads.weights_, model.weights_, rtol=1e-6, atol=1e-9)


def logistic_cost(line: np.ndarray, score: np.ndarray, sign: np.ndarray) -> float:
    return float(np.logaddexp(0.0, -sign * (line[0] * score + line[1])).sum() + line[0] ** 2 / 200)


def held_out_slopes(machines: Machines, *labeled) -> list[float]:
    return [model.slope for model in held_out_models(machines, Labeled(*labeled))]


def test_slopes_of_held_out_records_by_the_book():
    """Folds one after another, pairs one after another, the logistic fit by a general minimiser."""
    records, ids = people(24, seed=0)
    truth = np.array(ids)
    view = RecordPairs(FIELDS).fit([records])
    table = view.table(records)
    sets = training_sets(table, truth, 20, np.random.default_rng(1))
    assert len(sets) > 1
    pairs = [table.compare(*(members[side] for side in pair_numbers(members.size))) for members in sets]
    folds = folds_of_clusters(truth, 3, np.random.default_rng(2))
    machines = Machines(ClusteringSVM("pairwise", C=0.1, tol=1e-6), view.ways()[:4], None)
    expected = []
    for fold in range(3):
        known = [members[folds[members] != fold] for members in sets]
        inner = [table.compare(*(members[side] for side in pair_numbers(members.size))) for members in known]
        weights, bias = machines.mean(machines.fit(inner, [truth[members] for members in known]), len(view.names_))
        score, sign = [], []
        for members in sets:
            for a, i in enumerate(members):
                for j in members[:a]:
                    if folds[i] == folds[j] == fold:
                        score.append(table.compare(np.array([i]), np.array([j]))[0] @ weights + bias)
                        sign.append(1.0 if truth[i] == truth[j] else -1.0)
        expected.append(minimize(logistic_cost, np.zeros(2), (np.array(score), np.array(sign)), tol=1e-9).x[0])
    found = held_out_slopes(machines, pairs, sets, truth, folds)
    np.testing.assert_allclose(found, expected, rtol=0.02)  # as exact as the logistic fit


def test_similarities_are_scaled_by_the_median_fold_and_not_too_sure(model):
    records, ids = TRAINING
    table, truth = model.view_.table(records), check_ids(ids, len(ids))
    rng = np.random.default_rng(0)
    sets = training_sets(table, truth, 200, rng)
    assert len(sets) == 1
    pairs = [table.compare(*pair_numbers(len(records)))]
    machines = Machines(ClusteringSVM("pairwise", tol=model.tol), model.view_.ways(), None)
    slopes = held_out_slopes(machines, pairs, sets, truth, folds_of_clusters(truth, 4, rng))
    assert len(slopes) == 4
    weights, _ = machines.mean(machines.fit(pairs, [truth]), len(model.view_.names_))
    candidates = candidate_pairs(table, model.n_candidates)
    most = 6.0 / np.std(table.scores(*candidates, weights))  # what similarities of candidates may spread
    assert model.slope_ == pytest.approx(min(np.median(slopes), most), rel=1e-6)
    assert model.n_calibration_ == len(records)


def test_folds_about_which_nothing_can_be_learned_are_left_out():
    """Of two folds one has a single cluster; then both have two, and a feature that means the same or the opposite."""
    truth, folds, sets = np.repeat(np.arange(3), 2), np.repeat([0, 0, 1], 2), [np.arange(6)]
    j, k = pair_numbers(6)
    together = (truth[j] == truth[k]).astype(float)[:, None]
    machines = Machines(ClusteringSVM("pairwise"), [np.arange(1)], None)
    assert held_out_slopes(machines, [together], sets, truth, folds) == []  # neither fold tells and is told about
    assert held_out_slopes(machines, [together], sets, np.arange(6), folds) == []
    truth, folds, sets = np.repeat(np.arange(4), 2), np.repeat([0, 1], 4), [np.arange(8)]
    j, k = pair_numbers(8)
    together = np.where(truth[j] == truth[k], 1.0, 0.0)[:, None]
    assert min(held_out_slopes(machines, [together], sets, truth, folds)) > 0
    opposite = together * np.where(folds[j] == 0, 1.0, -1.0)[:, None]
    assert max(held_out_slopes(machines, [opposite], sets, truth, folds)) < 0


def test_ctrl_c_while_it_learns(monkeypatch):
    """A machine that was interrupted is a usable model by itself, but no use if the others are missing."""
    calls = []

    def interrupted(*args, **kwargs):
        result = solve(*args, **kwargs)
        result.interrupted = True
        calls.append(1)
        return result

    solve = margin_qp.solve
    monkeypatch.setattr(margin_qp, "solve", interrupted)
    records, ids = people(20, seed=0)
    with pytest.raises(KeyboardInterrupt):
        Deduplicator(FIELDS, random_state=0).fit(records, ids)
    assert len(calls) == 1


# -- mistakes --------------------------------------------------------------------------------------------------------
@each_row(
    ("settings", "ids", "message"),
    [
        ({}, [0, 0, 1], "ids has 3 entries but there are 4 records"),
        ({}, [0, 0, [], 1], r"ids\[2\] is a list"),
        ({"method": "best"}, [0, 0, 1, 1], "method is 'best'; expected \"pairwise\""),
        ({"decoder": "best"}, [0, 0, 1, 1], "decoder is 'best'"),
        ({"linkage": "best"}, [0, 0, 1, 1], "linkage is 'best'"),
        ({"n_candidates": 0}, [0, 0, 1, 1], "n_candidates is 0"),
        ({"threshold": "high"}, [0, 0, 1, 1], "threshold is 'high'"),
    ],
)
def test_mistakes(settings, ids, message):
    records = [{"a": "x"}, {"a": "xx"}, {"a": "y"}, {"a": "z"}]
    with pytest.raises(InputError, match=message):
        Deduplicator({"a": "text"}, **settings).fit(records, ids)


def test_mistakes_of_pairs_and_indexes(model):
    records = [{"a": "x"}, {"a": "xx"}, {"a": "y"}]
    learner = Deduplicator({"a": "text"})
    for matches, distinct, message in (
        ([(0, 1)], [], "both matches and distinct"),
        ([(0, 1)], [(0, 3)], r"distinct\[0\] is \(0, 3\); expected two different numbers below 3"),
        ([(0, 0)], [(0, 1)], r"matches\[0\]"),
        (["ab"], [(0, 1)], r"matches\[0\] is 'ab'"),
    ):
        with pytest.raises(InputError, match=message):
            learner.fit_pairs(records, matches, distinct)
    with pytest.raises(InputError, match=r"ids\[1\] is missing"):
        model.index(people(5, seed=0)[0][:2], [1, None])


def test_where_clusters_are_too_few_to_hold_some_out_nothing_is_chosen():
    records = [{"a": "green house"}, {"a": "green hous"}, {"a": "old mill"}]
    fitted = Deduplicator({"a": "text"}, random_state=0).fit(records, [0, 0, 1])
    assert fitted.report_ is None
    assert fitted.predict(records) == [0, 0, 1]
