"""One way to turn ``random_state`` into a generator."""

from __future__ import annotations

from typing import Any

import numpy as np

from accord.exceptions import InputError


def generator(random_state: Any) -> np.random.Generator:
    """A NumPy generator from None, an int, a SeedSequence, a Generator, or scikit-learn's RandomState."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(f"random_state is {random_state!r}; expected None, an int or a generator") from error
