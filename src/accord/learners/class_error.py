"""How often what the default for classes has chosen errs: from the labels that chose it, without being misled by them.

Of many ways to learn, the one with the fewest errors on held-out labels had luck, too. So the choice is made again on
labels that are drawn with replacement, many times, and judged on those that were not drawn [Tsamardinos et al. 2018:
bootstrap bias corrected cross-validation]. Nothing is learned anew. A few labels say little, so there are some more of
a model that errs as often as is usual. The interval is that of a beta distribution about the figure: it would be
narrower if all that is unknown was chance among labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit, softmax
from scipy.stats import beta

from accord.learners.class_race import Tried, chosen_by, n_equal

DRAWS = 200
# The error that is usual, and as many labels as this says as much; and how many labels the figure is as good as, with
# none and for each. Fitted to 19 data sets with 10 to 140 labels, and rounded; the interval was made a little wider.
USUAL, WORTH = 0.2, 10.0
AS_GOOD_AS, FOR_EACH = 10.0, 1.0 / 3.0
CERTAINTY = 0.9
# How much of the surplus of doubt about new inputs counts, and how many labels say half of what held-out doubt is.
HARDER, FEW = 0.5, 20.0
LEAST = 0.01  # doubt


def expected_error(
    tried: Sequence[Tried], chosen: Tried, sharpness: float, rng: np.random.Generator
) -> dict[str, float]:
    """The share of labels of new examples that will be wrong, an interval of 90 %, and what it was made of.

    ``tried`` are those among which one was chosen, whose scores times ``sharpness`` are logits of probabilities.
    """
    examples = chosen.entry.examples
    n, each = float(n_equal(examples.weights)), examples.weights
    times = rng.multinomial(each.size, np.full(each.size, 1.0 / each.size), size=DRAWS)
    wrong = np.stack([1.0 - (examples.labels * one.guessed).sum(axis=1) for one in tried])
    left_out = (times == 0) * each
    judged = wrong[chosen_by(tried, times * each, n)]
    rate = float((left_out * judged).sum() / left_out.sum()) if left_out.any() else USUAL
    error = (n * rate + WORTH * USUAL) / (n + WORTH)
    labels = AS_GOOD_AS + FOR_EACH * n
    low, high = beta.interval(CERTAINTY, labels * error, labels * (1.0 - error))
    doubt = np.average(1.0 - softmax(sharpness * chosen.scores, axis=1).max(axis=1), weights=each)
    held_out = np.average(1.0 - (examples.labels * chosen.guessed).sum(axis=1), weights=each)
    return {
        "error": error, "low": float(low), "high": float(high), "held_out_error": float(held_out),
        "held_out_doubt": float(doubt), "n_labeled": n,
    }  # fmt: skip


def of_new(found: dict[str, float], doubt: float) -> tuple[float, float, float]:
    """Error, low and high for new inputs about which the model has this doubt on average.

    More doubt than about held-out labels makes it higher. Less does not make it lower: a model is surer of the
    unlabeled examples that it learned from, but not more often right.
    """
    surplus, usual = (logit(np.clip(value, LEAST, 1.0 - LEAST)) for value in (doubt, found["held_out_doubt"]))
    n = found["n_labeled"]
    shift = HARDER * max(0.0, float(surplus - usual)) * n / (n + FEW)
    error, low, high = (float(expit(logit(found[name]) + shift)) for name in ("error", "low", "high"))
    return error, low, high


def sentence(found: dict[str, float]) -> str:
    """What is said of it."""
    error, low, high = (f"{100.0 * found[name]:.0f}" for name in ("error", "low", "high"))
    return f"expected error on new examples: about {error} % ({low} to {high} with {100 * CERTAINTY:.0f} % certainty)"
