"""Labels of tokens: a CRF, and beside it two perceptrons that see less, the word alone and its neighbours alone.

The CRF fills in and says how sure it is; where the two others contradict each other is a reason to ask.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence as Seq
from copy import deepcopy
from typing import Any

import numpy as np

from accord.labeling.live.base import POOL, Answers, Examples, Judged, Question, first_questions, of_items, some
from accord.labeling.project import Project, tokens_of
from accord.labeling.suggest import suggest
from accord.learners.crf import CRF
from accord.learners.perceptron import StructuredPerceptron
from accord.structures.chains.sequence import Sequence
from accord.views.text import TokenFeatures

_FULL = 0.3  # seconds; a fit that takes longer is put off, and the new answers alone are learned first
_ITERATIONS = 60
_FRESH = 40  # answers that are learned on top of others, at most
_SHORT = 3  # tokens; shorter sentences are asked about when no others are left


class LiveTokens:
    """Sentences, whose tokens are labeled."""

    measure, is_share = "tokens", True

    def __init__(self, project: Project) -> None:
        self.project = project
        self.pace = 0.0  # seconds that a sentence takes in a fit of all

    def candidates(self) -> list[str]:
        return self.project.keys

    def tokens(self, keys: Seq[str]) -> list[list[str]]:
        """The tokens of items."""
        return [tokens_of(self.project.items[self.project.place(key)]) for key in keys]

    def learn(self, truth: Answers, previous: Any = None) -> TokenModel | None:
        usable = {k: v for k, v in of_items(self.project, truth).items() if any(one is not None for one in v)}
        labels = self.project.tags()
        if not usable or len(labels) < 2:
            return None
        X, Y = self.tokens(list(usable)), list(usable.values())
        known = getattr(previous, "crf", None)
        if known is not None and self.pace * len(usable) > _FULL and known.structure_.labels_ == labels:
            return self._on_top(previous, usable)
        began = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an early stop is what is wanted
            crf = self._learner().fit(X, Y)
            word, around = (
                StructuredPerceptron(Sequence(labels=labels), view, max_iter=5, random_state=0).fit(inputs, Y)
                for view, inputs in ((TokenFeatures(0), X), (TokenFeatures(0), _around(X)))
            )
        self.pace = (time.monotonic() - began) / len(usable)
        return TokenModel(self, crf, word, around, usable)

    def _on_top(self, previous: TokenModel, usable: Answers) -> TokenModel:
        """A model with one pass over the newest answers; what was taken back is unlearned by the next fit of all."""
        if previous.learned == usable:
            return previous
        fresh = [k for k, v in usable.items() if previous.learned.get(k) != v][-_FRESH:]
        crf = previous.crf
        if fresh:
            crf = deepcopy(crf).partial_fit(self.tokens(fresh), [usable[k] for k in fresh])
        return TokenModel(self, crf, previous.word, previous.around, usable, is_whole=False)

    def _learner(self) -> CRF:
        structure = Sequence(labels=self.project.tags(), constraints="iob2" if self.project.spans else None)
        return CRF(structure, TokenFeatures(), max_iter=_ITERATIONS, tol=1e-3, random_state=0)

    def examples(self, truth: Answers) -> Examples:
        """Sentences of which one was sure."""
        usable = {k: v for k, v in of_items(self.project, truth).items() if v and None not in v}
        return Examples(list(usable), self.tokens(list(usable)), list(usable.values()), self._learner())

    def learn_more(self, truth: Answers, unlabeled: list[str]) -> TokenModel | None:
        """The same CRF with evidence about kinds of words from unlabeled sentences."""
        from accord.learners.type_consistency import TypeConsistency

        usable = {k: v for k, v in of_items(self.project, truth).items() if None not in v}
        if len(usable) < 8:
            return None
        X = self.tokens([*usable, *unlabeled])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = TypeConsistency(self._learner(), strength=0.4, student=False, random_state=0)
            model.fit(X, [*usable.values(), *[None] * len(unlabeled)])
        return TokenModel(self, model, None, None, usable)


class TokenModel:
    """What labeled sentences have taught."""

    def __init__(self, live: LiveTokens, crf: Any, word: Any, around: Any, learned: Answers, is_whole: bool = True):
        self.live, self.crf, self.word, self.around, self.learned = live, crf, word, around, learned
        self.is_whole = is_whole  # learned from all answers at once; else the last ones came on top
        self.n_answers = len(learned)
        self.labels = list(crf.structure_.labels_)
        self.name = f"CRF, {_ITERATIONS} steps, from {self.n_answers:,} sentences"

    def propose(self, key: str) -> dict[str, Any]:
        return self.propose_item(self.live.project.items[self.live.project.place(key)])

    def propose_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """What the model thinks of a sentence that need not be an item of the project."""
        x = tokens_of(item)
        if not x:
            return {"labels": [], "confidence": [], "second": [], "unsure": []}
        (y,), (p,) = self.crf.predict([x]), self.crf.predict_marginals([x])
        order = np.argsort(-p, axis=1)
        at = [self.labels.index(label) for label in y]
        second = [int(row[0] if row[0] != k else row[1]) for row, k in zip(order, at)]
        votes = self._votes([x])[0]
        return {
            "labels": list(y),
            "confidence": [round(float(p[t, k]), 3) for t, k in enumerate(at)],
            "second": [[self.labels[k], round(float(p[t, k]), 3)] for t, k in enumerate(second)],
            "unsure": [t for t, (a, b) in enumerate(votes) if a != b and float(p[t].max()) < 0.9],
        }

    def rank(self, keys: list[str], n: int, rng: np.random.Generator) -> list[Question]:
        keys = self._readable(some(keys, 2 * POOL, rng)) or self._readable(keys)
        missing = self._missing()
        if not keys or missing == len(self.live.project.labels):  # a model that knows one label is never unsure
            return first_tokens(self.live, keys, n, rng)
        keys = some(keys, POOL, rng)
        X = self.live.tokens(keys)
        found = suggest(self.crf, X, n, random_state=rng)
        votes = dict(zip([one.index for one in found], self._votes([X[one.index] for one in found])))
        why = {one.index: self._why(X[one.index], votes[one.index], one.reason) for one in found}
        asked = [Question(keys[one.index], one.score, why[one.index], one.part) for one in found]
        return self._with_others(asked, keys, n, rng) if missing else asked

    def _readable(self, keys: list[str]) -> list[str]:
        """Those of some length, if there are any."""
        length = {key: len(self.live.project.items[self.live.project.place(key)]["places"]) for key in keys}
        return [key for key in keys if length[key] >= _SHORT] or [key for key in keys if length[key]]

    def _missing(self) -> int:
        """How many labels have no example yet."""
        seen = {tag for tags in self.learned.values() for tag in tags if tag is not None}
        names = {tag[2:] for tag in seen if tag != "O"} if self.live.project.spans else seen
        return sum(label not in names for label in self.live.project.labels)

    def _with_others(self, asked: list[Question], keys: list[str], n: int, rng: np.random.Generator) -> list[Question]:
        """Every third question is drawn at random while some label has no example: the model cannot look for it."""
        others = iter(first_questions(keys, n, rng, "some labels have no example yet; this one is drawn at random"))
        mixed = [one for k, question in enumerate(asked) for one in ([question] if k % 2 else [question, next(others)])]
        return list({question.key: question for question in mixed}.values())[:n]

    def _votes(self, X: list[list[str]]) -> list[list[tuple[str, str]]]:
        """What the word alone and its neighbours alone say about each token."""
        if self.word is None:
            return [[("", "")] * len(x) for x in X]
        pairs = zip(self.word.predict(X), self.around.predict(_around(X)))
        return [list(zip(a, b)) for a, b in pairs]

    def _why(self, x: list[str], votes: list[tuple[str, str]], reason: str) -> str:
        for t, (a, b) in enumerate(votes):
            if a[2:] != b[2:] and "O" not in (a, b):
                return (
                    f"two views disagree about “{x[t]}”: the word itself says {a[2:] or a}, its neighbours {b[2:] or b}"
                )
        return reason

    def judge(self, truth: Answers) -> list[Judged]:
        keys = [key for key in truth if self.live.project.place(key) >= 0]
        found = []
        for key, (y, sure) in zip(keys, self._told(keys)):
            given = truth[key]
            known = [t for t in range(len(y)) if given[t] is not None]
            labels = [(float(sure[t]), y[t] != given[t]) for t in known] if sure is not None else []
            found.append(Judged(key, sum(y[t] != given[t] for t in known), len(known), labels))
        return found

    def _told(self, keys: list[str]) -> list[tuple[list[str], np.ndarray | None]]:
        """Labels of sentences, and how probable they are if the model can tell."""
        X = self.live.tokens(keys)
        predicted = self.crf.predict(X)
        if not hasattr(self.crf, "predict_marginals"):
            return [(y, None) for y in predicted]
        at = {label: k for k, label in enumerate(self.labels)}
        marginals = self.crf.predict_marginals(X)
        return [(y, p[np.arange(len(y)), [at[label] for label in y]]) for y, p in zip(predicted, marginals)]

    def confidences(self, keys: list[str]) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(sure for _, sure in self._told(keys) if sure is not None)])


def _around(X: list[list[str]]) -> list[list[str]]:
    """Sentences for a view that must not see the word itself: each token is what stands on its two sides."""
    return [[f"{a}\u241f{b}" for a, b in zip(["^", *x[:-1]], [*x[1:], "$"])] for x in X]


def first_tokens(live: LiveTokens, keys: list[str], n: int, rng: np.random.Generator) -> list[Question]:
    """Sentences of middle length with capital letters inside: something to label is probable, and little to read."""
    pool = some(keys, POOL, rng)
    lengths = [len(live.project.items[live.project.place(key)]["places"]) for key in pool]
    usual = [key for key, m in zip(pool, lengths) if 4 <= m <= 30] or [k for k, m in zip(pool, lengths) if m] or pool
    return first_questions(usual, n, rng, "the first ones are drawn at random")
