"""scikit-learn's own checks of estimators, for every learner of classes and of numbers."""

import warnings

import pytest
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, parametrize_with_checks

from accord import (
    CRF,
    HMM,
    RLSR,
    Classifier,
    CoPerceptron,
    CoRLSR,
    CoSVM,
    GradientCoSVM,
    GradientSVM,
    MultiClass,
    StructuredPerceptron,
    StructuredSVM,
    SumOfViews,
    TransductiveSVM,
)

SEED = {"random_state": 0}
FAST = [
    StructuredPerceptron(MultiClass(), **SEED),
    CRF(MultiClass(), **SEED),
    Classifier(**SEED),
    HMM(MultiClass(), emission="gaussian", **SEED),
    RLSR(),
    CoRLSR(**SEED),
    CoPerceptron(MultiClass(), **SEED),
    SumOfViews(StructuredPerceptron(MultiClass(), **SEED)),
]
# some checks have 80 points that nothing separates, far from the origin: machines need not come to rest there
SOON = {"max_iter": 30, **SEED}
SLOW = [
    StructuredSVM(MultiClass(), **SOON),
    CoSVM(MultiClass(), **SOON),
    GradientSVM(MultiClass(), **SOON),
    TransductiveSVM(MultiClass(), **SOON),
    GradientCoSVM(MultiClass(), **SOON),
]


@parametrize_with_checks(FAST)
def test_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(SLOW)
def test_checks_of_slower_learners(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [*FAST, *SLOW], ids=lambda e: type(e).__name__)
def test_names_of_columns(estimator):
    """A check that scikit-learn keeps for its own estimators."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_dataframe_column_names_consistency(type(estimator).__name__, estimator)
