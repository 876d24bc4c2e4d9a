"""Sparse matrices whose parts do not fit each other: built rightly and then changed, which SciPy does not notice."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from hostile import Table
from small_task import CLASSES, DENSE, fit, learner, predict, right

from accord import (
    CRF,
    HMM,
    RLSR,
    ArrayFeatures,
    CoPerceptron,
    CoRLSR,
    GraphFeatures,
    KernelFeatures,
    MultiClass,
    RandomSplit,
    Sequence,
    StructuredSVM,
)

TABLE = Table()
COMPRESSED = ("csr", "csc", "bsr")


def changed(kind: str, part: str, change: Any, where: int = 0) -> Any:
    """A matrix of this format with one number of one of its arrays changed, or with another array."""
    matrix = sp.csr_array(DENSE).asformat(kind)
    if part in ("row", "col"):
        array = matrix.coords[part == "col"].copy()
        array[where] = change
        matrix.coords = tuple(array if (k == 1) == (part == "col") else c for k, c in enumerate(matrix.coords))
        return matrix
    if callable(change):
        setattr(matrix, part, change(getattr(matrix, part)))
    else:
        array = getattr(matrix, part).copy()
        array[where] = change
        setattr(matrix, part, array)
    return matrix


INDEX, POINTERS = "is a sparse matrix with the index", "pointers do not fit its shape"
for kind in COMPRESSED:
    for use in (fit, predict):
        say = f"{kind} {use.__name__}"
        put = partial(changed, kind)
        for name, part, change, where, message in (
            ("index 10**9", "indices", 10**9, 1, INDEX),
            ("index just outside", "indices", 6, 1, INDEX),
            ("index -1", "indices", -1, 1, INDEX),
            ("index -2**31", "indices", -(2**31), 1, INDEX),
            ("pointers begin with 1", "indptr", 1, 0, POINTERS),
            ("pointers fall", "indptr", 0, 2, POINTERS),
            ("pointer negative", "indptr", -5, 1, POINTERS),
            ("last pointer too large", "indptr", 10**6, -1, POINTERS),
            ("pointers too few", "indptr", lambda a: a[:-1], 0, POINTERS),
            ("pointers none", "indptr", lambda a: a[:0], 0, POINTERS),
            ("indices too few", "indices", lambda a: a[:-3], 0, POINTERS),
            ("indices none", "indices", lambda a: a[:0], 0, POINTERS),
            ("data too few", "data", lambda a: a[:-3], 0, POINTERS),
            ("data nan", "data", np.nan, 0, "features must be finite"),
            ("data complex", "data", lambda a: a.astype(complex), 0, "type complex128"),
            ("indices of floats", "indices", lambda a: a + 0.5, 0, "whole numbers"),
            ("pointers of floats", "indptr", lambda a: a + 0.0, 0, "whole numbers"),
        ):
            if (kind == "csc" and name == "index just outside") or not (kind == "csr" or use is fit):
                continue
            TABLE.refused(f"{say}: {name}", message, lambda use=use, put=put, a=(part, change, where): use(put(*a)))

for part in ("row", "col"):
    for value in (10**9, -1, 6):
        TABLE.refused(f"coo {part} {value}", INDEX, lambda part=part, value=value: fit(changed("coo", part, value)))
TABLE.refused("coo data too few", "same length); build it again", lambda: fit(changed("coo", "data", lambda a: a[:-2])))


def _lil() -> Any:
    matrix = sp.csr_array(DENSE).tolil()
    matrix.rows[0] = [0, 10**9]
    return matrix


def _dok() -> Any:
    matrix = sp.csr_array(DENSE).todok()
    matrix._dict[(10**9, 0)] = 1.0
    return matrix


def _dia() -> Any:
    matrix = sp.csr_array(DENSE).todia()
    matrix.offsets = matrix.offsets + 10**6
    return matrix


TABLE.refused("lil with the column 10**9", INDEX, lambda: fit(_lil()))
TABLE.refused("dok with the row 10**9", "is a sparse matrix that is broken", lambda: fit(_dok()))
TABLE.answered("dia with offsets outside", lambda: fit(np.zeros((6, 4))), lambda: fit(_dia()))

# -- what is unusual but right ----------------------------------------------------------------------------------------
for kind in ("csr", "csc", "bsr", "coo", "lil", "dok", "dia"):
    TABLE.answered(f"{kind} as it is", right, lambda kind=kind: fit(sp.csr_array(DENSE).asformat(kind)))
    TABLE.answered(f"{kind} to predict", right, lambda kind=kind: predict(sp.csr_array(DENSE).asformat(kind)))


def _unsorted() -> Any:
    m = sp.csr_array(DENSE)
    for lo, hi in zip(m.indptr[:-1], m.indptr[1:]):
        m.indices[lo:hi], m.data[lo:hi] = m.indices[lo:hi][::-1].copy(), m.data[lo:hi][::-1].copy()
    m.has_sorted_indices = True  # which is a lie
    return m


def _twice() -> Any:
    row, column = DENSE.nonzero()
    value = DENSE[row, column] / 2
    return sp.coo_array((np.tile(value, 2), (np.tile(row, 2), np.tile(column, 2))), DENSE.shape)


def _csr_twice() -> Any:
    row, column = DENSE.nonzero()
    order = np.argsort(np.tile(row, 2), kind="stable")
    m = sp.csr_array(DENSE.shape)
    m.data, m.indices = np.tile(DENSE[row, column] / 2, 2)[order], np.tile(column, 2)[order].astype(np.int32)
    m.indptr = np.append(0, np.cumsum(2 * np.bincount(row))).astype(np.int32)
    m.has_canonical_format = True  # which is a lie
    return m


TABLE.answered("csr unsorted, said to be sorted", right, lambda: fit(_unsorted()))
TABLE.answered("csr unsorted to predict", right, lambda: predict(_unsorted()))
TABLE.answered("coo with every entry in two halves", right, lambda: fit(_twice()))
TABLE.answered("csr with every entry in two halves, said to be canonical", right, lambda: fit(_csr_twice()))
TABLE.answered("csr in two halves to predict", right, lambda: predict(_csr_twice()))
for kind in ("int8", "uint64", "float32", ">f8", "float16"):
    TABLE.answered(f"csr of {kind}", right, lambda kind=kind: fit(_of(kind)))


def _of(kind: str) -> Any:
    m = sp.csr_array(DENSE)
    m.data = m.data.astype(kind)
    return m


def _read_only() -> Any:
    m = sp.csr_array(DENSE)
    for array in (m.data, m.indices, m.indptr):
        array.flags.writeable = False
    return m


TABLE.answered("csr that is read-only", right, lambda: fit(_read_only()))
TABLE.answered("csr of truth values", lambda: fit((DENSE > 0) + 0.0), lambda: fit(sp.csr_array(DENSE > 0)))
TABLE.answered("csr with int64 indices", right, lambda: fit(changed("csr", "indices", lambda a: a.astype(np.int64))))
TABLE.answered("csr with uint8 indices", right, lambda: fit(changed("csr", "indices", lambda a: a.astype(np.uint8))))
TABLE.answered("csr with explicit zeros", right, lambda: fit(sp.csr_array(DENSE) + 0 * sp.csr_array(np.ones((6, 4)))))
TABLE.answered("csr_matrix, not csr_array", right, lambda: fit(sp.csr_matrix(DENSE)))
TABLE.refused(
    "sparse vector",
    "X[0] is a float64: cannot tell which features are meant",
    lambda: fit(sp.coo_array(np.arange(6.0))),
)
TABLE.refused("csr of no columns", "0 feature(s)", lambda: fit(sp.csr_array((6, 0))))
TABLE.refused("csr of no rows", "X has 0 inputs but Y has 6", lambda: fit(sp.csr_array((0, 4))))
TABLE.answered("csr of no rows to predict", [], lambda: predict(sp.csr_array((0, 4))))
TABLE.refused("csr with 2**40 columns to predict", "expecting 4", lambda: predict(sp.csr_array((6, 2**40))))
TABLE.refused("csr with 2**31 rows", "inputs but Y has 6", lambda: fit(sp.coo_array((2**31, 4))))

# -- all doors --------------------------------------------------------------------------------------------------------
NUMBERS = DENSE.sum(axis=1)


def bad(kind: str = "csr") -> Any:
    return changed(kind, "indices", 10**9, 1)


DOORS = {
    "CRF.fit": lambda: CRF(MultiClass()).fit(bad(), CLASSES),
    "CRF.partial_fit": lambda: CRF(MultiClass()).partial_fit(bad(), CLASSES),
    "CRF.partial_fit later": lambda: CRF(MultiClass()).partial_fit(DENSE, CLASSES).partial_fit(bad(), CLASSES),
    "CRF.predict_marginals": lambda: CRF(MultiClass()).fit(DENSE, CLASSES).predict_marginals(bad()),
    "StructuredSVM.fit": lambda: StructuredSVM(MultiClass()).fit(bad(), CLASSES),
    "HMM.fit": lambda: HMM(MultiClass(), emission="gaussian").fit(bad(), CLASSES),
    "CoPerceptron.fit": lambda: CoPerceptron(MultiClass(), views=RandomSplit()).fit(bad(), [*CLASSES[:5], None]),
    "predict_k_best": lambda: learner().fit(DENSE, CLASSES).predict_k_best(bad()),
    "decision_function": lambda: learner().fit(DENSE, CLASSES).decision_function(bad()),
    "score": lambda: learner().fit(DENSE, CLASSES).score(bad(), CLASSES),
    "RLSR.fit": lambda: RLSR().fit(bad(), NUMBERS),
    "RLSR.predict": lambda: RLSR().fit(DENSE, NUMBERS).predict(bad()),
    "CoRLSR.fit": lambda: CoRLSR().fit(bad(), NUMBERS),
    "CoRLSR.fit unlabeled": lambda: CoRLSR().fit(DENSE, NUMBERS, unlabeled=bad()),
    "KernelFeatures": lambda: StructuredSVM(MultiClass(), view=KernelFeatures(kernel="rbf")).fit(bad(), CLASSES),
    "KernelFeatures precomputed": lambda: StructuredSVM(MultiClass(), view=KernelFeatures(kernel="precomputed")).fit(
        _bad_square(), CLASSES
    ),
    "GraphFeatures": lambda: StructuredSVM(MultiClass(), view=GraphFeatures(n_neighbors=2)).fit(bad(), CLASSES),
    "ArrayFeatures.fit": lambda: ArrayFeatures().fit(bad()),
    "ArrayFeatures standardised": lambda: CRF(MultiClass(), view=ArrayFeatures(standardize=True)).fit(bad(), CLASSES),
    "sequences of sparse matrices": lambda: CRF(Sequence()).fit([sp.csr_array(DENSE), bad()], [CLASSES, CLASSES]),
}


def _bad_square() -> Any:
    m = sp.csr_array(np.eye(6))
    m.indices[2] = 10**9
    return m


for name, call in DOORS.items():
    TABLE.refused(f"index 10**9 by {name}", "sparse matrix with the index", call)
