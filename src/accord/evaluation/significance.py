"""Is a difference more than chance? Paired tests on repetitions, and Holm's correction for many of them.

The arguments `a` and `b` are two methods' figures on the same repetitions (or data sets), in the same order. The thesis
compares methods over data sets by Wilcoxon's signed ranks [4.4.1, after Demšar 2006]. Repetitions drawn from one pool
overlap, which makes the plain t test too optimistic; `corrected_resampled_t_test` (Nadeau & Bengio 2003) allows for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from accord.exceptions import InputError

Alternative = Literal["two-sided", "less", "greater"]
_EXACT_LIMIT = 200  # above this many pairs the normal approximation of Wilcoxon's statistic is as good


@dataclass(frozen=True)
class PairedTest:
    """Outcome of a paired test of `a` against `b`; `difference` is the mean of a − b.

    `statistic` is t, or for Wilcoxon the rank sum that is small when the alternative holds (two-sided: the smaller
    one), as the tables of critical values have it. `w_plus` and `w_minus` sum the ranks where a > b and a < b.

    Examples
    --------
    >>> test = paired_t_test([0.31, 0.28, 0.25, 0.30], [0.35, 0.30, 0.31, 0.33], names=("new", "old"))
    >>> print(test.summary)
    new is below old by 0.0375 on average over 4 pairs (paired t test: t = -4.392, p = 0.022, two-sided).
    """

    test: str
    statistic: float
    p_value: float
    n: int
    difference: float
    alternative: Alternative
    names: tuple[str, str] = ("a", "b")
    w_plus: float | None = None
    w_minus: float | None = None

    @property
    def summary(self) -> str:
        """One sentence saying what was found."""
        a, b = self.names
        word = "below" if self.difference < 0 else "above" if self.difference > 0 else "equal to"
        how = f"by {abs(self.difference):.4g} on average " if self.difference else "on average "
        symbol = "W" if self.w_plus is not None else "t"
        return (
            f"{a} is {word} {b} {how}over {self.n} pairs "
            f"({self.test}: {symbol} = {self.statistic:.4g}, {format_p(self.p_value)}, {self.alternative})."
        )


def format_p(p: float) -> str:
    """A p value as text: ``p = 0.012`` or ``p < 0.0001``."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}" if p < 0.1 else f"p = {p:.2f}"


# ------------------------------------------------------------------------------------------------------------ tests
def paired_t_test(
    a: Any, b: Any, alternative: Alternative = "two-sided", names: tuple[str, str] = ("a", "b")
) -> PairedTest:
    """Student's t test on the differences a − b; ``alternative="less"`` asks whether a is below b.

    >>> paired_t_test([1.0, 2.0, 3.0, 2.0], [2.0, 3.0, 5.0, 2.0]).p_value.__round__(4)
    0.0917
    """
    return _t_test("paired t test", paired_differences(a, b, 2), 0.0, alternative, names)


def corrected_resampled_t_test(
    a: Any,
    b: Any,
    n_train: float,
    n_test: float,
    alternative: Alternative = "two-sided",
    names: tuple[str, str] = ("a", "b"),
) -> PairedTest:
    """The t test for overlapping resamples: the variance of the mean is s²·(1/J + n_test/n_train).

    Parameters
    ----------
    a, b : figures of two methods on J random splits of one data set
    n_train, n_test : sizes of the training (labeled) and the test part of a split (only their ratio matters)

    Examples
    --------
    >>> a, b = [0.31, 0.28, 0.25, 0.30], [0.35, 0.30, 0.31, 0.33]
    >>> corrected_resampled_t_test(a, b, n_train=20, n_test=80).p_value
    0.3649
    >>> paired_t_test(a, b).p_value  # as if the splits did not overlap
    0.0219
    """
    for name, value in (("n_train", n_train), ("n_test", n_test)):
        if not value > 0:
            raise InputError(f"{name} must be above 0, but it is {value}")
    return _t_test("corrected resampled t test", paired_differences(a, b, 2), n_test / n_train, alternative, names)


def wilcoxon_signed_ranks(
    a: Any,
    b: Any,
    alternative: Alternative = "two-sided",
    zeros: Literal["discard", "split"] = "discard",
    names: tuple[str, str] = ("a", "b"),
) -> PairedTest:
    """Wilcoxon's signed ranks test; ``alternative="less"`` asks whether a tends to be below b.

    The p value is exact (also with tied ranks) up to 200 pairs and a normal approximation with tie correction above.

    Parameters
    ----------
    a, b : paired figures
    zeros : "discard" leaves pairs without a difference out; "split" shares their ranks between both sides (Demšar)

    Examples
    --------
    >>> test = wilcoxon_signed_ranks([1.0, 2.0, 3.0, 2.0], [2.0, 4.0, 6.0, 6.0], alternative="less")
    >>> test.statistic, test.p_value
    (0.0, 0.0625)
    """
    _check_alternative(alternative)
    if zeros not in ("discard", "split"):
        raise InputError(f'zeros must be "discard" or "split", but it is {zeros!r}')
    from scipy.stats import rankdata

    d = paired_differences(a, b, 1)
    kept = d if zeros == "split" else d[d != 0]
    ranks = rankdata(np.abs(kept))
    half_zeros = ranks[kept == 0].sum() / 2
    w_plus = float(ranks[kept > 0].sum() + half_zeros)
    w_minus = float(ranks[kept < 0].sum() + half_zeros)
    free = ranks[kept != 0]
    below = _rank_sum_cdf(free, w_plus - half_zeros)  # P(W+ ≤ w+)
    above = _rank_sum_cdf(free, w_minus - half_zeros)  # P(W+ ≥ w+) by symmetry
    p = {"less": below, "greater": above, "two-sided": min(1.0, 2 * min(below, above))}[alternative]
    statistic = {"less": w_plus, "greater": w_minus, "two-sided": min(w_plus, w_minus)}[alternative]
    test = "Wilcoxon signed ranks"
    return PairedTest(test, statistic, p, len(d), float(d.mean()), alternative, names, w_plus, w_minus)


def wilcoxon_critical_value(n: int, alpha: float, two_sided: bool = False) -> int:
    """Largest rank sum that is significant at level `alpha` for `n` pairs (−1: none is).

    >>> wilcoxon_critical_value(32, 0.005)
    128
    """
    if n < 1 or not 0 < alpha < 1:
        raise InputError(f"n must be at least 1 and alpha between 0 and 1, but they are {n} and {alpha}")
    cdf = np.cumsum(_rank_sum_distribution(2 * np.arange(1, n + 1)))[::2]
    return int(np.searchsorted(cdf, alpha / 2 if two_sided else alpha, side="right")) - 1


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: reject where the adjusted p is below the level, for all tests together.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1 or (len(p) and not ((p >= 0) & (p <= 1)).all()):
        raise InputError(f"p_values must be a list of numbers between 0 and 1, but it is {p_values!r}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    scaled = p[order] * np.arange(len(p), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled)) if len(p) else scaled
    return adjusted.tolist()


# ---------------------------------------------------------------------------------------------------------- helpers
def _check_alternative(alternative: str) -> None:
    if alternative not in ("two-sided", "less", "greater"):
        raise InputError(f'alternative must be "two-sided", "less" or "greater", but it is {alternative!r}')


def paired_differences(a: Any, b: Any, minimum: int) -> np.ndarray:
    """a − b as floats, checked."""
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if x.ndim != 1 or y.ndim != 1 or len(x) != len(y):
        raise InputError(f"a and b must be lists of the same length, but their shapes are {x.shape} and {y.shape}")
    if len(x) < minimum:
        raise InputError(f"a and b must hold at least {minimum} pairs, but they hold {len(x)}")
    for name, values in (("a", x), ("b", y)):
        for i in np.flatnonzero(~np.isfinite(values))[:1]:
            raise InputError(f"{name}[{i}] is {values[i]}: a paired test needs finite numbers")
    return x - y


def _t_test(test: str, d: np.ndarray, overlap: float, alternative: Alternative, names: tuple[str, str]) -> PairedTest:
    _check_alternative(alternative)
    from scipy.stats import t as student

    n, mean = len(d), float(d.mean())
    scale = math.sqrt(float(d.var(ddof=1)) * (1 / n + overlap))
    if scale > 1e-15 * max(1e-300, float(np.abs(d).max())):
        statistic = mean / scale
    else:  # all differences are the same number
        statistic = 0.0 if mean == 0 else math.copysign(math.inf, mean)
    below = float(student.cdf(statistic, n - 1))
    above = float(student.sf(statistic, n - 1))
    p = {"less": below, "greater": above, "two-sided": min(1.0, 2 * min(below, above))}[alternative]
    return PairedTest(test, statistic, p, n, mean, alternative, names)


def _rank_sum_distribution(doubled_ranks: np.ndarray) -> np.ndarray:
    """P(sum = s), s = 0, 1, …, of ranks each included with probability ½ (ranks doubled, so that ties are integers)."""
    distribution = np.zeros(int(doubled_ranks.sum()) + 1)
    distribution[0] = 1.0
    for rank in doubled_ranks.astype(int):
        distribution = (distribution + np.roll(distribution, rank)) / 2  # zeros roll in: the sum cannot be so large yet
    return distribution


def _rank_sum_cdf(ranks: np.ndarray, w: float) -> float:
    """P(W ≤ w) under the null hypothesis."""
    if len(ranks) <= _EXACT_LIMIT:
        doubled = np.round(2 * ranks).astype(int)
        return min(1.0, float(_rank_sum_distribution(doubled)[: round(2 * w) + 1].sum()))
    spread = math.sqrt(float((ranks**2).sum()) / 4)  # ties need no other correction in this form
    return 0.5 * math.erfc(-(w + 0.5 - float(ranks.sum()) / 2) / spread / math.sqrt(2))
