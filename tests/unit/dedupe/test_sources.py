"""Tables put together from others: pairs of the same source are different, however alike they are."""

import numpy as np

from accord import Deduplicator
from accord.dedupe.compared import ComparedPairs
from accord.dedupe.mixture import best_guess, without_sources
from accord.dedupe.pairs import RecordPairs
from accord.experiments.deduplication import scores

N_PAPERS = 150
WORDS = [f"{a}{b}{c}" for a in ("ba", "ko", "mi", "tu") for b in ("rel", "son", "tak", "vid") for c in "aeiou"]


def two_lists(seed, mixed=False):
    """Papers of two lists that write them differently; every fifth has a sequel, which differs in a word.

    If ``mixed``, where a record comes from is drawn at random.
    """
    r = np.random.default_rng(seed)
    records, truth = [], []
    for k in range(N_PAPERS):
        title = r.choice(WORDS, 6, replace=False).tolist()
        authors = r.choice(WORDS, 3).tolist()
        for sequel in range(2 if k % 5 == 0 else 1):
            words = [*title[:5], title[5] + "st" * sequel]
            for source in ("left", "right"):
                changed = r.integers(6) if source == "right" else 6
                written = [word[:2] + word[3:] if i == changed else word for i, word in enumerate(words)]
                names = authors if source == "left" else authors[1:] + authors[:1]
                record = {"title": " ".join(written), "authors": " ".join(names), "source": source}
                records.append(record | {"source": str(r.choice(["left", "right"]))} if mixed else record)
                truth.append(2 * k + sequel)
    order = r.permutation(len(records))
    return [records[i] for i in order], np.array(truth)[order]


def guessed(records, sure=None):
    view = RecordPairs({"title": "text", "authors": "text", "source": "category"}).fit([records])
    compared = ComparedPairs(view.table(records), 20)
    unknown = np.full(compared.candidates[0].size, np.nan)
    weights, _ = best_guess(view, compared, unknown if sure is None else sure(compared), np.random.default_rng(0))
    return dict(zip(view.names_, weights))["source: equal"]


def test_pairs_of_the_same_source_are_different():
    records, truth = two_lists(0)
    assert guessed(records) < -3.0
    found = np.array(Deduplicator(random_state=0).fit(records).predict(records))
    plain = [{name: cell for name, cell in record.items() if name != "source"} for record in records]
    without = np.array(Deduplicator(random_state=0).fit(plain).predict(plain))
    assert scores(truth, found)["pair_f1"] > scores(truth, without)["pair_f1"] + 0.02


def test_sources_drawn_at_random_say_nothing():
    for seed in range(3):
        assert guessed(two_lists(seed, mixed=True)[0]) > -3.0


def test_what_is_known_counts():
    """Pairs that are known to belong together share a source, so that it says nothing against others."""
    records, _ = two_lists(0)

    def sure(compared):
        left, right = compared.candidates
        same = np.array([records[i]["source"] == records[j]["source"] for i, j in zip(left, right)])
        return np.where(same, 1.0, np.nan)

    assert guessed(records, sure) > -3.0


def test_the_rest_is_left_as_it_is():
    records, _ = two_lists(1)
    view = RecordPairs({"title": "text", "authors": "text", "source": "category"}).fit([records])
    compared = ComparedPairs(view.table(records), 20)
    features = compared.features(*compared.candidates)
    weights = np.zeros(len(view.names_))
    weights[view.alone()] = 20.0 / view.alone().size  # how alike records are as a whole
    unknown = np.full(len(features), np.nan)
    changed, bias = without_sources(compared.table, features, unknown, weights, -12.0)
    assert bias == -12.0
    assert [view.names_[k] for k in np.flatnonzero(changed != weights)] == ["source: equal"]
    assert (features @ changed + bias)[features[:, view.names_.index("source: equal")] == 1].max() <= 1e-9
