"""Ways to choose what to label next, and what each needs: the one table of both.

Kinds of questions (:mod:`accord.labeling.questions`) say what they offer; messages about what does not go together, and
what "auto" may choose from, are made from these tables.
"""

from __future__ import annotations

from typing import NamedTuple

from accord.exceptions import InputError

# What questions may offer, and strategies need.
NEEDS = {
    "views": "two or more views that can disagree (CoPerceptron, CoSVM, GradientCoSVM, SumOfViews, CoRLSR, "
    "Deduplicator)",
    "probabilities": "probabilities of labels, constituents or pairs (all learners but those of numbers and of "
    "structures without them, such as Matching)",
    "alternatives": "scores of the best output and the second best (all learners but those of numbers)",
    "gradients": "one label per input, so that what an answer changes is known exactly (classes and taxonomies)",
    "features": "features of whole examples (learners of outputs and numbers; not pairs, spans or brackets)",
}


class Strategy(NamedTuple):
    """What is looked for, and what that needs; the score of a question is higher the more it is worth asking."""

    looks_for: str
    needs: tuple[str, ...] = ()


STRATEGIES = {
    "entropy": Strategy("what the model is unsure about: entropy of probabilities, per token", ("probabilities",)),
    "margin": Strategy("a second-best output that is nearly as good as the best", ("alternatives",)),
    "disagreement": Strategy("what the views do not agree about; for numbers, the variance between views", ("views",)),
    "change": Strategy("the longest gradient of the likelihood that is to be expected of an answer", ("gradients",)),
    "diversity": Strategy("examples that stand for many others and are unlike those with labels", ("features",)),
    "balance": Strategy(
        "a second-best output that is nearly as good, of examples that stand for many others: gain in diversity times "
        "margin",
        ("alternatives", "features"),
    ),
    "random": Strategy("nothing; what the others are compared with"),
}


def possible(offers: frozenset[str]) -> list[str]:
    """Strategies for questions that offer these things."""
    return [name for name, strategy in STRATEGIES.items() if offers.issuperset(strategy.needs)]


def chosen(strategy: str, offers: frozenset[str], who: str, preferred: tuple[str, ...]) -> str:
    """The strategy that is meant, "auto" being the first that is preferred and can be had; an error says what it needs
    and what works instead."""
    able = possible(offers)
    if strategy == "auto":
        return next(name for name in (*preferred, *able) if name in able)
    if strategy not in STRATEGIES:
        known = ", ".join(f'"{name}"' for name in ("auto", *STRATEGIES))
        raise InputError(f"strategy is {strategy!r}; expected one of {known}")
    if strategy not in able:
        missing = next(need for need in STRATEGIES[strategy].needs if need not in offers)
        others = ", ".join(f'"{name}"' for name in ("auto", *able))
        raise InputError(f'strategy is "{strategy}", which needs {NEEDS[missing]}; {who} has none. Use one of {others}')
    return strategy
