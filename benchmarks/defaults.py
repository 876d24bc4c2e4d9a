"""Are the defaults of the learners good? Each is compared with the same learner after one parameter has been changed.

``ACCORD_DATA=DIR python benchmarks/defaults.py --learners svm crf --output results/defaults.jsonl`` trains on few
labeled examples of public data sets, and prints, for every change, the error relative to the default's (geometric mean
over data sets and draws) and the p value of a paired t test on the logarithms of the errors. A default ought to be
changed where a change is significantly better on average.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from accord import CRF, HMM, GradientSVM, MultiClass, Sequence, StructuredPerceptron, StructuredSVM, SumOfViews
from accord.datasets import load
from accord.evaluation import draw, paired_t_test

SEQUENCES = {
    "conll2002_esp": "train", "bc2gm": "train", "conll2000_chunking": "train", "ud_english_ewt_pos": "train",
    "ocr_letters": "train", "protein_cb513": "train",
}  # fmt: skip
CLASSES = {
    "webkb_course": "train", "newsgroups20": "train", "ssl_book/USPS": "USPS", "ssl_book/COIL": "COIL",
    "citation_cora": "train",
}  # fmt: skip
HOLDOUT = 400
SIZES = {"sequences": (20, 100), "classes": (40, 100)}

Make = Callable[[Any, int], Any]  # of a structure and a seed

# Learner -> what is changed -> the learner; the first is the default.
LEARNERS: dict[str, dict[str, Make]] = {
    "svm": {
        "averaged loss, C=1": lambda s, seed: StructuredSVM(s(**averaged(s)), C=1.0, random_state=seed),
        **{
            f"counts, C={C:g}": lambda s, seed, C=C: StructuredSVM(s(**averaged(s, False)), C=C, random_state=seed)
            for C in (1, 0.1)
        },
    },
    "crf": {
        "default": lambda s, seed: CRF(s(), random_state=seed),
        **{f"C={C:g}": lambda s, seed, C=C: CRF(s(), C=C, random_state=seed) for C in (0.1, 0.3, 3, 10, 100)},
    },
    "perceptron": {
        "default": lambda s, seed: StructuredPerceptron(s(), random_state=seed),
        **{
            f"max_iter={n}": lambda s, seed, n=n: StructuredPerceptron(s(), max_iter=n, random_state=seed)
            for n in (5, 20, 40)
        },
        "averaged=False": lambda s, seed: StructuredPerceptron(s(), averaged=False, random_state=seed),
    },
    "hmm": {
        "default": lambda s, seed: HMM(s()),
        **{f"smoothing={n:g}": lambda s, seed, n=n: HMM(s(), smoothing=n) for n in (0.01, 0.03, 0.3, 1)},
    },
    "gradient-svm": {
        "averaged loss": lambda s, seed: GradientSVM(s(**averaged(s)), random_state=seed),
        **{f"C={C:g}": lambda s, seed, C=C: GradientSVM(s(**averaged(s)), C=C, random_state=seed) for C in (0.1, 10)},
        "counts": lambda s, seed: GradientSVM(s(**averaged(s, False)), random_state=seed),
        "rho=1": lambda s, seed: GradientSVM(s(**averaged(s)), rho=1.0, random_state=seed),
        "epsilon=0.1": lambda s, seed: GradientSVM(s(**averaged(s)), epsilon=0.1, random_state=seed),
    },
    "sum-of-views": {
        "default": lambda s, seed: SumOfViews(StructuredPerceptron(s(), random_state=seed)),
        **{
            f"n_views={n}": lambda s, seed, n=n: SumOfViews(StructuredPerceptron(s(), random_state=seed), n_views=n)
            for n in (4, 16)
        },
        **{
            f"share={x}": lambda s, seed, x=x: SumOfViews(StructuredPerceptron(s(), random_state=seed), share=x)
            for x in (0.4, 0.8)
        },
    },
}


def averaged(structure: Any, yes: bool = True) -> dict[str, bool]:
    """The setting of structures whose loss can be a fraction of tokens, or a number of them."""
    return {"normalize": yes} if hasattr(structure, "normalize") else {}


def examples(name: str, part: str) -> tuple[Any, list[Any]]:
    """A data set: inputs and outputs; those without a label are left out."""
    data = load(name.split("/")[0], part=part)
    kept = [i for i, y in enumerate(data.Y) if y is not None and len(y)]
    X = data.X[kept] if hasattr(data.X, "shape") else [data.X[i] for i in kept]
    return X, [data.Y[i] for i in kept]


def take(X: Any, chosen: np.ndarray) -> Any:
    return X[chosen] if hasattr(X, "shape") else [X[i] for i in chosen]


def error(Y: list[Any], found: list[Any]) -> float:
    """Share of wrong labels, of tokens or of examples; half a mistake more, because logarithms are compared."""
    if isinstance(Y[0], str):
        return (sum(a != b for a, b in zip(Y, found)) + 0.5) / len(Y)
    return (sum(a != b for y, f in zip(Y, found) for a, b in zip(y, f)) + 0.5) / sum(map(len, Y))


def run(arguments: argparse.Namespace) -> None:
    """Train everything that the output file does not have yet, one draw after the other."""
    done = {(r["data"], r["n"], r["draw"], r["learner"], r["change"]) for r in read(arguments.output)}
    kinds = ("sequences", SEQUENCES, Sequence), ("classes", CLASSES, MultiClass)
    chosen = [
        (name, sizes, structure, *examples(name, part))
        for kind, sets, structure in kinds
        for name, part in sets.items()
        if not arguments.sets or name in arguments.sets
        for sizes in [SIZES[kind][: 1 if arguments.small else None]]
    ]
    for d, (name, sizes, structure, X, Y) in itertools.product(range(arguments.draws), chosen):
        for n in sizes:
            few = draw(Y, n, n_holdout=min(HOLDOUT, len(Y) - n), rng=d, every_label=n > 2 * _n_labels(Y))
            parts = take(X, few.labeled), [Y[i] for i in few.labeled]
            test = take(X, few.holdout), [Y[i] for i in few.holdout]
            for learner in arguments.learners:
                for change, make in LEARNERS[learner].items():
                    if (name, n, d, learner, change) not in done:
                        record(arguments.output, make, structure, parts, test, (name, n, d, learner, change))


def _n_labels(Y: list[Any]) -> int:
    return len(set(Y)) if isinstance(Y[0], str) else len({label for y in Y for label in y})


def record(output: Path, make: Make, structure: Any, parts: Any, test: Any, key: tuple) -> None:
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = make(structure, key[2]).fit(*parts).predict(test[0])
    except (TypeError, ValueError):  # a change that this structure, or this learner with these inputs, does not have
        return
    entry = dict(zip(("data", "n", "draw", "learner", "change"), key))
    entry |= {"error": error(test[1], list(found)), "seconds": time.process_time() - start}
    with output.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def read(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []


def report(records: list[dict[str, Any]]) -> None:
    """For every change the ratio of errors, by kind of data and over all, and how sure that is."""
    errors = {(r["data"], r["n"], r["draw"], r["learner"], r["change"]): r["error"] for r in records}
    print("| learner | change | sequences | p | classes | p |\n|---|---|---:|---:|---:|---:|")
    for learner, changes in LEARNERS.items():
        first, *rest = changes
        for change in rest:
            cells = [_cell(errors, learner, first, change, sets) for sets in (SEQUENCES, CLASSES)]
            if any(cell != "| " for cell in cells):
                print(f"| {learner} | {change} | {' | '.join(cells)} |")


def _cell(errors: dict[tuple, float], learner: str, first: str, change: str, sets: dict[str, str]) -> str:
    pairs = [
        (np.log(e), np.log(errors[(*key[:3], learner, first)]))
        for key, e in errors.items()
        if key[3:] == (learner, change) and key[0] in sets and (*key[:3], learner, first) in errors
    ]
    if len(pairs) < 2:
        return "| "
    new, old = map(np.array, zip(*pairs))
    if np.allclose(new, old):
        return "0.0 % | 1"
    ratio = np.exp(np.mean(new - old)) - 1
    return f"{100 * ratio:+.1f} % | {paired_t_test(new, old).p_value:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", nargs="*", default=list(LEARNERS), choices=list(LEARNERS))
    parser.add_argument("--sets", nargs="*", default=[], choices=[*SEQUENCES, *CLASSES])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="the smaller of two numbers of labeled examples only")
    parser.add_argument("--output", type=Path, default=Path("defaults.jsonl"))
    arguments = parser.parse_args()
    run(arguments)
    report(read(arguments.output))


if __name__ == "__main__":
    main()
