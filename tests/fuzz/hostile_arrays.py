"""Dense numbers that are no plain array of finite numbers: in odd layouts and containers, of odd types, too large."""

from __future__ import annotations

import array
import datetime
import decimal
import fractions
from typing import Any

import numpy as np
import pandas as pd
from hostile import Table
from small_task import CLASSES, DENSE, fit, learner, predict, right

from accord import (
    CRF,
    HMM,
    RLSR,
    ArrayFeatures,
    ClusteringSVM,
    CoRLSR,
    Embeddings,
    KernelFeatures,
    MultiClass,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
)

TABLE = Table()
NUMBERS = DENSE.sum(axis=1)


def with_cell(value: Any, kind: Any = float) -> np.ndarray:
    X = DENSE.astype(kind)
    X[2, 1] = value
    return X


# -- layouts ----------------------------------------------------------------------------------------------------------
def _read_only() -> np.ndarray:
    X = DENSE.copy()
    X.flags.writeable = False
    return X


LAYOUTS = {
    "Fortran order": lambda: np.asfortranarray(DENSE),
    "every second column of a wider one": lambda: np.repeat(DENSE, 2, axis=1)[:, ::2],
    "backwards in memory": lambda: DENSE[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": _read_only,
    "big-endian": lambda: DENSE.astype(">f8"),
    "of float32": lambda: DENSE.astype(np.float32),
    "of float16": lambda: DENSE.astype(np.float16),
    "of longdouble": lambda: DENSE.astype(np.longdouble),
    "of uint8": lambda: DENSE.astype(np.uint8),
    "of objects that are numbers": lambda: DENSE.astype(object),
    "of Fractions": lambda: np.array([[fractions.Fraction(int(v)) for v in row] for row in DENSE]),
    "of Decimals": lambda: np.array([[decimal.Decimal(int(v)) for v in row] for row in DENSE]),
    "a matrix": lambda: np.matrix(DENSE),
    "masked without a mask": lambda: np.ma.array(DENSE),
    "lists of lists": DENSE.tolist,
    "a tuple of tuples": lambda: tuple(map(tuple, DENSE.tolist())),
    "a list of rows": lambda: list(DENSE),
    "a list of memoryviews": lambda: [memoryview(row) for row in DENSE],
    "a DataFrame": lambda: pd.DataFrame(DENSE),
    "a DataFrame of nullable numbers": lambda: pd.DataFrame(DENSE).astype("Float64"),
}
for name, make in LAYOUTS.items():
    TABLE.answered(f"fit: {name}", right, lambda make=make: learner().fit(make(), CLASSES).predict(DENSE.tolist()))
    if "DataFrame" not in name:
        TABLE.answered(f"predict: {name}", right, lambda make=make: predict(make()))
PLAIN = ArrayFeatures(bias="one")  # how many values are zero matters for the scale of the bias
TABLE.answered(
    "denormals",
    lambda: CRF(MultiClass(), PLAIN).fit(DENSE, CLASSES).predict_marginals(DENSE),
    lambda: CRF(MultiClass(), PLAIN).fit(DENSE + 5e-324, CLASSES).predict_marginals(DENSE),
)
TABLE.answered("rows that are array.array", right, lambda: predict([array.array("d", row) for row in DENSE]))
TABLE.refused(
    "fit: rows that are array.array",
    "X[0] is a array: cannot tell which features are meant",
    lambda: fit([array.array("d", row) for row in DENSE]),
)

# -- values -----------------------------------------------------------------------------------------------------------
FINITE = "features must be finite"
for value in (np.nan, np.inf, -np.inf):
    TABLE.refused(f"fit: {value}", f"X[2, 1] is {value}; {FINITE}", lambda value=value: fit(with_cell(value)))
    TABLE.refused(f"predict: {value}", f"X[2, 1] is {value}; {FINITE}", lambda value=value: predict(with_cell(value)))
TABLE.refused("fit: float16 infinity", FINITE, lambda: fit(with_cell(np.inf, np.float16)))
TABLE.refused("fit: longdouble beyond floats", FINITE, lambda: fit(with_cell(np.longdouble("1e4000"), np.longdouble)))
TABLE.refused("fit: integers beyond floats", "X", lambda: fit(with_cell(10**400, object)))
TABLE.refused("fit: masked value", "masked", lambda: fit(np.ma.array(DENSE, mask=DENSE == 7)))
TABLE.refused("predict: masked value", "masked", lambda: predict(np.ma.array(DENSE, mask=DENSE == 7)))
TABLE.refused("fit: list of masked rows", "masked", lambda: fit(list(np.ma.array(DENSE, mask=DENSE == 7))))
TABLE.refused("fit: None in a row", "X", lambda: fit(with_cell(None, object)))
TABLE.refused("fit: pandas NA", "nan", lambda: fit(pd.DataFrame(DENSE).astype("Float64").mask(DENSE == 7)))
for kind in ("complex", "datetime64[s]", "timedelta64[s]", "S3", "U3", "V8"):
    TABLE.refused(
        f"fit: array of {kind}",
        "Complex data not supported" if kind == "complex" else "not a rectangular array of real numbers",
        lambda kind=kind: learner().set_params(view=ArrayFeatures()).fit(DENSE.astype(int).astype(kind), CLASSES),
    )
TABLE.refused("fit: structured array", "X", lambda: fit(np.zeros((6, 2), dtype=[("size", float), ("age", float)])))
TABLE.refused("fit: dates", "X", lambda: fit([[datetime.date(2000, 1, 1)]] * 6))
TABLE.refused("fit: array of one dimension", "X[0]", lambda: fit(NUMBERS))
TABLE.refused("fit: number", "X is a ndarray; expected a list of inputs", lambda: fit(np.array(3.0)))
TABLE.refused(
    "fit: array of four dimensions",
    "X[0] is an array of 3 dimensions",
    lambda: learner().set_params(view=ArrayFeatures()).fit(np.zeros((6, 2, 2, 2)), CLASSES),
)
TABLE.refused("fit: rows of matrices for classes", "one row per input", lambda: fit(np.zeros((6, 2, 4))))
TABLE.refused("fit: generator", "X is a generator", lambda: fit(row for row in DENSE))
TABLE.refused("predict: generator", "X is a generator", lambda: predict(row for row in DENSE))
TABLE.refused("predict: None", "X is a NoneType", lambda: predict(None))
TABLE.refused("predict: dict", "X", lambda: predict({"a": 1}))
TABLE.refused("predict: set", "X", lambda: predict({1.0, 2.0}))
TABLE.refused("predict: text", "X is a str", lambda: predict("abcd"))
TABLE.refused("predict: memoryview of the matrix", "X", lambda: predict(memoryview(DENSE)))


def _recursive() -> list[Any]:
    x: list[Any] = [1.0, 2.0, 3.0]
    x.append(x)
    return x


def _nested(depth: int) -> list[Any]:
    x: list[Any] = [1.0]
    for _ in range(depth):
        x = [x]
    return x


TABLE.refused("predict: recursive list", "X[0]", lambda: predict([_recursive()]))
TABLE.refused("fit: recursive list", "X[", lambda: learner().fit([[1.0, 2.0, 3.0, 4.0], _recursive()], ["a", "b"]))
TABLE.refused("predict: list of 3,000 lists in each other", "X[0]", lambda: predict([_nested(3000)]))
for width in (0, 1, 3, 5, 100_000):
    TABLE.refused(
        f"predict: {width} columns",
        f"X has {width} features, but Accord is expecting 4",
        lambda width=width: predict(np.zeros((2, width))),
    )
TABLE.answered("predict: no rows", [], lambda: predict(np.zeros((0, 4))))
TABLE.answered("predict: nothing", [], lambda: predict([]))
TABLE.refused("fit: no rows", "X is empty", lambda: learner().fit(np.zeros((0, 4)), []))
TABLE.refused("fit: no columns", "0 feature(s)", lambda: learner().fit(np.zeros((6, 0)), CLASSES))
TABLE.refused(
    "fit: a billion rows of one",
    "X has 1000000000 inputs but Y has 6",
    lambda: fit(np.broadcast_to(DENSE[0], (10**9, 4))),
)

# -- numbers that are too large to compute with -----------------------------------------------------------------------
for name, make in {
    "perceptron": lambda: StructuredPerceptron(MultiClass(), random_state=0),
    "CRF": lambda: CRF(MultiClass()),
    "SVM": lambda: StructuredSVM(MultiClass(), random_state=0),
    "HMM": lambda: HMM(MultiClass(), emission="gaussian"),
    "kernel": lambda: StructuredSVM(MultiClass(), view=KernelFeatures(kernel="rbf"), random_state=0),
    "standardised": lambda: CRF(MultiClass(), view=ArrayFeatures(standardize=True)),
}.items():
    TABLE.answered(f"{name}: 1e150", True, lambda make=make: _is_sane(make, 1e150))
    TABLE.answered(f"{name}: 1e308", True, lambda make=make: _is_sane(make, 1e308))


def _is_sane(make: Any, factor: float) -> bool:
    """Either an error that says what is wrong, or labels that there are."""
    try:
        found = make().fit(DENSE / 8 * factor, CLASSES).predict(DENSE / 8 * factor)
    except ValueError as error:
        return "large" in str(error) or "finite" in str(error) or "overflow" in str(error)
    return set(found) <= {"a", "b"}


# -- regression, clusters, vectors ------------------------------------------------------------------------------------
for name, y in {
    "text": ["a"] * 6,
    "nan": [*NUMBERS[:5], np.inf],
    "too few": NUMBERS[:5],
    "complex": NUMBERS + 1j,
    "objects": [object()] * 6,
    "three dimensions": np.zeros((6, 2, 2)),
    "no columns": np.zeros((6, 0)),
    "a dict": dict(enumerate(NUMBERS)),
    "None": None,
    "ragged": [[1.0], [1.0, 2.0], [1.0], [1.0], [1.0], [1.0]],
}.items():
    TABLE.refused(f"RLSR.fit: y is {name}", "y", lambda y=y: RLSR().fit(DENSE, y))
    TABLE.refused(f"CoRLSR.fit: y is {name}", "y", lambda y=y: CoRLSR().fit(DENSE, y))
TABLE.refused("RLSR.predict: 3 columns", "3 features", lambda: RLSR().fit(DENSE, NUMBERS).predict(DENSE[:, :3]))
TABLE.refused("RLSR.predict: nan", FINITE, lambda: RLSR().fit(DENSE, NUMBERS).predict(with_cell(np.nan)))
TABLE.refused(
    "CoRLSR: unlabeled of 3 columns", "3 columns", lambda: CoRLSR().fit(DENSE, NUMBERS, unlabeled=DENSE[:, :3])
)
TABLE.refused("CoRLSR: unlabeled nan", FINITE, lambda: CoRLSR().fit(DENSE, NUMBERS, unlabeled=with_cell(np.nan)))
TABLE.refused("ClusteringSVM: sets of text", "sets is a str", lambda: ClusteringSVM().fit("ab", [[0, 0]]))
TABLE.refused(
    "ClusteringSVM: infinite pairs", "finite", lambda: ClusteringSVM().fit([np.full((3, 3), np.inf)], [[0, 0, 1]])
)
TABLE.refused(
    "Embeddings: ragged vectors", "vectors", lambda: Embeddings({"a": [1.0], "b": [1.0, 2.0]}).fit([["a", "b"]])
)
TABLE.refused("Embeddings: nan", "vectors", lambda: Embeddings({"a": [1.0], "b": [np.nan]}).fit([["a", "b"]]))
TABLE.refused("Embeddings: text", "vectors", lambda: Embeddings({"a": "x"}).fit([["a", "b"]]))
TABLE.refused("Embeddings: none", "vectors", lambda: Embeddings({}).fit([["a", "b"]]))
TABLE.refused(
    "sequences of other widths",
    "X[1] has 3 columns but X[0] has 4",
    lambda: CRF(Sequence()).fit([DENSE, DENSE[:, :3]], [CLASSES, CLASSES]),
)
TABLE.answered(
    "a sequence without rows", [[]], lambda: CRF(Sequence()).fit([DENSE], [CLASSES]).predict([np.zeros((0, 4))])
)
