"""The similarity that a detector uses: a weight for each feature of a pair, a bias, and how common words are."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from accord.exceptions import InputError, ModelFileError
from accord.forms import NUMBER, Sizes, Unfit, array, fit, record
from accord.learners.clustering import ClusteringSVM
from accord.mail.features import NAMES, MailPairs
from accord.mail.signature import IDF_BUCKETS, flat_idf

DEFAULT_MODEL = "default_model.json"


class Similarity(NamedTuple):
    """sim(a, b) = bias + the weighted sum of the features of `MailPairs`."""

    weights: np.ndarray  # in the order of `accord.mail.features.NAMES`
    bias: float
    idf: np.ndarray


SIMILARITY = record("Similarity", weights=array("f8", len(NAMES)), bias=NUMBER, idf=array("f4", IDF_BUCKETS))


def same_similarity(a: Similarity, b: Similarity) -> bool:
    """Whether two detectors would decide alike."""
    return all(np.array_equal(np.asarray(one), np.asarray(other)) for one, other in zip(a, b))


def similarity_of(model: ClusteringSVM | Similarity | None) -> Similarity:
    """The similarity of a fitted ClusteringSVM with `MailPairs`, or the one that comes with Accord for None."""
    if model is None:
        return default_similarity()
    if isinstance(model, Similarity):
        return _checked(model)
    view = getattr(model, "pair_features_", None)
    if not isinstance(view, MailPairs):
        raise InputError(
            f"model is a {type(model).__name__}; expected a fitted ClusteringSVM(pair_features=MailPairs()), or None "
            "for the model that comes with Accord"
        )
    weights = np.asarray(model.weights_, dtype=np.float64).reshape(-1)
    if len(weights) not in (len(NAMES), len(NAMES) + 1):
        raise InputError(f"model.weights_ has {len(weights)} numbers, expected {len(NAMES)} and a bias")
    bias = float(weights[len(NAMES)]) if len(weights) > len(NAMES) else 0.0
    return _checked(Similarity(np.ascontiguousarray(weights[: len(NAMES)]), bias, view.idf_))


def _checked(similarity: Similarity) -> Similarity:
    try:
        fit(SIMILARITY, "model", similarity, Sizes(None, {}))
    except Unfit as error:
        raise InputError(f"{error}; train the model again") from error
    return similarity


def as_json(similarity: Similarity) -> dict[str, Any]:
    """Names and weights; of the word weights only those that are not 1."""
    common = np.flatnonzero(similarity.idf < 1)
    return {
        "bias": round(similarity.bias, 6),
        "weights": {name: round(float(w), 6) for name, w in zip(NAMES, similarity.weights)},
        "common_words": {str(int(k)): round(float(similarity.idf[k]), 3) for k in common},
    }


def from_json(content: dict[str, Any]) -> Similarity:
    """The opposite of `as_json`."""
    weights = content["weights"]
    if set(weights) != set(NAMES):
        odd = sorted(set(weights) ^ set(NAMES))
        raise ModelFileError(f"the weights of mails lack or have a feature too much: {odd[0]!r}; train them again")
    idf = flat_idf()
    for bucket, value in content["common_words"].items():
        idf[int(bucket)] = value
    return Similarity(np.array([weights[name] for name in NAMES], dtype=np.float64), float(content["bias"]), idf)


@lru_cache(maxsize=1)
def default_similarity() -> Similarity:
    """The similarity that comes with Accord, learned on generated mail by ``benchmarks/mail_default_model.py``."""
    return from_json(json.loads(files("accord.mail").joinpath(DEFAULT_MODEL).read_text(encoding="utf-8")))
