"""Merged features: the same scores, the same optimum, fewer weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from accord import CRF, DictFeatures, Sequence, StructuredSVM, TokenFeatures
from accord.datasets import embedded_ner
from accord.learners import crf, svm
from accord.packed.rows import Rows
from accord.views.tied import Tied, tie


@settings(max_examples=50)
@given(st.integers(0, 10_000))
def test_merged_rows_have_the_scores_of_the_original(seed):
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 2, size=(6, 8)) * rng.choice([1.0, 2.5], size=(6, 8))
    dense[:, rng.integers(8)] = dense[:, 0]
    rows = Rows.from_matrix(sp.csr_array(dense)).take(rng.permutation(6)[: rng.integers(1, 7)])
    tied = tie(rows)
    weights = rng.normal(size=(tied.rows.n_dims, 3))
    np.testing.assert_allclose(tied.rows.scores(weights), rows.scores(tied.untie(weights)), atol=1e-12)
    distinct = {tuple(column) for column in rows.matrix().toarray().T if column.any()}
    assert len(np.unique(tied.group[tied.scale > 0])) == len(distinct)


def test_windows_and_composed_views_can_be_merged():
    X, _ = embedded_ner(20, random_state=1)
    rows = TokenFeatures(window=(1, 2)).fit_rows(X)
    tied = tie(rows)
    assert tied.rows.n_dims < 0.6 * rows.n_dims
    weights = np.random.default_rng(0).normal(size=(tied.rows.n_dims, 2))
    np.testing.assert_allclose(tied.rows.scores(weights), rows.scores(tied.untie(weights)), atol=1e-10)


def test_dense_rows_are_left_alone():
    rows = Rows.from_matrix(np.ones((3, 2)))
    assert tie(rows).rows is rows


@pytest.mark.slow
@pytest.mark.parametrize("view", [TokenFeatures(window=1), DictFeatures()], ids=["tokens", "dicts"])
@pytest.mark.parametrize(
    ("module", "learner"),
    [
        (crf, CRF(Sequence(), tol=1e-9, max_iter=500)),
        (svm, StructuredSVM(Sequence(normalize=True), tol=1e-4, reoptimize="all", random_state=0)),
    ],
    ids=["crf", "svm"],
)
def test_merging_does_not_change_what_is_learned(monkeypatch, module, learner, view):
    X, Y = embedded_ner(6, random_state=2)
    if isinstance(view, DictFeatures):
        X = [[[f"w={token}", f"l={token.lower()}", token[:2]] for token in x] for x in X]
    learner.set_params(view=view)
    merged = learner.fit(X, Y).weights_
    objective = learner.objective_
    monkeypatch.setattr(module, "tie", Tied)
    plain = learner.fit(X, Y).weights_
    assert objective == pytest.approx(learner.objective_, rel=1e-6)
    np.testing.assert_allclose(merged.unary, plain.unary, atol=1e-5)
