"""Does the default for classes choose well? It and a tuned supervised learner beside every way it chooses from."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import binom
from sklearn import datasets as bundled
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from accord.datasets import gaussian_clusters, load, two_moons
from accord.evaluation import Metric, Results, Task, draw
from accord.experiments.base import DataFolder, Experiment
from accord.experiments.ordering import LEVEL, Claim, Describe, claim_notes
from accord.learners.class_race import Entry, Tried, predicted
from accord.learners.class_views import NEIGHBOURS, RAW_NEIGHBOURS
from accord.learners.class_ways import CLUSTERS, LABELS, RIDGES, STUDENT
from accord.learners.classifier import Classifier

SECONDS = 5.0
CHOOSER, IN_TIME, SUPERVISED = "Classifier", f"Classifier, {SECONDS:g} s", "SVM or logistic regression, tuned"
ANYWHERE = (LABELS, *(f"{CLUSTERS}, ridge {ridge:g}" for ridge in RIDGES))
OF_TEXTS = (*ANYWHERE, STUDENT)
OF_ROWS = (*ANYWHERE, *(f"{view}: {way}" for view in ("kernel", NEIGHBOURS, RAW_NEIGHBOURS) for way in ANYWHERE))
FIXED = tuple(dict.fromkeys((*OF_TEXTS, *OF_ROWS)))
POOL = 700  # examples, labeled or not, that are drawn of larger sets
QUICK = 150
FEW, FOLDS = 20, 5  # up to so many labels, each of them is held out on its own
CS = (1.0, 10.0, 100.0, 0.1, 0.01)
CURVED_CS = (10.0, 100.0, 1.0)  # 1 is too small for some classes with one label, which are never predicted then
ALONE = (SUPERVISED, LABELS, f"kernel: {LABELS}")  # what learns from labels only
STRONGEST = "the best without unlabeled examples, by test labels"
SHARE, POINTS = 0.1, 0.01  # regret that is allowed: so much of what the best way gains, and this
TIME = Metric("seconds", "seconds of a fit", None, False)
EXPECTED = Metric("expected_error", "expected error", percent=True)
INSIDE = Metric("inside", "whether the interval of 90 % has the error", percent=True)
NEAR = 0.2  # of the error

BENCHMARK = ("COIL", "COIL2", "USPS", "g241c", "g241n", "Text")
BUNDLED: dict[str, Callable[[], Any]] = {
    "digits": bundled.load_digits,
    "wine": bundled.load_wine,
    "iris": bundled.load_iris,
    "breast cancer": bundled.load_breast_cancer,
}
GROUPS = ("comp", "rec", "sci", "talk")
PAGES = {"WebKB": "webkb_course", "Cora, words": "citation_cora", "CiteSeer, words": "citation_citeseer"}
GENERATED: dict[str, Callable[[], tuple[np.ndarray, list[str]]]] = {
    "moons": lambda: two_moons(POOL, 0.15, random_state=0),
    "clusters": lambda: gaussian_clusters(POOL, 6, 3, 5, 3.0, random_state=0),
}
TEXTS = ("Text", *GROUPS, *PAGES)
# Data set → numbers of labels
SETS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(BENCHMARK, (10, 100)),
    "digits": (20, 50, 100),
    "wine": (10, 20, 30),
    "iris": (10, 20, 30),
    "breast cancer": (10, 20, 50),
    **dict.fromkeys(GROUPS, (20, 40)),
    "WebKB": (12, 50),
    "Cora, words": (35, 140),
    "CiteSeer, words": (30, 120),
    **dict.fromkeys(GENERATED, (10, 20)),
}


@dataclass(frozen=True)
class Pool:
    """Examples with their classes; which are labeled in the splits that belong to the set, by how many."""

    X: np.ndarray | sp.csr_matrix
    y: np.ndarray
    splits: Mapping[int, np.ndarray] = field(default_factory=dict)

    def draw(self, n_labeled: int, repetition: int, seed: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Labeled examples, of every class some, and others that are not labeled."""
        if n_labeled in self.splits:
            labeled = np.asarray(self.splits[n_labeled][repetition])
        else:
            labeled = draw(self.y.tolist(), n_labeled, rng=seed, max_tries=10_000).labeled
        others = np.random.default_rng(seed).permutation(np.setdiff1d(np.arange(self.y.size), labeled))
        return labeled, others[: size - labeled.size]


@dataclass(frozen=True)
class Pools:
    """All data sets, how many examples are used of each, and what was found on the last draw."""

    of: dict[str, Pool]
    size: int
    found: dict[Any, dict[str, float]] = field(default_factory=dict)


class _EveryWay(Classifier):
    """The classifier that also predicts by each way that it could have chosen."""

    def _chosen(self, tried: list[Tried], entries: list[Entry]) -> tuple[Tried | None, Entry]:
        began = time.monotonic()
        self.every_ = {
            entry.name: predicted(entry.way.learn(entry.examples), entry.examples.hidden) for entry in entries
        }
        self.extra_seconds_ = time.monotonic() - began
        return super()._chosen(tried, entries)


def supervised(X: Any, y: np.ndarray, new: Any, seed: int) -> np.ndarray:
    """Classes of ``new`` by the machine that errs least on folds of the labels, the first of equals.

    It is logistic regression, a linear SVM or, for rows of numbers, an SVM with an RBF kernel. Numbers are standardized
    or as they are. With few labels most are equals, so what is usual comes first: linear machines, C = 1, larger ones.
    """
    split = label_folds(y, seed)
    forms = [(X, new)]
    linear: list[Any] = [LinearSVC(max_iter=200), LogisticRegression()]
    if not sp.issparse(X):
        scaler = StandardScaler().fit(X)
        forms.insert(0, (scaler.transform(X), scaler.transform(new)))
        linear.reverse()
    small = [_spanned(*form) for form in forms]
    tried = [(clone(model).set_params(C=C), form) for model in linear for form in small for C in CS]
    if not sp.issparse(X):
        tried += [(SVC(C=C), form) for form in forms for C in CURVED_CS]
    right = [cross_val_score(model, form[0], y, cv=split, error_score=0.0).mean() for model, form in tried]
    model, (rows, others) = tried[int(np.argmax(np.round(right, 9)))]
    return np.asarray(model.fit(rows, y).predict(others))


def label_folds(y: np.ndarray, seed: int) -> Any:
    """Folds of labels: few are held out one by one."""
    most = int(np.unique(y, return_counts=True)[1].max())
    if y.size <= FEW or most == 1:
        return LeaveOneOut()
    return StratifiedKFold(min(FOLDS, most), shuffle=True, random_state=seed)


def _spanned(X: Any, new: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same rows in the dimensions that those of X span, where all linear machines live; fits take less time."""
    if sp.issparse(X):
        used = np.unique(X.indices)
        X, new = X[:, used].toarray(), new[:, used]
    directions = np.linalg.svd(X, full_matrices=False)[2].T
    return X @ directions, new @ directions


class Chooser(Experiment):
    """The default for classes against what it chooses from, on many data sets."""

    name = "chooser"
    title = "Does the default for classes choose well?"
    description = (
        f"Error on the unlabeled examples, of which learners may see the features; of larger sets {POOL} random "
        "examples are used. The sets of the semi-supervised benchmark have its splits; elsewhere labeled examples are "
        "drawn at random until every class occurs. Texts are tf-idf rows of words; 'comp', 'rec', 'sci' and 'talk' are "
        "groups of 20 newsgroups. 'Classifier' chooses one of the ways below on held-out labels; "
        f"'{IN_TIME}' has a time budget. '{SUPERVISED}' is what errs least on held-out labels, each on its own if "
        f"there are up to {FEW}, else in {FOLDS} stratified folds: logistic regression, a linear SVM or, for rows of "
        "numbers, one with an RBF kernel, each with its C, of numbers that are standardized or as they are. All others "
        "are the ways, each fixed for all sets; a way that needs counts or numbers is only in these rows."
    )
    data_sets = ("ssl_book", "newsgroups20", "webkb_course", "citation_cora", "citation_citeseer")
    methods = (CHOOSER, IN_TIME, SUPERVISED, *FIXED)
    quick_methods = (CHOOSER, SUPERVISED, *ANYWHERE)
    repetitions = 6
    settings = tuple({"data": name, "n_labeled": n} for name, sizes in SETS.items() for n in sizes)
    quick_settings = ({"data": "iris", "n_labeled": 10}, {"data": "WebKB", "n_labeled": 12})
    metrics = ("zero_one_loss", TIME, EXPECTED, INSIDE)
    baseline = SUPERVISED
    claims = (Claim(CHOOSER, SUPERVISED, "ours: nowhere significantly higher"),)
    version = 3

    def left_out(self, task: Task) -> bool:
        ways = OF_TEXTS if task.setting["data"] in TEXTS else OF_ROWS
        return task.method in FIXED and task.method not in ways

    def load(self, data: DataFolder, quick: bool, seed: int) -> Pools:
        return Pools({name: pool_of(name, data) for name in self.values("data", quick)}, QUICK if quick else POOL)

    def run_task(self, task: Task, loaded: Pools) -> Mapping[str, float]:
        pool, n = loaded.of[task.setting["data"]], task.setting["n_labeled"]
        labeled, others = pool.draw(n, task.repetition, task.repetition_seed, loaded.size)
        seed, truth = task.repetition_seed % 2**31, pool.y[others]
        with warnings.catch_warnings(action="ignore"):  # solvers stop early; a fold may lack a class
            if task.method == SUPERVISED:
                classes = supervised(pool.X[labeled], pool.y[labeled], pool.X[others], seed)
                return {"zero_one_loss": float(np.mean(classes != truth))}
            both = np.append(labeled, others)
            X, Y = pool.X[both], [*pool.y[labeled], *[None] * others.size]
            if task.method == IN_TIME:
                found = _timed(Classifier(time_budget=SECONDS, random_state=seed), X, Y, truth)
                return {name: found[name] for name in ("zero_one_loss", "seconds")}
            key = task.setting["data"], n, task.repetition
            if key not in loaded.found:  # one fit for all ways
                loaded.found.clear()
                model = _EveryWay(random_state=seed)
                found = _timed(model, X, Y, truth)
                classes = np.asarray(model.structure_.labels_)
                errors = {name: float(np.mean(classes[k] != truth)) for name, k in model.every_.items()}
                found["seconds"] -= model.extra_seconds_
                loaded.found[key] = {**errors, **found}
        found = loaded.found[key]
        if task.method == CHOOSER:
            return {name: found[name] for name in ("zero_one_loss", "seconds", "expected_error", "inside")}
        return {"zero_one_loss": found[task.method]}

    def notes(self, results: Results) -> list[str]:
        means = [_means(results, setting) for setting in results.settings]
        means = [one for one in means if {CHOOSER, SUPERVISED} <= one.keys() and any(way in one for way in FIXED)]
        sentences = [_regret_note(means), *_way_notes(results, means)] if means else []
        sentences += _expected_note(results)
        times = [v for s in results.settings for v in results.values(IN_TIME, "seconds", s).values()]
        if times:
            sentences.append(
                f"With a budget of {SECONDS:g} seconds, the longest of {len(times)} fits took {max(times):.1f}."
            )
        return [*sentences, *super().notes(results), *_strongest_note(results, self.describe)]


def _timed(model: Classifier, X: Any, Y: list[Any], truth: np.ndarray) -> dict[str, float]:
    began = time.monotonic()
    model.fit(X, Y)
    seconds = time.monotonic() - began
    error, expected = float(np.mean(np.asarray(model.transduction_) != truth)), model.expected_error_
    inside = expected is not None and expected["low"] <= error <= expected["high"]
    figure = np.nan if expected is None else expected["error"]
    return {"zero_one_loss": error, "seconds": seconds, "expected_error": figure, "inside": float(inside)}


# -- data -------------------------------------------------------------------------------------------------------------
def pool_of(name: str, data: DataFolder) -> Pool:
    """All examples of a data set."""
    if name in GENERATED:
        X, y = GENERATED[name]()
        return Pool(X, np.array(y))
    if name in BUNDLED:
        found = BUNDLED[name]()
        return Pool(found.data, found.target.astype(str))
    if name in BENCHMARK:
        points = load("ssl_book", data, part=name, extra=True)
        X = sp.csr_matrix(points.X) if sp.issparse(points.X) else points.X
        return Pool(X, np.array(points.Y).astype(str), {n: points.extra[f"labeled_{n}"] for n in SETS[name]})
    texts = load(PAGES.get(name, "newsgroups20"), data)
    kept = [i for i, y in enumerate(texts.Y) if y is not None and (name in PAGES or str(y).startswith(name))]
    words = TfidfTransformer(sublinear_tf=True).fit_transform(sp.csr_matrix(texts.X)[kept])
    return Pool(sp.csr_matrix(words), np.array([str(texts.Y[i]) for i in kept]))


# -- what is said of it -----------------------------------------------------------------------------------------------
def _means(results: Results, setting: Mapping[str, Any]) -> dict[str, float]:
    """The mean error of each method, on the draws that all of them have."""
    values = {method: results.values(method, "zero_one_loss", setting) for method in results.methods}
    values = {method: found for method, found in values.items() if found}
    shared = set.intersection(*(set(found) for found in values.values())) if values else set()
    return {method: float(np.mean([found[k] for k in shared])) for method, found in values.items() if shared}


def _regret_note(means: list[dict[str, float]]) -> str:
    best = np.array([min(one[way] for way in FIXED if way in one) for one in means])
    chosen, tuned = (np.array([one[method] for one in means]) for method in (CHOOSER, SUPERVISED))
    allowed = SHARE * np.maximum(tuned - best, 0.0) + POINTS
    figures = [100 * float(values.mean()) for values in (chosen, tuned, best, chosen - best, allowed)]
    return (
        "{} settings, mean error in %: {} {:.2f}, {} {:.2f}, the best way by test labels {:.2f}. Mean regret {:.2f} "
        "points; a tenth of the best way's gain and a point are {:.2f}."
    ).format(len(means), CHOOSER, figures[0], SUPERVISED, *figures[1:])


def _expected_note(results: Results) -> list[str]:
    """How far the error is from the one that was expected, and how far chance alone would put it."""
    names = ("zero_one_loss", EXPECTED.name, INSIDE.name)
    found, chance = [], []
    for setting in results.settings:
        columns = [results.values(CHOOSER, name, setting) for name in names]
        rows = [[column[k] for column in columns] for k in columns[0] if all(k in column for column in columns)]
        found += rows
        chance += [_share_near(setting["n_labeled"], row[0]) for row in rows]
    if not found:
        return []
    error, expected, inside = np.array(found).T
    near = np.abs(expected - error) <= NEAR * error
    return [
        f"{CHOOSER} expects {100 * expected.mean():.1f} % errors, {100 * error.mean():.1f} % are made, {len(found)} "
        f"fits; within {NEAR:.0%} of the error in {near.mean():.0%}, where errors counted on as many new labels would "
        f"be in {np.mean(chance):.0%}; the interval of 90 % has it in {inside.mean():.0%}."
    ]


def _share_near(n: int, error: float) -> float:
    """How often the share of errors among n labels is near the error."""
    least, most = np.ceil(n * error * (1.0 - NEAR) - 1e-9), np.floor(n * error * (1.0 + NEAR) + 1e-9)
    return float(binom.cdf(most, n, error) - binom.cdf(least - 1, n, error))


def _strongest_note(results: Results, describe: Describe) -> list[str]:
    """The chooser beside what errs least of all that learns from labels only: a choice in favour of that."""
    rows = [row for row in results.rows if row["method"] == CHOOSER]
    for setting in results.settings:
        means = {method: mean for method, mean in _means(results, setting).items() if method in ALONE}
        if means:
            best = min(means, key=means.__getitem__)
            found = (row for row in results.rows if row["method"] == best and results.setting_of(row) == setting)
            rows += [{**row, "method": STRONGEST} for row in found]
    claim = Claim(CHOOSER, STRONGEST, f"of {', '.join(ALONE)}; a choice in favour of these")
    return claim_notes(Results(rows), [claim], "zero_one_loss", describe)


def _way_notes(results: Results, means: list[dict[str, float]]) -> list[str]:
    """The chooser beside each way that is fixed for all sets, in the settings that have it."""
    sentences = []
    for way in FIXED:
        both = [one for one in means if way in one]
        if not both:
            continue
        ours, fixed = (100 * float(np.mean([one[method] for one in both])) for method in (CHOOSER, way))
        tests = results.compare(way, "zero_one_loss", methods=[CHOOSER])
        clear = [c.test.difference for c in tests if c.p_adjusted < LEVEL]
        lower = sum(difference < 0 for difference in clear)
        sentences.append(
            f"Always '{way}', {len(both)} settings: {fixed:.2f} %, {CHOOSER} {ours:.2f} %, significantly lower in "
            f"{lower} and higher in {len(clear) - lower} of {len(tests)} (paired t test, Holm's correction)."
        )
    return sentences
