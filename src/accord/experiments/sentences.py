"""Sentences with labels, of which few are drawn as labeled ones: the pools and features of the papers' experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from accord.datasets import load
from accord.evaluation import Draw, Published, draw, tune
from accord.evaluation.protocol import take
from accord.experiments.base import DataFolder
from accord.learners.generative import HMM
from accord.structures.chains.sequence import Sequence as Chain
from accord.views.base import View
from accord.views.text import TokenFeatures

SPANISH, GENES, GENES_IOB = "Spanish", "genes", "genes, IOB"
DATA_SETS = ("conll2002_esp", "bc2gm")
SMOOTHING = (0.01, 0.1, 1.0)  # the HMM's pseudo-counts to choose from


def spanish_features() -> TokenFeatures:
    """Thesis, Table 5.4: a token and its surface clues, and its neighbours'; first in the sentence, in brackets."""
    return TokenFeatures(window=1, lower=False, affixes=None, shape=False)


def gene_features() -> TokenFeatures:
    """Thesis, Table 5.3: a token, its letter 2-, 3- and 4-grams and its surface clues, in a window of five tokens."""
    return TokenFeatures(window=2, lower=False, affixes=None, ngrams=(2, 3, 4), shape=False, position=False)


def chain_of(Y: Sequence[Sequence[str]], **settings: Any) -> Chain:
    """A structure that declares the labels, since a few sentences do not have them all."""
    return Chain(labels=sorted({label for y in Y for label in y}), **settings)


@dataclass(frozen=True)
class Pool:
    """Sentences to draw from."""

    X: list[list[str]]
    Y: list[list[str]]
    features: Callable[[], View]
    n_holdout: int

    @property
    def structure(self) -> Chain:
        """Losses are numbers of tokens."""
        return chain_of(self.Y, normalize=False)

    def draw(self, n_labeled: int, n_unlabeled: int, seed: int) -> Draw:
        """Sentences that have every label, and others; with one seed, fewer unlabeled ones are the first of more."""
        return draw(self.Y, n_labeled, n_unlabeled, self.n_holdout, seed, max_tries=100_000)


def load_pools(data: DataFolder, seed: int) -> dict[str, Pool]:
    """Spanish sentences of middling length, and sentences about genes: as many as the papers have."""
    rng = np.random.default_rng(seed)
    spanish = load("conll2002_esp", data)
    middling = [i for i, x in enumerate(spanish.X) if 10 <= len(x) <= 40]
    chosen = rng.choice(middling, min(3100, len(middling)), replace=False)
    genes = [load("bc2gm", data, part=part) for part in ("train", "devel")]
    sentences = [pair for part in genes for pair in zip(part.X, part.Y) if pair[0]]
    # as many as task 1A of the first BioCreative had
    picked = [sentences[i] for i in rng.choice(len(sentences), 7500, replace=False)]
    X, iob = [x for x, _ in picked], [y for _, y in picked]
    binary = [["O" if label == "O" else "GENE" for label in y] for y in iob]
    return {
        SPANISH: Pool(take(spanish.X, chosen), take(spanish.Y, chosen), spanish_features, 300),
        GENES: Pool(X, binary, gene_features, 500),
        GENES_IOB: Pool(X, iob, gene_features, 500),
    }


def best_smoothing(hmm: HMM, X: Any, Y: Sequence[Any], seed: int) -> float:
    """The pseudo-count that does best on folds of the labeled sentences."""
    return tune(hmm, {"smoothing": SMOOTHING}, X, Y, random_state=seed).best_params["smoothing"]


def hmm_figures(setting_of: Callable[[int], Mapping[str, Any]]) -> tuple[Published, ...]:
    """The papers' token errors of the HMM; `setting_of` says which setting has so many labeled sentences."""
    figures = {
        SPANISH: ("multiview_sequential and thesis, Spanish news wire", (0.2359, 0.2004, 0.1531)),
        GENES: ("multiview_sequential and thesis, BioCreative", (0.1798, 0.1431, 0.1231)),
    }
    return tuple(
        Published("HMM", "token_error", value, {"data": data, **setting_of(n)}, source=source)
        for data, (source, values) in figures.items()
        for n, value in zip((5, 10, 20), values)
    )
