"""Parse trees: a grammar with probabilities, counted from the trees so far."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from accord.datasets.bracketing import bracketed
from accord.datasets.trees import as_tree, constituents
from accord.labeling.live.base import Answers, Judged, Question, of_items, some
from accord.labeling.project import Project, tokens_of
from accord.learners.pcfg import PCFG
from accord.structures.trees.tree import Tree

_BEST = 4  # trees to choose from
_POOL = 60  # sentences that are looked at for the next questions
_LONGEST = 40  # tokens; longer sentences are asked last


class LiveTrees:
    """Sentences with trees."""

    measure, is_share = "constituents", True

    def __init__(self, project: Project) -> None:
        self.project = project

    def candidates(self) -> list[str]:
        return self.project.keys

    def tokens(self, keys: list[str]) -> list[list[str]]:
        """The words of sentences."""
        return [tokens_of(self.project.items[self.project.place(key)]) for key in keys]

    def learn(self, truth: Answers, previous: Any = None) -> TreeModel | None:
        usable = of_items(self.project, truth)
        if not usable:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = PCFG(Tree(rare=1 if len(usable) > 50 else 0), unlabeled_weight=0.0)
            model.fit(self.tokens(list(usable)), list(usable.values()))
        return TreeModel(self, model, usable)

    def examples(self, truth: Answers) -> None:
        """Probabilities of brackets take longer than people wait."""

    def learn_more(self, truth: Answers, unlabeled: list[str]) -> None:
        """Inside-outside re-estimation seldom helps with few trees; it is not tried here."""


class TreeModel:
    """What trees have taught."""

    is_whole = True

    def __init__(self, live: LiveTrees, model: PCFG, learned: Answers) -> None:
        self.live, self.model, self.learned = live, model, learned
        self.n_answers = len(learned)
        self.name = f"probabilistic grammar, from {self.n_answers:,} trees"

    def propose(self, key: str) -> dict[str, Any]:
        (x,) = self.live.tokens([key])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.model.predict_k_best([x], _BEST)[0] or [(self.model.predict([x])[0], 0.0)]
        scores = np.array([score for _, score in found])
        p = np.exp(scores - scores.max())
        shown = [[bracketed(as_tree(tree)), round(float(q), 3)] for (tree, _), q in zip(found, p / p.sum())]
        return {"trees": shown}

    def rank(self, keys: list[str], n: int, rng: np.random.Generator) -> list[Question]:
        short = [k for k in keys if len(self.live.project.items[self.live.project.place(k)]["places"]) <= _LONGEST]
        pool = some(short or keys, _POOL, rng)
        found = []
        for key, x in zip(pool, self.live.tokens(pool)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                best = self.model.predict_k_best([x], 2)[0]
            if not best:
                found.append(Question(key, 1.0, "the grammar has no tree for it"))
                continue
            gap = best[0][1] - best[1][1] if len(best) > 1 else np.inf
            per_word = gap / max(len(x), 1)
            found.append(Question(key, float(1.0 / (1.0 + per_word)), "its two best trees are nearly as probable"))
        return sorted(found, key=lambda one: -one.score)[:n]

    def judge(self, truth: Answers) -> list[Judged]:
        keys = [key for key in truth if self.live.project.place(key) >= 0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = self.model.predict(self.live.tokens(keys)) if keys else []
        out = []
        for key, tree in zip(keys, predicted):
            mine, right = set(constituents(as_tree(tree))), set(constituents(as_tree(truth[key])))
            out.append(Judged(key, len(mine ^ right) / 2, (len(mine) + len(right)) / 2))
        return out

    def confidences(self, keys: list[str]) -> np.ndarray:
        return np.zeros(0)
