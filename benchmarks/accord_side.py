"""Accord's contestants: everything counts, from tokens to model and from tokens to labels."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from typing import Any

from measure import Clock, Task, accuracy_of, best, peak_memory_mb
from numba.core import event
from sklearn.base import clone

from accord import CRF, ArrayFeatures, Sequence, StructuredPerceptron, StructuredSVM, TokenFeatures
from accord.learners.base import StructuredLearner

C = 1.0
N_EPOCHS = 10
SVM_C = 0.1  # per wrong token; the other learners have no such number, or use C
_TINY_X = [["Ana", "vive", "en", "(", "Roma", ")", "."], ["Tom", "3.5"], ["x"]]
_TINY_Y = [["B", "O", "O", "O", "B", "O", "O"], ["B", "O"], ["O"]]


def perceptron(task: Task, options: Any) -> dict[str, Any]:
    """Averaged, as many passes as CRFsuite's; every repetition visits the sentences in another order."""
    model = StructuredPerceptron(Sequence(), view_of(task), max_iter=N_EPOCHS, random_state=options.seed)
    return _run(task, options, model)


def crf(task: Task, options: Any) -> dict[str, Any]:
    """L-BFGS as users run it."""
    model = TimedCRF(Sequence(), view_of(task), C=C, decode="viterbi")
    return {**_run(task, options, model), **model.report()}


def crf_to_the_end(task: Task, options: Any) -> dict[str, Any]:
    """L-BFGS with a tolerance that is small enough to pass wherever CRFsuite stops; its curve says when."""
    model = TimedCRF(Sequence(), view_of(task), C=C, tol=1e-8, max_iter=1000, decode="viterbi")
    return {**_run(task, options, model), **model.report()}


def svm(task: Task, options: Any) -> dict[str, Any]:
    """Block-coordinate Frank-Wolfe, Hamming loss counted in tokens."""
    model = StructuredSVM(
        Sequence(normalize=False),
        view_of(task),
        C=SVM_C,
        solver="frank-wolfe",
        tol=0.1,
        max_iter=50,
        random_state=options.seed,
    )
    result = _run(task, options, model)
    return {**result, "converged": model.converged_, "duality_gap": model.duality_gap_, "objective": model.objective_}


def tagging_with_two_cores(task: Task, options: Any) -> dict[str, Any]:
    """The same model tags the training text with one and with two threads, by turns."""
    model = StructuredPerceptron(Sequence(), view_of(task), max_iter=2, random_state=0)
    warm_up(task, model)
    X = inputs_of(task, task.X_train)
    model.fit(X, task.Y_train)
    clocks: dict[str, list[float]] = {"1": [], "2": []}
    labels = {}
    for _ in range(max(options.rounds, 3)):
        for n_jobs, seconds in clocks.items():
            model.n_jobs = int(n_jobs)
            start = time.perf_counter()
            labels[n_jobs] = model.predict(X)
            seconds.append(time.perf_counter() - start)
    if labels["1"] != labels["2"]:
        raise RuntimeError("the labels depend on n_jobs")
    seconds = {n: min(s) for n, s in clocks.items()}
    seconds["processes"] = _two_processes(model, X, max(options.rounds, 3))
    return {"tokens": sum(map(len, task.X_train)), "seconds": seconds}


def _two_processes(model: StructuredLearner, X: Any, rounds: int) -> float:
    """Seconds of two processes that share no lock and tag half of the text each: what this machine's cores can give."""
    context = multiprocessing.get_context("fork")
    together, results = context.Barrier(2), context.Queue()
    model.n_jobs = 1

    def tag(half: Any) -> None:
        best = float("inf")
        for _ in range(rounds):
            together.wait()
            start = time.perf_counter()
            model.predict(half)
            together.wait()
            best = min(best, time.perf_counter() - start)
        results.put(best)

    middle = len(X) // 2
    processes = [context.Process(target=tag, args=(half,)) for half in (X[:middle], X[middle:])]
    for process in processes:
        process.start()
    seconds = max(results.get() for _ in processes)
    for process in processes:
        process.join()
    return seconds


class TimedCRF(CRF):
    """A CRF that notes the processor time after every iteration (CRFsuite's log has the same)."""

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> TimedCRF:
        start = time.process_time()
        super().fit(X, Y, sample_weight)
        self.seconds_before_ = self._moments[0] - start
        return self

    def _progress(self, total: int, description: str) -> Any:
        self._moments = [time.process_time()]
        progress = super()._progress(total, description)
        progress.advance = lambda *args, **kwargs: self._moments.append(time.process_time())  # type: ignore[method-assign]
        return progress

    def report(self) -> dict[str, Any]:
        """``curve``: (processor seconds since the optimiser started, objective) after every iteration."""
        curve = [
            (round(t - self._moments[0], 3), round(value / self.C, 6))
            for t, value in zip(self._moments[1:], self.history_)
        ]
        return {"objective": self.objective_ / self.C, "curve": curve, "seconds_before": self.seconds_before_}


def view_of(task: Task) -> Any:
    """The features of all contestants."""
    return TokenFeatures(window=1) if task.is_text else ArrayFeatures()


def inputs_of(task: Task, X: list[Any]) -> list[Any]:
    """Tokens as they are, images as matrices."""
    if task.is_text:
        return X
    from prepare import images_as_arrays

    return images_as_arrays(X)


def learners(task: Task) -> list[StructuredLearner]:
    """One of each kind that is measured."""
    view, counted = view_of(task), Sequence(normalize=False)
    return [
        StructuredPerceptron(Sequence(), view),
        CRF(Sequence(), view, decode="viterbi"),
        StructuredSVM(counted, view, solver="frank-wolfe"),
    ]


def warm_up(task: Task, model: StructuredLearner) -> float:
    """Load the kernels of a learner (compile them, if the cache has none) on three sentences: seconds."""
    start = time.perf_counter()
    X, Y = (_TINY_X, _TINY_Y) if task.is_text else (inputs_of(task, task.X_train[:3]), task.Y_train[:3])
    new = [["Eva", "vive"], []] if task.is_text else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clone(model).set_params(max_iter=2).fit(X, Y).predict(new)
    return time.perf_counter() - start


def _run(task: Task, options: Any, model: StructuredLearner) -> dict[str, Any]:
    loading = warm_up(task, model)
    X_train, X_test = inputs_of(task, task.X_train), inputs_of(task, task.X_test)
    clock, rounds = Clock(), []
    before = peak_memory_mb()
    with event.install_recorder("numba:compile") as compiled, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with clock("raw"):
            model.fit(X_train, task.Y_train)
        train_memory = peak_memory_mb()
        for _ in range(options.rounds):
            tagging = Clock()
            with tagging("raw"):
                predicted = model.predict(X_test)
            rounds.append(tagging.sums())
    return {
        "train": clock.sums(),
        "tag": best(rounds),
        "first_tag": rounds[0],
        "memory": {"before": before, "train": train_memory, "all": peak_memory_mb()},
        "kernels": {"loading": loading, "compilations_while_measured": len(compiled.buffer)},
        "iterations": getattr(model, "n_iter_", None),
        **accuracy_of(task, predicted),
    }
