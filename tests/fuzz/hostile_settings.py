"""Parameters that make no sense, before ``fit`` and between ``fit`` and ``predict``."""

from __future__ import annotations

from typing import Any

import numpy as np
from hostile import Table

from accord import (
    CRF,
    HMM,
    RLSR,
    ClusteringSVM,
    CoPerceptron,
    CoRLSR,
    CoSVM,
    GradientSVM,
    GraphFeatures,
    KernelFeatures,
    MultiClass,
    Select,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    TokenFeatures,
    TransductiveSVM,
)

TABLE = Table()
X = [["Tom", "left", "Rome"], ["Ana", "saw", "Tom"], ["Eva", "left"]]
Y = [["P", "O", "L"], ["P", "O", "P"], ["P", "O"]]
DENSE, CLASSES = np.eye(6), ["a", "b"] * 3
NAN, INF = float("nan"), float("inf")


def fit(make: Any, **options: Any) -> Any:
    return make(Sequence(), **options).fit(X, Y)


for make, name, values in (
    (CRF, "C", (0, -1, NAN, INF, "1", None, [1.0], 1j)),
    (CRF, "max_iter", (0, -1, 1.5, "10", None, NAN)),
    (CRF, "tol", (-1.0, NAN, "small", None)),
    (CRF, "solver", ("newton", None, 3, ["lbfgs"])),
    (CRF, "n_jobs", (0, 1.5, "2", NAN, [1])),
    (CRF, "verbose", (-1, "yes", 1.5)),
    (StructuredPerceptron, "random_state", ("today", -1, 1.5, [None], {})),
    (StructuredPerceptron, "averaged", ("yes", 2, None)),
    (StructuredSVM, "rescaling", ("both", 1, None)),
    (StructuredSVM, "norm", (0, 3, "1", None, 1.5)),
    (HMM, "unlabeled_weight", (-1, NAN, INF, "1", 1j)),
    (CoPerceptron, "views", ("two", 3, {}, [None])),
    (CoSVM, "unlabeled_weight", (-1, NAN, "1")),
    (GradientSVM, "C", (0, NAN, "1")),
    (TransductiveSVM, "C", (0, NAN, "1")),
):
    for value in values:
        TABLE.refused(
            f"{make.__name__}({name}={value!r})",
            name,
            lambda make=make, name=name, value=value: fit(make, **{name: value}),
        )
for name, view, part in (
    ("a window of a float", TokenFeatures(window=1.5), "window"),
    ("a window backwards", TokenFeatures(window=(2, -2)), "window"),
    ("a window of nan", TokenFeatures(window=NAN), "window"),
    ("a class", TokenFeatures, "view"),
    ("text", "tokens", "view"),
    ("a number", 3, "view"),
    ("views that are none", {"a": None}, "view"),
    ("no views", {}, "view"),
):
    TABLE.refused(f"view is {name}", part, lambda view=view: fit(StructuredPerceptron, view=view))
for name, view, part in (
    ("a kernel that is none", KernelFeatures(kernel="quadratic"), "kernel"),
    ("gamma of nan", KernelFeatures(kernel="rbf", gamma=NAN), "gamma"),
    ("gamma below zero", KernelFeatures(kernel="rbf", gamma=-1.0), "gamma"),
    ("no neighbours", GraphFeatures(n_neighbors=0), "n_neighbors"),
    ("a column outside", Select([0, 99]), "99"),
    ("a kernel of other shapes", KernelFeatures(kernel=lambda a, b: np.zeros((1, 1))), "kernel"),
    ("a kernel of nan", KernelFeatures(kernel=lambda a, b: np.full((len(a), len(b)), NAN)), "kernel"),
    ("a kernel of text", KernelFeatures(kernel=lambda a, b: "x"), "kernel"),
):
    TABLE.refused(
        f"view has {name}",
        part,
        lambda view=view: StructuredSVM(MultiClass(), view=view, random_state=0).fit(DENSE, CLASSES),
    )
for name, structure, part in (
    ("a class", Sequence, "structure"),
    ("text", "sequence", "structure"),
    ("None", None, "structure"),
    ("a learner", CRF(Sequence()), "structure"),
    ("an order of 3", Sequence(order=3), "order"),
    ("an order of text", Sequence(order="1"), "order"),
    ("an order of True", Sequence(order=1.0), "order"),
    ("a loss that is none", Sequence(loss="square"), "loss"),
    ("constraints that are none", Sequence(constraints="iob9"), "constraints"),
    ("constraints of single labels", Sequence(constraints=["P"]), "constraints"),
    ("constraints of numbers", Sequence(constraints=7), "constraints"),
):
    TABLE.refused(
        f"structure is {name}",
        part,
        lambda structure=structure: StructuredPerceptron(structure, random_state=0).fit(X, Y),
    )
for name, loss in {
    "ragged": [[0, 1], [1]],
    "not square": [[0.0, 1.0]],
    "nan": [[0, NAN], [1, 0]],
    "negative": [[0, -1], [1, 0]],
    "of text": [["a", "b"], ["c", "d"]],
    "a diagonal": [[1, 1], [1, 1]],
    "infinite": [[0, INF], [1, 0]],
    "too large": np.ones((3, 3)) - np.eye(3),
    "three dimensions": np.zeros((2, 2, 2)),
}.items():
    TABLE.refused(
        f"costs are {name}",
        "loss",
        lambda loss=loss: StructuredSVM(MultiClass(loss=loss), random_state=0).fit(DENSE, CLASSES),
    )
for make, name, values in (
    (RLSR, "eta", (-1, NAN, "big", [1.0])),
    (RLSR, "kernel", ("none", 3)),
    (RLSR, "gamma", (-1, NAN, "x")),
    (RLSR, "standardize", ("rows", 3)),
    (CoRLSR, "disagreement_weight", (-1, NAN, "x", INF)),
    (CoRLSR, "views", ("two", 3)),
    (CoRLSR, "eta", (-1, NAN, "big")),
):
    for value in values:
        TABLE.refused(
            f"{make.__name__}({name}={value!r})",
            name,
            lambda make=make, name=name, value=value: make(**{name: value}).fit(DENSE, DENSE.sum(axis=1)),
        )
for name, values in {"C": (0, NAN, "1"), "method": ("x", None, 3), "decoder": ("x", 3), "loss": ("x", None)}.items():
    for value in values:
        TABLE.refused(
            f"ClusteringSVM({name}={value!r})",
            name,
            lambda name=name, value=value: ClusteringSVM(**{name: value}).fit([np.ones((3, 3))], [[0, 0, 1]]),
        )


TABLE.refused(
    "a kernel that raises",
    "division by zero",
    lambda: StructuredSVM(MultiClass(), view=KernelFeatures(kernel=lambda a, b: 1 / 0)).fit(DENSE, CLASSES),
    "ZeroDivisionError",
)
TABLE.answered(
    "a billion neighbours",
    6,
    lambda: len(StructuredSVM(MultiClass(), view=GraphFeatures(n_neighbors=10**9)).fit(DENSE, CLASSES).predict(DENSE)),
)


# -- threads ----------------------------------------------------------------------------------------------------------
def right() -> Any:
    return CRF(Sequence()).fit(X, Y).predict(X)


for n_jobs in (10**9, -1, -(10**9), 64):
    TABLE.answered(
        f"fit with n_jobs={n_jobs}", right, lambda n_jobs=n_jobs: CRF(Sequence(), n_jobs=n_jobs).fit(X, Y).predict(X)
    )
    TABLE.answered(
        f"predict with n_jobs={n_jobs}",
        right,
        lambda n_jobs=n_jobs: CRF(Sequence()).fit(X, Y).set_params(n_jobs=n_jobs).predict(X),
    )


# -- between fit and predict ------------------------------------------------------------------------------------------
def between(make: Any = CRF, **options: Any) -> Any:
    return make(Sequence()).fit(X, Y).set_params(**options).predict(X)


TABLE.answered("C of text after fit", right, lambda: between(C="nonsense"))
TABLE.answered("a structure of None after fit", right, lambda: between(structure=None))
TABLE.answered("another structure after fit", right, lambda: between(structure=MultiClass()))
TABLE.answered("a view of text after fit", right, lambda: between(view="nonsense"))
TABLE.answered("max_iter below zero after fit", right, lambda: between(max_iter=-7))
for value in (0, 1.5, "2", NAN, [1]):
    TABLE.refused(f"n_jobs={value!r} after fit", "n_jobs", lambda value=value: between(n_jobs=value))
TABLE.refused("a parameter that is none", "nonsense", lambda: between(nonsense=1), "ValueError")
TABLE.refused("predict_iter of chunks of 0", "chunk_size", lambda: list(CRF(Sequence()).fit(X, Y).predict_iter(X, 0)))
TABLE.refused(
    "predict_iter of chunks of text", "chunk_size", lambda: list(CRF(Sequence()).fit(X, Y).predict_iter(X, "9"))
)
