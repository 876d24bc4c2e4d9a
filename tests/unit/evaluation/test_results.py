"""The tidy table: aggregation, pairing, reading and writing."""

import math

import numpy as np
import pytest

from accord.evaluation import Results, paired_t_test, wilcoxon_signed_ranks
from accord.exceptions import FormatError, InputError


def row(method, repetition, value, metric="token_error", experiment="toy", **setting):
    return {
        "experiment": experiment,
        "method": method,
        **setting,
        "repetition": repetition,
        "metric": metric,
        "value": value,
        "seconds": 0.5,
    }


RNG = np.random.default_rng(0)
SVM, HMM = RNG.normal(0.2, 0.02, size=6), RNG.normal(0.25, 0.02, size=6)
ROWS = [row("HMM", r, v, n=5) for r, v in enumerate(HMM)] + [row("SVM", r, v, n=5) for r, v in enumerate(SVM)]
ROWS += [row("HMM", r, v + 0.01, n=10) for r, v in enumerate(HMM)] + [row("SVM", 0, 0.2, n=10)]


def test_aggregate():
    results = Results([*ROWS, row("SVM", 6, math.nan, n=5)])
    summaries = {(s.method, s.setting["n"]): s for s in results.aggregate()}
    five = summaries["SVM", 5]
    assert (five.n, five.mean) == (6, pytest.approx(SVM.mean()))
    assert five.standard_error == pytest.approx(SVM.std(ddof=1) / math.sqrt(6))
    assert summaries["SVM", 10].n == 1
    assert math.isnan(summaries["SVM", 10].standard_error)


def test_compare_pairs_by_repetition_whatever_the_row_order():
    shuffled = [ROWS[i] for i in np.random.default_rng(1).permutation(len(ROWS))]
    for rows in (ROWS, shuffled):
        (only,) = Results(rows).compare("HMM", "token_error")
        expected = paired_t_test(SVM, HMM)
        assert (only.method, only.setting) == ("SVM", {"n": 5})  # n=10 has only one common repetition
        assert only.test.p_value == pytest.approx(expected.p_value)
        assert only.test.statistic == pytest.approx(expected.statistic)
        assert only.p_adjusted == only.test.p_value


def test_compare_uses_only_common_repetitions_and_holm():
    rows = [*ROWS[:12], *(row("CRF", r, 0.19 + 0.01 * r, n=5) for r in (1, 3, 5, 9))]
    found = {c.method: c for c in Results(rows).compare("HMM", "token_error", "wilcoxon")}
    assert found["CRF"].test.n == 3
    assert found["SVM"].test.p_value == pytest.approx(wilcoxon_signed_ranks(SVM, HMM).p_value)
    smaller, larger = sorted(found.values(), key=lambda c: c.test.p_value)
    assert smaller.p_adjusted == pytest.approx(2 * smaller.test.p_value)
    assert larger.p_adjusted == pytest.approx(max(larger.test.p_value, smaller.p_adjusted))


def test_compare_keeps_experiments_apart():
    rows = ROWS[:12] + [r | {"experiment": "other"} for r in ROWS[:12]]
    assert [c.test.n for c in Results(rows).compare("HMM", "token_error")] == [6, 6]


def test_corrected_test_needs_the_ratio():
    results = Results(ROWS)
    with pytest.raises(InputError, match="needs test_to_train above 0"):
        results.compare("HMM", "token_error", "corrected-t")
    corrected = results.compare("HMM", "token_error", "corrected-t", test_to_train=2.0)[0]
    assert corrected.test.p_value > results.compare("HMM", "token_error")[0].test.p_value
    with pytest.raises(InputError, match='test must be "t"'):
        results.compare("HMM", "token_error", "sign")
    with pytest.raises(InputError, match="baseline 'LR' is no method of these results: HMM, SVM"):
        results.compare("LR", "token_error")


def test_csv_round_trip_keeps_types(tmp_path):
    rows = [
        row('a, "b"', 0, 0.1, kind="x", n=5, rate=0.1, flag=True, nothing=None),
        row('a, "b"', 1, 1e-17, kind="5", n=6),
        row("é", 2, math.nan, kind="true", rate=1.0),
        row("é", 3, 2.0, kind=""),
    ]
    back = Results.load(Results(rows).to_csv(tmp_path / "r.csv")).rows
    assert math.isnan(back[2].pop("value"))
    del rows[2]["value"]
    assert back == rows


def test_bad_tables(tmp_path):
    with pytest.raises(InputError, match=r"rows\[0\] has no column 'experiment'"):
        Results([{"method": "a"}])
    (tmp_path / "r.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FormatError, match=r"r\.csv, line 1: lacks the columns experiment"):
        Results.load(tmp_path / "r.csv")


def test_selecting_and_frame():
    results = Results(ROWS)
    assert results.methods == ["HMM", "SVM"]
    assert results.settings == [{"n": 5}, {"n": 10}]
    assert len(results.where(method="SVM", n=5).rows) == 6
    frame = results.to_frame()
    assert list(frame.columns) == results.columns
    assert len(frame) == len(ROWS)
