"""Sentences about orderings: which settings they name, and on which side."""

import pytest

from accord.evaluation import Results
from accord.experiments.ordering import Claim, change_note, claim_notes

CLAIM = Claim("fancy", "plain", "a paper: lower")


def rows(method, n, values, metric="token_error"):
    head = {"experiment": "e", "method": method, "n": n, "metric": metric, "seconds": 1.0}
    return [{**head, "repetition": r, "value": value} for r, value in enumerate(values)]


PLAIN = [0.30, 0.31, 0.32, 0.30, 0.33, 0.31]
BELOW = [value - 0.1 - 0.001 * r for r, value in enumerate(PLAIN)]
ABOVE = [value + 0.05 + 0.001 * r for r, value in enumerate(PLAIN)]
NOISY = [value + 0.1 * (-1) ** r for r, value in enumerate(PLAIN)]


def results():
    settings = {5: BELOW, 10: ABOVE, 20: NOISY}
    found = [row for n, values in settings.items() for row in rows("plain", n, PLAIN) + rows("fancy", n, values)]
    return Results(found)


def by_n(setting):
    return f"n={setting['n']}"


def test_settings_are_sorted_by_the_outcome_of_the_test():
    assert claim_notes(results(), [CLAIM], "token_error", by_n) == [
        "fancy minus plain, % points of token error (a paper: lower); 3 settings: lower in 1 (n=5 -10.25), "
        "higher in 1 (n=10 +5.25), no clear difference in 1 (n=20 +0.00)."
    ]


def test_the_p_values_are_corrected_for_the_number_of_settings():
    slight = [value + d for value, d in zip(PLAIN, (-0.02, -0.03, -0.01, -0.02, 0.005, -0.01))]
    alone = Results(rows("plain", 5, PLAIN) + rows("fancy", 5, slight))
    assert alone.compare("plain", "token_error")[0].test.p_value == pytest.approx(0.037, abs=0.005)
    assert "lower in 1 (n=5 " in claim_notes(alone, [CLAIM], "token_error", by_n)[0]
    many = Results([row for n in range(5) for row in rows("plain", n, PLAIN) + rows("fancy", n, slight)])
    assert "no clear difference in 5 " in claim_notes(many, [CLAIM], "token_error", by_n)[0]


def test_claims_without_results_are_silent():
    only = Results(rows("plain", 5, PLAIN))
    assert claim_notes(only, [CLAIM, Claim("plain", "fancy", "")], "token_error", by_n) == []
    once = Results(rows("plain", 5, PLAIN[:1]) + rows("fancy", 5, BELOW[:1]))
    assert claim_notes(once, [CLAIM], "token_error", by_n) == []


def test_figures_that_are_no_percentages_keep_their_unit():
    seconds = Results(rows("plain", 5, PLAIN, "seconds") + rows("fancy", 5, BELOW, "seconds"))
    assert claim_notes(seconds, [CLAIM], "seconds", by_n) == [
        "fancy minus plain, seconds (a paper: lower); 1 setting: lower in 1 (n=5 -0.102)."
    ]


def test_changes_are_paired_by_repetition():
    found = Results(rows("fancy", 5, PLAIN) + rows("fancy", 10, BELOW[:5]))
    assert change_note(found, "fancy", "token_error", {"n": 5}, {"n": 10}, "from 5 to 10") == [
        "fancy, from 5 to 10: token error 31.20 → 21.00 % (paired t test, 5 pairs, p < 0.0001)."
    ]
    assert change_note(found, "fancy", "token_error", {"n": 5}, {"n": 40}, "") == []
