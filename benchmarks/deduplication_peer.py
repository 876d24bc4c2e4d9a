"""The library dedupe on one task of ``deduplication.py``: prints one line of JSON. Runs where Accord is not installed.

A task is a JSON file: ``fields`` (name to kind), cleaned ``labeled`` and ``test`` records (dicts with None for missing
cells), the ``clusters`` of the labeled ones, ``n_pairs`` of them to train on at most (up to half of them matches),
``folds`` of them for choosing a threshold, and ``thresholds`` to choose from. Answered are partitions of the test
records: at the library's own threshold and at the chosen one.
"""

import json
import logging
import os
import random
import sys
import warnings
from typing import Any

import dedupe
import numpy as np

OWN_THRESHOLD = 0.5  # what `partition` takes if nothing is said


def variables(fields: dict[str, str], records: list[dict[str, Any]]) -> list[Any]:
    """Fields as the library's examples define them: text, and equality for categories."""
    out = []
    for name, kind in fields.items():
        missing = any(record[name] is None for record in records)
        variable = dedupe.variables.Exact if kind == "category" else dedupe.variables.String
        out.append(variable(name, has_missing=missing))
    return out


def train(task: Any, labeled: list[int], seed: int) -> Any:
    """A matcher trained on pairs of the given labeled records."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 (the library draws from it)
    records, clusters = task["labeled"], task["clusters"]
    matcher = dedupe.Dedupe(variables(task["fields"], records + task["test"]), num_cores=0, in_memory=True)
    data = {f"l{i}": dict(records[i]) for i in labeled} | {f"t{i}": dict(r) for i, r in enumerate(task["test"])}
    matcher.classifier.n_jobs = 1  # the same search in one process, so that its time can be measured
    pairs = [(i, j) for a, i in enumerate(labeled) for j in labeled[:a]]
    matches = [pair for pair in pairs if clusters[pair[0]] == clusters[pair[1]]]
    distinct = [pair for pair in pairs if clusters[pair[0]] != clusters[pair[1]]]
    matches = random.sample(matches, min(len(matches), task["n_pairs"] // 2))
    distinct = random.sample(distinct, min(len(distinct), task["n_pairs"] - len(matches)))
    as_records = [[(data[f"l{i}"], data[f"l{j}"]) for i, j in chosen] for chosen in (matches, distinct)]
    # Before blocking is prepared, as from a training file: its rules then know the words of these pairs.
    matcher.mark_pairs({"match": as_records[0], "distinct": as_records[1]})
    matcher.prepare_training(data)
    matcher.train()
    return matcher


def partitions(matcher: Any, records: list[dict[str, Any]], thresholds: list[float]) -> list[list[int]]:
    """Cluster numbers of the records at each threshold; pairs are scored once."""
    data = {i: dict(record) for i, record in enumerate(records)}
    out = []
    try:
        scores = matcher.score(matcher.pairs(data))
    except dedupe.core.BlockingError:  # no two records share a block
        return [list(range(len(records))) for _ in thresholds]
    for threshold in thresholds:
        numbers = list(range(len(records)))
        for members, _ in matcher.cluster(scores, threshold):
            for i in members:
                numbers[i] = int(min(members))
        out.append(numbers)
    return out


def pair_counts(truth: list[Any], found: list[int]) -> np.ndarray:
    """Pairs found and right, found, and true."""
    same = np.equal.outer(np.unique(truth, return_inverse=True)[1], np.unique(truth, return_inverse=True)[1])
    together = np.equal.outer(np.array(found), np.array(found))
    upper = np.triu(np.ones(same.shape, bool), 1)
    return np.array([(same & together & upper).sum(), (together & upper).sum(), (same & upper).sum()], float)


def choose(task: Any, trained: Any, seed: int) -> float:
    """The threshold with the best pairwise F1 on held-out folds of the labeled clusters, or on all if there is one."""
    totals = np.zeros((len(task["thresholds"]), 3))
    folds = sorted(set(task["folds"]))
    for fold in folds:
        inner, outer = ([i for i, f in enumerate(task["folds"]) if (f == fold) == held] for held in (False, True))
        matcher = train(task, inner, seed) if len(folds) > 1 else trained
        found = partitions(matcher, [task["labeled"][i] for i in outer], task["thresholds"])
        truth = [task["clusters"][i] for i in outer]
        totals += [pair_counts(truth, numbers) for numbers in found]
    f1 = 2 * totals[:, 0] / np.maximum(totals[:, 1] + totals[:, 2], 1)
    best = np.flatnonzero(f1 >= f1.max() - 1e-12)
    return task["thresholds"][best[len(best) // 2]]


def seconds() -> float:
    """Processor time of this process and of those that it started."""
    return sum(os.times()[:4])


def main() -> None:
    """Do the task that is named on the command line."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    with open(sys.argv[1], encoding="utf-8") as stream:
        task = json.load(stream)
    start = seconds()
    matcher = train(task, list(range(len(task["labeled"]))), task["seed"])
    trained = seconds() - start
    own = partitions(matcher, task["test"], [OWN_THRESHOLD])[0]
    found = seconds() - start - trained
    threshold = choose(task, matcher, task["seed"]) if task["thresholds"] else OWN_THRESHOLD
    tuned = partitions(matcher, task["test"], [threshold])[0]
    answer = {"own": own, "tuned": tuned, "threshold": threshold, "train_seconds": trained, "apply_seconds": found}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
