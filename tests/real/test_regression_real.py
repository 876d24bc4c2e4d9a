"""The regression sets and experiments on real data. Needs a local data folder; set ACCORD_DATA."""

import numpy as np
import pytest

from accord.datasets import available, load
from accord.experiments.base import mean_of
from accord.experiments.regression_data import SETS, load_sets

pytestmark = pytest.mark.slow


@pytest.fixture
def data(data_dir):
    if "regression" not in available(data_dir):
        pytest.skip("the data folder has no regression")
    return data_dir


def test_all_sets_follow_the_papers_rule(data):
    for name, examples in load_sets(data, list(SETS)).items():
        assert len(examples) >= 50, name
        assert set(examples.attribute) >= set(range(4)), name
        assert examples.X.shape == (len(examples.y), len(examples.attribute)), name
        assert np.isfinite(examples.X).all(), name
        assert np.isfinite(examples.y).all(), name
        assert np.ptp(examples.y) > 0, name


def test_nominal_attributes_have_several_columns(data):
    servo = load("regression", data, part="servo", extra=True)
    assert servo.X.shape == (167, 19)
    assert len(set(servo.extra["attribute"].tolist())) == 4
    assert set(np.unique(servo.X)) == {0.0, 1.0}


def test_donations_data(data_dir):
    if "kdd98_proxy" not in available(data_dir):
        pytest.skip("the data folder has no kdd98_proxy")
    people = load("kdd98_proxy", data_dir, extra=True)
    assert people.X.shape == (9686, 88)
    assert ((people.Y > 0).sum(), people.Y.max()) == (4843, 200.0)
    assert people.extra["columns"][-2:].tolist() == ["GiftAvgCard36 is missing", "DemAge is missing"]


def test_faithful(quick_run):
    results, report = quick_run("co-regression")
    for features in ("raw", "standardised"):
        for method in ("RLSR", "exact", "semi-parametric"):
            assert 0.05 < mean_of(results, method, "scaled_rmse", data="housing", features=features) < 0.3
    # a random split takes away what attributes say together: with sensible features it loses
    one, two = (mean_of(results, m, "scaled_rmse", data="housing", features="standardised") for m in ("RLSR", "exact"))
    assert one < two
    assert "The thesis: 54 on 32 sets" in report


def test_strong(quick_run):
    results, _ = quick_run("co-regression-strong")
    alone = mean_of(results, "RLSR", "scaled_rmse", data="housing")
    auto = mean_of(results, "coRLSR, auto", "scaled_rmse", data="housing")
    assert auto < 1.1 * alone


def test_donations(quick_run):
    results, report = quick_run("donations")
    assert all(0 < row["value"] for row in results.rows)
    assert "Table 4.2" in report


def test_federated_rounds(quick_run):
    results, _ = quick_run("federated-rounds")
    for mode in ("semiparametric", "exact"):
        for n_sites in (2, 3, 4, 5):
            fast, slow = (
                [row["value"] for row in results.where(method=m, metric="rounds", mode=mode, n_sites=n_sites).rows]
                for m in ("accelerated", "jacobi")
            )
            assert max(fast) <= 15
            assert max(fast) < min(slow)
