"""Pairs of records: are both about the same thing? Logistic regression over comparisons, guided by a guess.

The guess is what a table says without any answers: candidate pairs are a mixture of two kinds
(:mod:`accord.dedupe.mixture`). Answers correct it: first where "the same" begins, and how sure to be of it, then what
each field and each comparison counts; how far these may lead away from the guess is learned from the answers, too
(:mod:`accord.labeling.live.corrections`). All of it is a sum of comparisons, so that the model is linear in them.
"""

from __future__ import annotations

from functools import cached_property
from heapq import heappop, heappush
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from accord.dedupe.column import MISSING
from accord.dedupe.compared import ComparedPairs
from accord.dedupe.decoding import average
from accord.dedupe.deduplicator import Deduplicator
from accord.dedupe.mixture import best_guess
from accord.dedupe.pairs import RecordPairs
from accord.kernels.partitions.condensed import pair_numbers
from accord.labeling.live.answered import hold_answers
from accord.labeling.live.base import Answers, Examples, Judged, Question, of_items
from accord.labeling.live.corrections import most_probable
from accord.labeling.project import BETWEEN, Project
from accord.learners.crf import CRF
from accord.structures.chains.multiclass import MultiClass

_CANDIDATES = 20  # that each record is compared with
_MOST = 200_000  # pairs that are looked at
MOST_GROUPED = 12  # records that people sort at once
_GROUPS = 50  # of these that are ready to be sorted
_ALL_PAIRS = 8  # records all of whose pairs are answers; of more, a chain of them
_LINKED = 0.1  # probability from which on records may be of one group
# Scales of changes of the bias, of the guess as a whole, of fields and of single comparisons that are tried
SCALES = [*product((2.0,), (0.1, 0.3), (0.3, 1.0), (0.1, 0.4, 1.5, 4.0))]


class LivePairs:
    """A table of records; questions are about those that are alike."""

    measure, is_share = "pairs", True

    def __init__(self, project: Project, fields: dict[str, str] | None = None) -> None:
        self.project = project
        self.records = [item["fields"] for item in project.items]
        self.view = RecordPairs(fields).fit([self.records])
        self.table = self.view.table(self.records)
        compared = ComparedPairs(self.table, _CANDIDATES)
        left, right = compared.candidates
        if left.size > _MOST:
            kept = np.sort(np.random.default_rng(0).choice(left.size, _MOST, replace=False))
            left, right = compared.candidates = left[kept], right[kept]
        self.left, self.right = left, right
        self.keys = [f"{project.keys[b]}{BETWEEN}{project.keys[a]}" for a, b in zip(left, right)]
        self._at = {key: k for k, key in enumerate(self.keys)}
        unknown, rng = np.full(left.size, np.nan), np.random.default_rng(0)
        self.guess = best_guess(self.view, compared, unknown, rng) if left.size else _no_guess(self.view)
        self.mixing = self._mixing()
        self.features = (compared.features(left, right) @ self.mixing).astype(np.float32)

    def _mixing(self) -> np.ndarray:
        """From comparisons (rows) to what is learned from (columns): the guess, one mean a field, each by itself."""
        names = [name.rpartition(": ") for name in self.view.names_]
        fields = list(self.view.fields_)
        mixing = np.zeros((len(names), 1 + len(fields) + len(names)))
        mixing[:, 0] = self.guess[0]
        for f, field in enumerate(fields):
            own = [k for k, (name, _, how) in enumerate(names) if name == field and _is_similarity(how)]
            mixing[own, 1 + f] = 1.0 / max(len(own), 1)
        mixing[np.arange(len(names)), 1 + len(fields) + np.arange(len(names))] = 1.0
        self.groups = np.repeat([1, 2, 3], [1, len(fields), len(names)])
        return mixing

    def candidates(self) -> list[str]:
        return self.keys

    def rows(self, keys: list[str]) -> np.ndarray:
        """Features of pairs, also of those that are no candidates."""
        known = [self._at.get(key, -1) for key in keys]
        if min(known, default=0) >= 0:
            return self.features[known]
        ends = [[self.project.place(part) for part in key.split(BETWEEN)] for key in keys]
        return self.table.compare(*np.array(ends).T[::-1]) @ self.mixing

    def learn(self, truth: Answers, previous: Any = None) -> PairModel | None:
        return PairModel(self, of_items(self.project, truth))

    def examples(self, truth: Answers) -> Examples | None:
        sure = {key: value for key, value in of_items(self.project, truth).items() if value != "unsure"}
        if len(set(sure.values())) < 2:
            return None
        return Examples(list(sure), self.rows(list(sure)), list(sure.values()), CRF(MultiClass(), C=1.0))

    def learn_more(self, truth: Answers, unlabeled: list[str]) -> None:
        """Unlabeled records are in the guess already."""


class PairModel:
    """What answers about pairs have taught."""

    is_whole = True

    def __init__(self, live: LivePairs, learned: Answers) -> None:
        self.live, self.learned = live, learned
        self.sure = {key: value for key, value in learned.items() if value != "unsure"}
        self.n_answers = len(learned)
        same = np.array([value == "same" for value in self.sure.values()], np.float64)
        self.is_taught = bool(0 < same.sum() < same.size)
        rows = live.rows(list(self.sure)).astype(np.float64)
        self.coefficients, self.bias, self.scales = corrected(rows, same, live.guess[1], live.groups)
        how = "logistic regression over comparisons" if self.sure else "a mixture of two kinds of pairs"
        self.name = f"{how}, from {self.n_answers:,} pairs"

    def probabilities(self, keys: list[str] | None = None) -> np.ndarray:
        """Of being the same; without keys, of all candidates."""
        rows = self.live.features if keys is None else self.live.rows(keys)
        return 1.0 / (1.0 + np.exp(-np.clip(rows @ self.coefficients + self.bias, -500, 500)))

    def deduplicator(self) -> Deduplicator:
        """The same model as one that clusters tables, is saved and explained."""
        model = Deduplicator({**self.live.view.fields_}, calibrate=False, self_training=False)
        model.view_, model.machines_ = self.live.view, []
        model.weights_, model.bias_ = self.live.mixing @ self.coefficients, self.bias
        model.slope_, model.n_calibration_, model.size_costs_ = 1.0, float(len(self.live.records)), np.zeros(1)
        model.self_trained_, model.held_out_f1_, model.interrupted_ = False, None, False
        model.linkage_, model.report_ = "average", None
        return model

    # -- clusters -----------------------------------------------------------------------------------------------
    def clusters(self, n_jobs: int | None = 1) -> list[int]:
        """Numbers for all records of the table; answers hold whatever the model thinks."""
        table, model = self.live.table, self.deduplicator()
        model.n_jobs = n_jobs
        weights, constant = model.pair_weights(), model.constant(len(table))
        return hold_answers(
            model.predict_table(table), *Closure(self.sure).numbers(self.live.project.keys),
            lambda left, right: table.scores(left, right, weights, n_jobs) + constant,
        ).tolist()  # fmt: skip

    @cached_property
    def groups(self) -> list[str]:
        """Three or more records that may belong together, joined to one key: around a pair in doubt, those most
        similar to it. Pairs most in doubt come first, and no record is in two groups."""
        p, follows, live = self.probabilities(), Closure(self.sure), self.live
        n, linked = len(live.records), p >= _LINKED
        graph = coo_array((p[linked], (live.left[linked], live.right[linked])), shape=(n, n))
        near = (graph + graph.T).tocsr()
        doubt = np.minimum(p, 1 - p)
        found: list[str] = []
        covered: set[int] = set()
        for k in np.argsort(-doubt, kind="stable")[: 100 * _GROUPS]:
            a, b = int(live.left[k]), int(live.right[k])
            if doubt[k] < _LINKED or len(found) == _GROUPS:
                break
            keys = live.project.keys
            if a in covered or b in covered or follows.answer(keys[a], keys[b]) is not None:
                continue
            records = _around(near, a, b, covered)
            if len(records) > 2:
                covered.update(records)
                found.append(BETWEEN.join(keys[one] for one in records))
        return found

    def sorted_into(self, keys: list[str]) -> list[int]:
        """Numbers of groups, by the mean of the log odds between them; answers hold whatever the model thinks."""
        follows = Closure(self.sure)
        j, i = pair_numbers(len(keys))
        pairs = [(keys[a], keys[b]) for a, b in zip(i, j)]
        p = np.clip(self.probabilities([BETWEEN.join(pair) for pair in pairs]), 1e-6, 1 - 1e-6)
        known = {"same": 1e3, "different": -1e3}
        odds = [known.get(follows.answer(*pair) or "", value) for pair, value in zip(pairs, np.log(p / (1 - p)))]
        names: dict[int, int] = {}
        return [names.setdefault(int(k), len(names)) for k in average(np.array(odds))]

    def propose(self, key: str) -> dict[str, Any]:
        p = float(self.probabilities([key])[0])
        return {"probability": round(p, 3), "why": self._reasons(key)}

    def _reasons(self, key: str) -> list[list[Any]]:
        """What each field says for and against, the most telling first."""
        live = self.live
        a, b = (live.project.place(part) for part in key.split(BETWEEN))
        weights = live.mixing @ self.coefficients
        added = (live.table.compare(np.array([b]), np.array([a]))[0] - self._halfway) * weights
        sums: dict[str, float] = {}
        for name, value in zip(live.view.names_, added):
            field = name.rpartition(": ")[0]
            sums[field] = sums.get(field, 0.0) + float(value)
        return [[f, round(v, 2)] for f, v in sorted(sums.items(), key=lambda one: -abs(one[1])) if abs(v) > 0.005]

    @cached_property
    def _halfway(self) -> np.ndarray:
        """Comparisons halfway between those of pairs that are the same and of others: they speak for neither."""
        p, compared = self.probabilities(), self.live.features[:, -len(self.live.view.names_) :]
        # not in double precision, for which all features would be copied after every answer
        kinds = [share.astype(np.float32) @ compared / max(float(share.sum()), 1e-9) for share in (p, 1.0 - p)]
        return np.asarray(sum(kinds) / 2, np.float64)

    def rank(self, keys: list[str], n: int, rng: np.random.Generator) -> list[Question]:
        """Pairs between same and different, of as many records as possible; none whose answer follows from others."""
        open_keys = set(keys)
        p, follows = self.probabilities(), Closure(self.sure)
        doubt = np.minimum(p, 1 - p) + 1e-6 * rng.random(p.size)
        chosen: list[Question] = []
        used: dict[str, int] = {}
        for k in np.argsort(-doubt, kind="stable")[: 50 * n + 200]:
            key = self.live.keys[int(k)]
            a, b = key.split(BETWEEN)
            if key not in open_keys or follows.answer(a, b) is not None or max(used.get(a, 0), used.get(b, 0)) > 1:
                continue
            used[a], used[b] = used.get(a, 0) + 1, used.get(b, 0) + 1
            chosen.append(Question(key, float(doubt[k]), self._why(float(p[k]))))
            if len(chosen) == n:
                break
        return chosen

    def _why(self, p: float) -> str:
        if not self.is_taught:
            return "their fields are about as similar as those of a pair that may be either"
        return f"the answers so far make it {100 * p:.0f} % probable that they are the same"

    def judge(self, truth: Answers) -> list[Judged]:
        sure = {k: v for k, v in truth.items() if v != "unsure" and self.live.project.item(k) is not None}
        if not sure:
            return []
        out = []
        for (key, given), p in zip(sure.items(), self.probabilities(list(sure))):
            best = "same" if p > 0.5 else "different"
            out.append(Judged(key, float(best != given), 1.0))
        return out

    def confidences(self, keys: list[str]) -> np.ndarray:
        """Few pairs of a table are the same: what counts is :attr:`expected_f1`."""
        return np.zeros(0)

    @cached_property
    def expected_f1(self) -> float | None:
        """F1 of matches among all candidates, as the probabilities have it."""
        if not self.is_taught:
            return None
        p = self.probabilities()
        right, wrong, missed = p[p > 0.5].sum(), (1 - p[p > 0.5]).sum(), p[p <= 0.5].sum()
        return float(2 * right / max(2 * right + wrong + missed, 1e-9))


def corrected(
    rows: np.ndarray, same: np.ndarray, bias: float, groups: np.ndarray
) -> tuple[np.ndarray, float, tuple[float, ...]]:
    """Coefficients, bias and scales of logistic regression that is drawn towards a guess: the first column alone, and
    a bias. How far each group of coefficients may lead away from it is what makes the answers most probable.
    """
    design = np.column_stack([np.ones(len(rows)), rows])
    start = rows[:, 0] + bias
    change, scales = most_probable(design, 2.0 * same - 1.0, start, np.append(0, groups), SCALES)
    coefficients = change[1:]
    coefficients[0] += 1.0
    return coefficients, float(bias + change[0]), scales


def _no_guess(view: RecordPairs) -> tuple[np.ndarray, float]:
    return np.zeros(len(view.names_)), 0.0


def _around(near: Any, a: int, b: int, covered: set[int]) -> list[int]:
    """Two records and those that are linked to them most probably, step by step, as many as people sort."""
    records: set[int] = set()
    waiting = [(-1.0, a), (-1.0, b)]
    while waiting and len(records) < MOST_GROUPED:
        _, one = heappop(waiting)
        if one not in records:
            records.add(one)
            around = slice(near.indptr[one], near.indptr[one + 1])
            for p, other in zip(near.data[around].tolist(), near.indices[around].tolist()):
                if other not in records and other not in covered:
                    heappush(waiting, (-p, other))
    return sorted(records)


def pairs_of(keys: list[str], group: dict[str, int]) -> dict[str, str]:
    """Answers about pairs that say which of some records are the same: all of them of a few records; of many, those
    from which the others follow."""
    pairs = [*combinations(keys, 2)]
    if len(keys) > _ALL_PAIRS:
        own = {number: [key for key in keys if group[key] == number] for number in dict.fromkeys(map(group.get, keys))}
        heads = combinations(sorted((some[0] for some in own.values()), key=keys.index), 2)
        pairs = [*(pair for some in own.values() for pair in pairwise(some)), *heads]
    return {BETWEEN.join(pair): "same" if group[pair[0]] == group[pair[1]] else "different" for pair in pairs}


class Closure:
    """What follows from answers: the same as the same is the same, and different from what that is different from."""

    def __init__(self, answers: Answers) -> None:
        self._up: dict[str, str] = {}
        for key, value in answers.items():
            if value == "same":
                a, b = map(self._root, key.split(BETWEEN))
                self._up[a] = b
        apart = (map(self._root, key.split(BETWEEN)) for key, value in answers.items() if value == "different")
        self._apart = {frozenset(pair) for pair in apart}

    def _root(self, one: str) -> str:
        way = [one]
        while (up := self._up.get(way[-1], way[-1])) != way[-1]:
            way.append(up)
        for node in way[:-1]:
            self._up[node] = way[-1]
        return way[-1]

    def answer(self, a: str, b: str) -> str | None:
        """The answer that follows, or None."""
        first, second = self._root(a), self._root(b)
        if first == second:
            return "same"
        return "different" if frozenset((first, second)) in self._apart else None

    def clusters(self, keys: list[str]) -> list[str]:
        """For every record the one that stands for all that are the same."""
        return [self._root(key) for key in keys]

    def numbers(self, keys: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """For every record a number, equal for those that are the same; and rows of two numbers that are different."""
        roots = self.clusters(keys)
        number = {root: k for k, root in enumerate(dict.fromkeys(roots))}
        pairs = ([number.get(root) for root in pair] for pair in self._apart if len(pair) == 2)
        apart = [pair for pair in pairs if None not in pair]
        return np.array([number[root] for root in roots]), np.array(apart, np.int64).reshape(-1, 2)


def _is_similarity(how: str) -> bool:
    return how not in MISSING and not how.startswith(("numbers differ", "equal and rare"))
