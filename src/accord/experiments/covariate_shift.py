"""Training on news, testing elsewhere: do weights of training examples help when new inputs are distributed otherwise?

[thesis ch. 9 names covariate shift as future work]
"""

from __future__ import annotations

import gzip
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from accord.datasets import data_home, load
from accord.evaluation import Metric, Task, token_error, zero_one_loss
from accord.experiments.base import DataFolder, Experiment, grid
from accord.experiments.ordering import Claim
from accord.learners.crf import CRF
from accord.learners.inputs import take
from accord.learners.regression import RLSR
from accord.learners.shift import shift_weights
from accord.structures.chains.multiclass import MultiClass
from accord.structures.chains.sequence import Sequence
from accord.views.documents import TextFeatures
from accord.views.text import TokenFeatures

N_NEW, N_TEST = 1000, 1000  # unlabeled inputs of the new distribution, and others to test on
MAIN_LEAF = 0.9  # of the training posts about a subject are of one group
STEEPNESS = 2.0  # of the bias along the first principal component
PLAIN, RATIO, AUTO, TRUE, BOUND = "no weights", "ratio", "shift_weights", "true ratio", "labels of the new kind"
METHODS = (PLAIN, RATIO, AUTO, TRUE, BOUND)
ERROR = Metric("error", "error", None, False, True)
EFFECTIVE = Metric("effective", "examples that count", None, None, True)
AUC = Metric("auc", "area under the ROC curve", None, None, True)


@dataclass(frozen=True)
class Sample:
    """What a repetition draws: training inputs, as many of the new kind, a new sample, and others to test on."""

    train: np.ndarray
    bound: np.ndarray
    new: np.ndarray
    test: np.ndarray
    ratio: np.ndarray | None = None  # the true one of the training inputs, if it is known


class Source(ABC):
    """Inputs and outputs of two distributions, and a learner for them."""

    X: Any
    Y: Any
    n_train: int

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Sample:
        """One repetition."""

    @abstractmethod
    def error(self, sample: Sample, used: np.ndarray, weights: Any, seed: int) -> float:
        """After training on some inputs, with weights."""


@dataclass
class Tags(Source):
    """Parts of speech: news of the Wall Street Journal, and web pages, mails and reviews."""

    X: list[list[str]]
    Y: list[list[str]]
    n_news: int
    n_train: int = 150

    def draw(self, rng: np.random.Generator) -> Sample:
        news = rng.choice(self.n_news, self.n_train, replace=False)
        web = self.n_news + rng.choice(len(self.X) - self.n_news, N_NEW + N_TEST + self.n_train, replace=False)
        return Sample(news, web[N_NEW + N_TEST :], web[:N_NEW], web[N_NEW:][:N_TEST])

    def error(self, sample: Sample, used: np.ndarray, weights: Any, seed: int) -> float:
        model = CRF(Sequence(), TokenFeatures(window=1), C=10.0, random_state=seed)
        model.fit(take(self.X, used), take(self.Y, used), sample_weight=weights)
        return token_error(take(self.Y, sample.test), model.predict(take(self.X, sample.test)))


@dataclass
class Posts(Source):
    """Newsgroup posts about subjects, each of which has several groups; new posts are later ones, or of all groups."""

    X: list[str]
    Y: list[str]  # the subject
    leaves: np.ndarray
    later: np.ndarray
    by_date: bool
    n_train: int = 500

    def draw(self, rng: np.random.Generator) -> Sample:
        if self.by_date:
            new = rng.permutation(np.flatnonzero(self.later))
            train = rng.choice(np.flatnonzero(~self.later), self.n_train, replace=False)
            return Sample(train, new[N_NEW + N_TEST :][: self.n_train], new[:N_NEW], new[N_NEW:][:N_TEST])
        chance = np.ones(len(self.Y))
        Y = np.array(self.Y)
        for subject in np.unique(Y):
            leaves, sizes = np.unique(self.leaves[Y == subject], return_counts=True)
            k = rng.integers(leaves.size)
            if leaves.size > 1:
                main = self.leaves == leaves[k]
                share = sizes[k] / sizes.sum()
                chance[main] = MAIN_LEAF / share
                chance[(Y == subject) & ~main] = (1.0 - MAIN_LEAF) / (1.0 - share)
        return _biased(chance, self.n_train, rng)

    def error(self, sample: Sample, used: np.ndarray, weights: Any, seed: int) -> float:
        model = CRF(MultiClass(), TextFeatures(), C=10.0, random_state=seed)
        model.fit(take(self.X, used), take(self.Y, used), sample_weight=weights)
        return zero_one_loss(take(self.Y, sample.test), model.predict(take(self.X, sample.test)))


@dataclass
class Numbers(Source):
    """Numbers to predict; training inputs are drawn from one end of the first principal component."""

    X: np.ndarray
    Y: np.ndarray
    kernel: str
    n_train: int = 200

    def draw(self, rng: np.random.Generator) -> Sample:
        scaled = PCA(1, svd_solver="full").fit_transform(StandardScaler().fit_transform(self.X))[:, 0]
        place = (scaled - scaled.mean()) / scaled.std()
        return _biased(1.0 / (1.0 + np.exp(STEEPNESS * place)), self.n_train, rng)

    def error(self, sample: Sample, used: np.ndarray, weights: Any, seed: int) -> float:
        model = RLSR(kernel=self.kernel).fit(self.X[used], self.Y[used], sample_weight=weights)
        wrong = model.predict(self.X[sample.test]) - self.Y[sample.test]
        return float(np.sqrt(np.mean(wrong**2)) / self.Y[sample.test].std())


def _biased(chance: np.ndarray, n_train: int, rng: np.random.Generator) -> Sample:
    """Training inputs that are drawn with unequal chances; all others are drawn with equal ones."""
    train = rng.choice(chance.size, n_train, replace=False, p=chance / chance.sum())
    others = rng.permutation(np.setdiff1d(np.arange(chance.size), train))
    n_new = min(N_NEW, (others.size - n_train) // 2)
    test = others[n_train + n_new :][:N_TEST]
    return Sample(train, others[:n_train], others[n_train:][:n_new], test, 1.0 / chance[train])


def _tags(data: DataFolder) -> Tags:
    news = load("ptb_wsj_sample", data, extra=True)
    web = load("ud_english_ewt_pos", data, part="all", extra=True)
    return Tags([*news.X, *web.X], [*news.extra["tags"], *web.extra["pos"]], len(news.X))


def _posts(data: DataFolder, by_date: bool) -> Posts:
    with gzip.open(data_home(data) / "newsgroups20" / "newsgroups20.jsonl.gz", "rt", encoding="utf-8") as lines:
        posts = [json.loads(line) for line in lines]
    leaves = np.array([post["label"] for post in posts])
    later = np.array([post["split"] == "test" for post in posts])
    texts = [f"{post['subject']}\n{post['body']}" for post in posts]
    return Posts(texts, [leaf.split(".")[0] for leaf in leaves], leaves, later, by_date)


def _numbers(name: str, kernel: str) -> Callable[[DataFolder], Numbers]:
    def read(data: DataFolder) -> Numbers:
        found = load("regression", data, part=name)
        return Numbers(np.asarray(found.X, float), np.asarray(found.Y, float), kernel)

    return read


SOURCES: dict[str, Callable[[DataFolder], Source]] = {
    "tags: news to web": _tags,
    "posts: other groups": lambda data: _posts(data, by_date=False),
    "posts: later ones": lambda data: _posts(data, by_date=True),
    "abalone, linear": _numbers("abalone", "linear"),
    "abalone, rbf": _numbers("abalone", "rbf"),
    "airfoil, linear": _numbers("airfoil", "linear"),
    "airfoil, rbf": _numbers("airfoil", "rbf"),
}


class CovariateShift(Experiment):
    """Weights of training examples by the estimated ratio of densities."""

    name = "covariate-shift"
    title = "Trained here, tested elsewhere: weights of training examples"
    description = (
        f"Error on {N_TEST} inputs of a distribution that training examples are not drawn from; {N_NEW} others of it "
        "are known, without labels. Tags: parts of speech of 150 sentences of the Wall Street Journal, tested on "
        "English web texts; a linear-chain CRF, token error. Posts: subjects (seven) of 500 newsgroup posts; a "
        f"logistic regression, share of wrong ones. Of the training posts about a subject {100 * MAIN_LEAF:.0f} % are "
        "of one of its groups, drawn anew in each repetition, and new ones of all; or new ones are later, by date. "
        "Numbers: 200 training examples from one end of the first principal component; regularised least squares, "
        "linear or with RBF kernel, root mean squared error as a share of the standard deviation. 'Ratio' has the "
        "estimated ratio of densities as weights, 'shift_weights' what accord.shift_weights makes of it, 'true ratio' "
        "the one by which examples were drawn, if it is known. The last row is trained on as many labeled examples of "
        "the new distribution: what there is to gain."
    )
    data_sets = ("ptb_wsj_sample", "ud_english_ewt_pos", "newsgroups20", "regression")
    methods = METHODS
    repetitions = 20
    settings = grid(data=list(SOURCES))
    quick_settings = grid(data=["abalone, linear", "abalone, rbf"])
    metrics = (ERROR, EFFECTIVE, AUC)
    baseline = PLAIN
    claims = (
        Claim(AUTO, PLAIN, "our own question"),
        Claim(RATIO, PLAIN, "our own question"),
        Claim(TRUE, PLAIN, "our own question"),
        Claim(AUTO, RATIO, "what flattening the ratio does"),
        Claim(BOUND, PLAIN, "what there is to gain"),
    )

    def load(self, data: DataFolder, quick: bool, seed: int) -> dict[str, Source]:
        return {name: SOURCES[name](data) for name in self.values("data", quick)}

    def left_out(self, task: Task) -> bool:
        return task.method == TRUE and task.setting["data"] in ("tags: news to web", "posts: later ones")

    def run_task(self, task: Task, loaded: dict[str, Source]) -> Mapping[str, float]:
        source, seed = loaded[task.setting["data"]], task.repetition_seed
        sample = source.draw(np.random.default_rng(seed))
        used = sample.bound if task.method == BOUND else sample.train
        if task.method not in (RATIO, AUTO):
            weights = sample.ratio if task.method == TRUE else None
            return {"error": source.error(sample, used, weights, seed)}
        exponent = 1.0 if task.method == RATIO else "auto"
        found = shift_weights(take(source.X, used), take(source.X, sample.new), exponent=exponent, random_state=seed)
        error = source.error(sample, used, found, seed)
        return {"error": error, "effective": found.effective_size / used.size, "auc": found.auc}
