"""The semi-supervised regressors of other libraries on one task: prints one line of JSON.

Runs in an old environment without Accord: it imports nothing but NumPy, the library and ``measure``.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings
from typing import Any

import measure


def mvlearn(X: Any, y: Any, n: int, second: Any, seed: int) -> Any:
    """Co-training of two nearest-neighbour regressors on two views."""
    import numpy as np
    from mvlearn.semi_supervised import CTRegressor
    from sklearn.neighbors import KNeighborsRegressor

    views = [X[:, second == k] for k in (0, 1)]
    hidden = np.where(np.arange(len(y)) < n, y, np.nan)
    model = CTRegressor(KNeighborsRegressor(n_neighbors=3), KNeighborsRegressor(n_neighbors=3), random_state=seed)
    return lambda: model.fit(views, hidden).predict([view[n:] for view in views])


def sslearn(X: Any, y: Any, n: int, second: Any, seed: int) -> Any:
    """The same idea with two metrics on all columns."""
    import numpy as np
    from sslearn.wrapper import CoReg

    hidden = np.where(np.arange(len(y)) < n, y, np.nan)
    model = CoReg(random_state=seed)
    return lambda: model.fit(X, hidden).predict(X[n:])


def lamda(X: Any, y: Any, n: int, second: Any, seed: int) -> Any:
    """The same with other defaults."""
    import numpy as np
    from LAMDA_SSL.Algorithm.Regression.CoReg import CoReg

    np.random.seed(seed)  # noqa: NPY002  (the library draws from the global generator)
    model = CoReg()
    return lambda: model.fit(X[:n], y[:n], X[n:]).predict(X[n:])


PEERS = {"mvlearn CTRegressor": mvlearn, "sslearn CoReg": sslearn, "LAMDA-SSL CoReg": lamda}


def main() -> None:
    """Fit and predict the unlabeled rows: rmse over their deviation, and processor seconds."""
    arguments = json.loads(sys.argv[2])
    measure.use_cores([arguments["core"]])
    warnings.simplefilter("ignore")
    import numpy as np

    with np.load(arguments["path"]) as task:
        X, y, second = task["X"], task["y"], task["second"]
        n, seed = int(task["n_labeled"]), int(task["seed"])
    with contextlib.redirect_stdout(io.StringIO()):
        work = PEERS[arguments["name"]](X, y, n, second, seed)
        start = time.process_time()
        predicted = np.ravel(work())
        seconds = time.process_time() - start
    error = float(np.sqrt(np.mean((predicted - y[n:]) ** 2)) / y[n:].std())
    print(json.dumps({"error": error, "seconds": seconds}))


if __name__ == "__main__":
    main()
