"""Are the defaults of the learners good? Each is compared with the same learner after one parameter has been changed.

``ACCORD_DATA=DIR python benchmarks/defaults.py --learners svm crf --output results/defaults.jsonl`` trains on few
labeled examples of public data sets, and prints, for every change, the error relative to the default's (geometric mean)
and the p value of a t test on the logarithms of these ratios. A default ought to be changed where a change is
significantly better on the average.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from accord import (
    CRF,
    HMM,
    ArrayFeatures,
    GradientSVM,
    MultiClass,
    Sequence,
    StructuredPerceptron,
    StructuredSVM,
    SumOfViews,
)
from accord.datasets import load
from accord.evaluation import draw, paired_t_test
from accord.exceptions import InputError

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

# Learner -> its class, and the changes of one parameter that are tried. "normalize" is one of the structure (where it
# has it), "bias" one of the view of rows of numbers.
LEARNERS: dict[str, tuple[type, list[dict[str, Any]]]] = {
    "svm": (
        StructuredSVM,
        [{"C": 0.1}, {"C": 0.3}, {"C": 3.0}, {"C": 10.0}, {"norm": 2}, {"rescaling": "slack"}, {"normalize": True},
         {"bias": False}],
    ),
    "crf": (CRF, [{"C": 0.3}, {"C": 1.0}, {"C": 3.0}, {"C": 30.0}, {"C": 100.0}, {"bias": False}]),
    "perceptron": (
        StructuredPerceptron,
        [{"max_iter": 5}, {"max_iter": 10}, {"max_iter": 40}, {"averaged": False}, {"shuffle": False}, {"bias": False}],
    ),
    "hmm": (HMM, [{"smoothing": x} for x in (0.01, 0.03, 0.3, 1.0)]),
    "gradient-svm": (
        GradientSVM,
        [{"C": 0.1}, {"C": 10.0}, {"rho": 1.0}, {"rho": 100.0}, {"epsilon": 0.1}, {"epsilon": 1.0},
         {"normalize": True}],
    ),
    "sum-of-views": (SumOfViews, [{"n_views": 4}, {"n_views": 16}, {"share": 0.4}, {"share": 0.8}]),
}  # fmt: skip
DEFAULT = "default"


def learner_of(name: str, change: dict[str, Any], kind: type, X: Any, seed: int) -> Any:
    """The learner with one parameter changed; None where this structure or input does not have the parameter."""
    cls, parameters = LEARNERS[name][0], dict(change)
    of_structure = {key: parameters.pop(key) for key in ("normalize",) if key in parameters}
    if (of_structure and kind is not Sequence) or ("bias" in parameters and not hasattr(X, "shape")):
        return None
    if "bias" in parameters:
        parameters["view"] = ArrayFeatures(bias=parameters.pop("bias"))
    structure = kind(**of_structure)
    if cls is SumOfViews:
        return SumOfViews(StructuredPerceptron(structure, random_state=seed), **parameters)
    return cls(structure, random_state=seed, **parameters)


def title(change: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in change.items()) or DEFAULT


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
                for change in [{}, *LEARNERS[learner][1]]:
                    key = name, n, d, learner, title(change)
                    machine = None if key in done else learner_of(learner, change, structure, X, d)
                    if machine is not None:
                        record(arguments.output, machine, parts, test, key)


def _n_labels(Y: list[Any]) -> int:
    return len(set(Y)) if isinstance(Y[0], str) else len({label for y in Y for label in y})


def record(output: Path, machine: Any, parts: Any, test: Any, key: tuple) -> None:
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = machine.fit(*parts).predict(test[0])
    except InputError:  # a learner that does not take such inputs
        return
    entry = dict(zip(("data", "n", "draw", "learner", "change"), key))
    entry |= {"error": error(test[1], list(found)), "seconds": time.process_time() - start}
    with output.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def read(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []


def report(records: list[dict[str, Any]]) -> None:
    """For every change the ratio of errors, by kind of data and on the average, and how sure that is."""
    errors = {(r["data"], r["n"], r["draw"], r["learner"], r["change"]): r["error"] for r in records}
    head = [f"{group} | p" for group in ("sequences", "classes", "all")]
    print(f"| learner | change | {' | '.join(head)} |\n|---|---|{'---:|' * 6}")
    for learner, (_, changes) in LEARNERS.items():
        for change in map(title, changes):
            if any(key[3:] == (learner, change) for key in errors):
                cells = [_cell(errors, learner, change, sets) for sets in (SEQUENCES, CLASSES, SEQUENCES | CLASSES)]
                print(f"| {learner} | {change} | {' | '.join(cells)} |")


def _cell(errors: dict[tuple, float], learner: str, change: str, sets: dict[str, str]) -> str:
    """Each data set and size counts once, with the mean over its draws: further draws say nothing of other data."""
    ratios: dict[tuple, list[float]] = {}
    for key, value in errors.items():
        if key[3:] == (learner, change) and key[0] in sets:
            ratios.setdefault(key[:2], []).append(np.log(value / errors[(*key[:3], learner, DEFAULT)]))
    means = np.array([np.mean(of_draws) for of_draws in ratios.values()])
    if len(means) < 2:
        return "|"
    p = paired_t_test(means, np.zeros(len(means))).p_value if means.any() else 1.0
    return f"{100 * np.expm1(means.mean()):+.1f} % ({len(means)}) | {p:.2g}"


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
