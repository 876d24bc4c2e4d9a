"""Models of the battery, fitted once."""

import pytest
from battery import make


@pytest.fixture(scope="session")
def fitted():
    """Fitted models by case, each fitted once."""
    found = {}

    def get(learner, task):
        if (learner, task) not in found:
            case = make(learner, task)
            case.model.fit(case.X, case.partly)
            found[learner, task] = case
        return found[learner, task]

    return get
