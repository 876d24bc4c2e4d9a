"""Where Accord's time goes: processor seconds spent in each stage of training and tagging, on one prepared set.

``python benchmarks/stages.py --work DIR`` prints a table for the perceptron, the CRF (a few iterations) and tagging;
DIR is the work folder of ``prepare.py`` or of ``run.py --work DIR``. A stage's time excludes the stages it calls.
Compiled kernels are stages of their own, which a profiler for Python code would not show.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import measure

# "module:function" or "module:Class.method"; a function is patched where it is called from
_PATHS = """
accord.learners.base:StructuredLearner._prepare
accord.learners.base:StructuredLearner.predict
accord.learners.base:_predict_chunk
accord.structures.chains.chain:raise_infeasible
accord.learners.inputs:check_outputs
accord.learners.inputs:check_rows
accord.structures.chains.sequence:Sequence.fit
accord.structures.chains.chain:ChainStructure.encode
accord.structures.chains.chain:ChainStructure.chain
accord.structures.chains.chain:ChainStructure.outputs
accord.structures.chains.problem:ChainProblem.__init__
accord.structures.chains.problem:ChainProblem.log_likelihood
accord.solvers.perceptron:start
accord.solvers.perceptron:PerceptronState.average
accord.solvers.gradient:objective
accord.solvers.gradient:minimise
accord.solvers.gradient:_two_loop
accord.learners.crf:tie
accord.views.text:TokenFeatures.fit_rows
accord.views.text:TokenFeatures.transform
accord.views.text:TokenFeatures._grow
accord.views.text:TokenFeatures._rows
accord.views.text:TokenFeatures._look_up
accord.views.text:TokenFeatures._type_index
accord.views.text:TokenFeatures._hashes
accord.views.text:TokenFeatures._add_columns
accord.views.text:flatten_tokens
accord.views.text:distinct_tokens
accord.views.text:emit
accord.views.text:mark_roles
accord.views.text:_with_rows_of_ones
accord.views.templates:pack
accord.packed.rows:Rows.take
accord.packed.rows:Rows.scores
accord.packed.rows:Rows.transpose_scores
accord.kernels.features.text:emit
accord.kernels.features.hashing:number
accord.kernels.features.windows:window_slots
accord.kernels.features.windows:position_units
accord.kernels.features.sparse:score_units
accord.kernels.features.sparse:add_units
accord.kernels.features.sparse:gather
accord.kernels.features.sparse:scatter
accord.kernels.chains.online:perceptron_epoch
accord.kernels.chains.viterbi:viterbi_batch
accord.kernels.chains.forward_backward:forward_backward_batch
accord.kernels.chains.forward_backward:path_scores
"""


class Stages:
    """Own processor time and number of calls of every patched function."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self.missing: list[str] = []
        self._inner = [0.0]  # time of the stages called by the running ones

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with a clock around it."""

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self._inner.append(0.0)
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                elapsed = time.process_time() - start
                own = elapsed - self._inner.pop()
                self._inner[-1] += elapsed
                self.seconds[name] = self.seconds.get(name, 0.0) + own
                self.calls[name] = self.calls.get(name, 0) + 1

        return wrapper

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Patch all stages, and restore them at the end."""
        patched = []
        for path in _PATHS.split():
            module, _, name = path.partition(":")
            owner: Any = importlib.import_module(module)
            *classes, name = name.split(".")
            for part in classes:
                owner = getattr(owner, part, None)
            function = getattr(owner, name, None)
            if function is None:
                self.missing.append(path)
                continue
            patched.append((owner, name, function))
            setattr(owner, name, self.timed(path.removeprefix("accord."), function))
        try:
            yield
        finally:
            for owner, name, function in patched:
                setattr(owner, name, function)


def show(title: str, run: Callable[[], Any], tokens: int) -> None:
    """Run once under watch and print where the processor time went."""
    stages = Stages()
    with stages.watching():
        start = time.process_time()
        run()
        total = time.process_time() - start
    print(f"\n{title}: {total:.3f} s, {tokens / total:,.0f} tokens/s")
    for name, seconds in sorted(stages.seconds.items(), key=lambda item: -item[1]):
        if seconds >= 0.002 * total:
            print(f"  {seconds:8.4f} s {seconds / total:6.1%} {stages.calls[name]:7d} ×  {name}")
    print(f"  {total - sum(stages.seconds.values()):8.4f} s elsewhere")
    if stages.missing:
        print(f"  not found, counted with their callers: {', '.join(stages.missing)}")


def main() -> None:
    """Prepare nothing: reads what ``prepare.py`` wrote."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="conll2002_esp")
    parser.add_argument("--work", type=Path, required=True, help="the folder that prepare.py filled")
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=10, help="of L-BFGS")
    args = parser.parse_args()
    measure.use_cores([args.core])
    warnings.simplefilter("ignore")
    import accord_side

    from accord import CRF, Sequence, StructuredPerceptron

    task = measure.load_task(args.work, args.set)
    X_train, X_test = (accord_side.inputs_of(task, X) for X in (task.X_train, task.X_test))
    n_train = sum(map(len, X_train))
    perceptron = StructuredPerceptron(Sequence(), accord_side.view_of(task), max_iter=10, random_state=0)
    crf = CRF(Sequence(), accord_side.view_of(task), max_iter=args.iterations)
    for model in (perceptron, crf):
        accord_side.warm_up(task, model)
    show("perceptron, 10 passes", lambda: perceptron.fit(X_train, task.Y_train), n_train * 10)
    show("tagging the test text for the first time", lambda: perceptron.predict(X_test), task.n_test_tokens)
    for _ in range(3):
        perceptron.predict(X_test)
    show("tagging it again", lambda: perceptron.predict(X_test), task.n_test_tokens)
    show(f"CRF, {args.iterations} iterations", lambda: crf.fit(X_train, task.Y_train), n_train * args.iterations)


if __name__ == "__main__":
    main()
