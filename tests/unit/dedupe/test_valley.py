"""Where the same begins, by the merges of average linkage."""

import numpy as np
import pytest

from accord import Deduplicator
from accord.dedupe import mixture, valley
from accord.dedupe.compared import ComparedPairs
from accord.dedupe.pairs import RecordPairs
from accord.dedupe.valley import MergeTree, cut_by_chance, dealt_out, merges
from accord.evaluation.clusters import pair_counts


def test_the_cut_is_between_merges_of_two_kinds():
    rng = np.random.default_rng(0)
    apart, together = rng.normal(0.2, 0.05, 200), rng.normal(0.8, 0.05, 300)
    found = merges(np.concatenate([apart, together]))
    cut, depth = found.valley()
    assert apart.max() < cut < together.min()
    assert depth > 10.0
    assert found.depth_at(cut) == pytest.approx(depth, abs=0.01)
    assert found.depth_at(0.2) < 1.0 > found.depth_at(0.8)


def test_a_valley_between_few_merges_may_be_an_accident():
    rng = np.random.default_rng(0)
    few = np.concatenate([rng.normal(0.2, 0.05, 4), rng.normal(0.8, 0.05, 4)])
    assert merges(few).valley()[1] < 3.0


def test_merges_of_one_kind_have_no_valley():
    deepest = [merges(np.random.default_rng(seed).normal(0.5, 0.1, 500)).valley()[1] for seed in range(20)]
    assert max(deepest) < 3.0


def test_copies_are_no_kind_of_their_own():
    found = np.random.default_rng(0).normal(0.5, 0.1, 500)
    assert merges(np.concatenate([found, np.ones(200)])).valley()[1] < 3.0


@pytest.mark.parametrize("same", [np.full(3, 0.5), np.ones(1)])
def test_merges_that_are_all_alike(same):
    cut, depth = merges(same).valley()
    assert 0.0 <= cut <= 1.0
    assert depth == 0.0


def test_words_are_dealt_out():
    cells = ["a b", None, "c", "d e f"]
    dealt = dealt_out(cells, np.random.default_rng(0))
    assert [cell and len(cell.split()) for cell in dealt] == [2, None, 1, 3]
    assert sorted(" ".join(filter(None, dealt)).split()) == list("abcdef")
    assert dealt != cells


def of_random_words(n: int) -> list[dict[str, str]]:
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(100)]
    return [{"text": " ".join(rng.choice(words, 6))} for _ in range(n)]


def test_records_of_random_words_are_as_alike_as_chance_makes_them():
    records = of_random_words(200)
    compared = ComparedPairs(RecordPairs().fit([records]).table(records), 20)
    weights = np.zeros(len(compared.table.view.names_))
    weights[compared.table.view.alone()] = 0.5
    rng = np.random.default_rng(0)
    found = MergeTree(compared, weights, rng).similarities
    cut = cut_by_chance(compared, np.arange(200), weights, rng)
    assert 0.01 < np.mean(found > cut) < 0.12


@pytest.mark.parametrize("n", [20, 60])
def test_a_single_text_without_a_valley_is_cut_where_chance_ends(n, monkeypatch):
    cuts = []
    monkeypatch.setattr(mixture, "cut_by_chance", lambda *args: cuts.append(cut_by_chance(*args)) or -1.0)
    found = Deduplicator(random_state=0).fit(of_random_words(n)).predict(of_random_words(n))
    assert len(cuts) == (n >= 30)  # a handful of records says nothing about chance
    assert (len(set(found)) == 1) == (n >= 30)  # as they are cut at -1 then


def institutes(n: int, copies: int, seed: int) -> tuple[list[dict[str, str]], list[int]]:
    """One long column: institutes, each with whatever else stands in an address."""
    rng = np.random.default_rng(seed)
    syllables = ["ba", "do", "fi", "gu", "ke", "lo", "mi", "nu", "pa", "ro", "su", "te", "vo", "wa", "zi"]

    def word() -> str:
        return "".join(rng.choice(syllables, 4))

    kinds = ["Department of Physics", "Mathematics Department", "Faculty of Medicine", "School of Chemistry"]
    records, ids = [], []
    for k in range(n):
        name, city = f"{word()} {word()} University", word()
        for _ in range(int(rng.integers(1, 2 * copies))):
            parts = [str(rng.choice(kinds))] * int(rng.random() < 0.7) + [name]
            parts += [f"{word()} street {rng.integers(1, 99)}"] * int(rng.random() < 0.3)
            records.append({"affiliation": ", ".join(parts + [city] * int(rng.random() < 0.6))})
            ids.append(k)
    return records, ids


def test_one_long_column_is_clustered_without_labels():
    records, truth = institutes(30, 6, 0)
    found = Deduplicator(random_state=0).fit(records).predict(records)
    assert pair_counts(np.array(truth), np.array(found)).f1 > 0.9


def test_of_a_large_table_some_neighbourhoods_are_looked_at(monkeypatch):
    records, _ = institutes(20, 4, 1)
    compared = ComparedPairs(RecordPairs().fit([records]).table(records), 3)
    weights = np.zeros(len(compared.table.view.names_))
    weights[compared.table.view.alone()] = 0.5
    whole = MergeTree(compared, weights, np.random.default_rng(0))
    assert (whole.clusters(-1.0) == 1).all()
    assert np.unique(whole.clusters(0.9)).size > 20
    monkeypatch.setattr(valley, "MOST_RECORDS", 25)
    some = MergeTree(compared, weights, np.random.default_rng(0))
    assert 25 <= some.records.size < len(records)
    assert some.similarities.size == some.records.size - 1
    found = some.clusters(0.3)
    assert (found[some.records] > 0).all()
    assert np.count_nonzero(found < 0) == len(records) - some.records.size
