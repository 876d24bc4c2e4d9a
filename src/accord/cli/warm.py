"""``accord warm``: compile all kernels ahead, so that nobody waits for it later."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import click

from accord.cli.program import debug_option, if_interrupted
from accord.cli.terminal import computing, is_quiet, note, quiet_option
from accord.registry import TABLE, find, learners_for

Job = tuple[str, Callable[[], object]]

_TREES = ["(S (NP (D the) (N dog)) (V barks))", "(S (NP (N dogs)) (V bark))", "(S (NP (D the) (N cats)) (V sleep))"]
_PARSED = [["the", "dog", "barks"], ["dogs", "bark"], ["the", "cats", "sleep"]]
_TAXONOMY = {"c0": "x", "c1": "x", "c2": "y", "x": "top", "y": "top"}
# Settings of structures and learners that have kernels of their own; all others are tried with their defaults.
_STRUCTURES: list[tuple[str, dict[str, Any]]] = [
    ("Sequence", {}),
    ("Sequence", {"loss": "f1", "constraints": "iob2"}),
    ("Sequence", {"order": 2}),
    ("MultiClass", {}),
    ("Taxonomy", {"taxonomy": _TAXONOMY}),
    ("Tree", {}),
]
_VARIANTS: list[tuple[str, str, dict[str, Any]]] = [
    ("Sequence", "StructuredPerceptron", {"averaged": False}),
    ("Sequence", "StructuredSVM", {"solver": "frank-wolfe"}),
    ("Sequence", "StructuredSVM", {"rescaling": "slack", "norm": 2, "reoptimize": "all"}),
    ("Sequence", "CRF", {"solver": "sgd", "max_iter": 2}),
    ("Sequence", "CoPerceptron", {"balance": True}),
    ("Sequence", "CoSVM", {"balance": True, "rescaling": "slack", "norm": 2}),
    ("Sequence", "GradientSVM", {"solver": "expansion"}),
    ("MultiClass", "CRF", {"solver": "sgd", "max_iter": 2}),
    ("MultiClass", "HMM", {"emission": "gaussian"}),
]
_QUICK = {"unlabeled_weight": 0.1, "strength": 1.0, "ramp": 1, "random_state": 0, "max_iter": 3}


@click.command(short_help="Compile all kernels ahead, so that later runs start at once.")
@quiet_option
@debug_option
def warm(quiet: bool) -> None:
    """Compile all kernels ahead, so that later runs start at once.

    Kernels are compiled when they are first used, which makes the first run of every command slow. They are kept beside
    the installed package (or in the user's cache, where that cannot be written) until Accord, Numba or the processor
    changes. A second run of this command takes seconds.

    \b
    Examples:
      accord warm
      accord warm --quiet
    """
    from accord.progress import Progress

    start = time.perf_counter()
    quietly = warnings.catch_warnings()
    with if_interrupted("what was compiled so far is kept"), computing(message="compiling kernels"), quietly:
        warnings.simplefilter("ignore")
        jobs = list(_jobs())
        with Progress(len(jobs), "warming up", not is_quiet()) as progress:
            for name, run in jobs:
                run()
                progress.advance(info=name)
    note(f"all kernels are compiled, {time.perf_counter() - start:.0f} s")


def _jobs() -> Iterator[Job]:
    """Small fits, with all that can be asked of them, that use every kernel."""
    for structure, of_structure in _STRUCTURES:
        for learner in learners_for(TABLE[structure].can):
            if not (learner == "HMM" and of_structure.get("order") == 2):
                yield f"{learner}({structure}())", partial(_fit, structure, of_structure, learner, {})
    for structure, learner, settings in _VARIANTS:
        yield f"{learner}({structure}())", partial(_fit, structure, {}, learner, settings)
    yield "views of words", _words
    yield "texts", _texts
    yield "unlikely scores", _unlikely
    yield "clusters", _clusters
    yield "records", _records
    yield "mail", _mail


def _data(structure: str) -> tuple[Any, list[Any]]:
    """Inputs and outputs, the last one unlabeled."""
    from accord.datasets import embedded_ner, gaussian_classes

    if structure == "Tree":
        return [*_PARSED, _PARSED[0]], [*_TREES, None]
    X, Y = embedded_ner(8, random_state=0) if structure == "Sequence" else gaussian_classes(12, random_state=0)
    names = {label: f"c{k}" for k, label in enumerate(dict.fromkeys(Y))} if structure == "Taxonomy" else {}
    return X, [*(names.get(y, y) if names else y for y in list(Y)[:-1]), None]


def _fit(structure: str, of_structure: dict[str, Any], name: str, settings: dict[str, Any]) -> None:
    X, Y = _data(structure)
    made = find(structure)(**of_structure)
    cls = find(name)
    takes = inspect.signature(cls).parameters
    quick = {key: value for key, value in _QUICK.items() if key in takes} | settings
    if "learner" in takes:  # what others are made of
        model = cls(find("CRF" if "words" in TABLE[name].needs else "StructuredPerceptron")(made), **quick)
    else:
        model = cls(made, **quick)
    if name == "HMM" and structure != "Sequence":
        model.emission = "gaussian"
    model.fit(X, Y)
    model.predict(X)
    for ask in ("predict_k_best", "predict_marginals"):
        if hasattr(model, ask):
            getattr(model, ask)(X)
    if structure == "Sequence":
        model.predict(X, given=[[None] * len(x) for x in X])
        hidden = [[None, *y[1:]] if y and len(y) > 1 else y for y in Y]
        if name in ("CRF", "CoSVM", "CoPerceptron", "StructuredPerceptron"):
            model.fit(X, hidden)


def _words() -> None:
    X, Y = _data("Sequence")
    X = [["(", *x[1:-1], ")"] for x in X]
    crf = find("CRF")
    small = {"n_components": 2, "min_count": 1, "random_state": 0}
    for view in (
        find("DistributionalFeatures")(n_classes=(2,), **small),
        find("CanonicalFeatures")(n_classes=2, **small),
        find("TokenFeatures")(window=2, ngrams=(2, 3), min_count=2),
    ):
        crf(find("Sequence")(), view=view, max_iter=2).fit(X, Y).predict(X * 40)  # many words are looked up by a kernel


def _texts() -> None:
    texts = ["the cat sat", "a dog ran", "the dog sat down", "a cat ran up"] * 3
    classes = ["a", "b"] * 5 + [None, None]
    find("Classifier")(random_state=0).fit(texts, classes).predict(texts)
    view = find("TextFeatures")(2, (2, 3), min_count=1)
    find("CRF")(find("MultiClass")(), view=view, max_iter=2).fit(texts[:10], classes[:10]).predict(texts)


def _unlikely() -> None:
    """Scores so far apart that probabilities are computed in log space."""
    import numpy as np

    for order in (1, 2):
        structure = find("Sequence")(order=order).fit([["a", "b"]])
        structure.marginals(structure.parts(np.diag([1000.0, -1000.0])))


def _clusters() -> None:
    import numpy as np

    pairs = np.random.default_rng(0).normal(size=(2, 6, 6, 3))
    sets = [one + one.swapaxes(0, 1) for one in pairs]
    partitions = [[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1]]
    for method in ("pairwise", "sequential", "compact", "iterative"):
        for decoder in ("agglomerative", "sequential", "lp", "exact"):
            find("ClusteringSVM")(method=method, decoder=decoder).fit(sets, partitions).predict(sets)


def _records() -> None:
    names = [f"john smith {i // 2}" for i in range(24)]
    rows = [{"name": n, "born": f"19{40 + i // 2}-03-04", "size": str(i // 2)} for i, n in enumerate(names)]
    ids = [i // 2 if i < 20 else None for i in range(24)]
    model = find("Deduplicator")(random_state=0).fit(rows, ids)
    model.index(rows, model.predict(rows)).assign(rows[:2])


def _mail() -> None:
    from accord.mail.generator import MailGenerator

    mails = list(MailGenerator(0).stream(12))
    raw = [mail.raw for mail in mails]
    detector = find("BatchDetector")(window=8)
    for one in raw:
        detector.assign(one)
    find("ClusteringSVM")(pair_features=find("MailPairs")()).fit([raw], [[mail.batch for mail in mails]]).predict([raw])
    find("CollectiveSpamFilter")(n_buckets=256).fit(raw, [i % 2 == 0 for i in range(12)]).decision_function(raw)
