"""The library splink on one task of ``deduplication.py``: prints one line of JSON. Runs where Accord is not installed.

A task is the JSON file that ``deduplication_peer.py`` describes. Answered are partitions of the test records:

- without labels: parameters by random sampling and the EM algorithm, as its tutorial does, clusters at 0.95 and at 0.5;
- with them: how alike matches are (m) from the labeled clusters, and the threshold at which their pairs are found best.

Comparisons are those of its documentation: Jaro-Winkler at two thresholds for short texts, with term frequencies;
Levenshtein for numbers and dates; equality for categories; the share of common words, at four thresholds, for texts
that are longer than names. Compared are pairs that are equal in some column that is no category, and of a table of one
column all pairs, so that none is lost.
"""

import json
import logging
import os
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import splink.comparison_level_library as cll
import splink.comparison_library as cl
from splink import DuckDBAPI, Linker, SettingsCreator, block_on

OWN_THRESHOLD = 0.95  # of its tutorial
EVEN = 0.5
LONG = 25  # characters in the mean: a text, not a name
WORDS = [0.9, 0.7, 0.5, 0.3]  # shares of common words
THRESHOLDS = [0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999]
TEXT = "text"


def frame(task: Any) -> tuple[pd.DataFrame, dict[str, str]]:
    """All records, the labeled ones first, with columns of simple names; their kinds."""
    records = task["labeled"] + task["test"]
    columns: dict[str, Any] = {"unique_id": list(range(len(records)))}
    kinds = {}
    for k, (name, kind) in enumerate(task["fields"].items()):
        cells = [record[name] for record in records]
        known = [cell for cell in cells if cell is not None]
        is_long = kind == TEXT and np.mean([len(cell) for cell in known]) > LONG
        columns[f"f{k}"], kinds[f"f{k}"] = cells, "words" if is_long else kind
        if is_long:
            columns[f"f{k}_words"] = [None if cell is None else sorted(set(cell.split())) for cell in cells]
    columns["cluster"] = [f"c{c}" for c in task["clusters"]] + [None] * len(task["test"])
    return pd.DataFrame(columns), kinds


def common_words(column: str) -> Any:
    """Levels of the share of common words."""
    words = f"{column}_words"
    both = f"len(list_intersect({words}_l, {words}_r))"
    share = f"{both} / greatest(len({words}_l) + len({words}_r) - {both}, 1)"
    levels = [cll.CustomLevel(f"{share} >= {least}", f"words {least}") for least in WORDS]
    return cl.CustomComparison(
        output_column_name=column,
        comparison_levels=[cll.NullLevel(words), cll.ExactMatchLevel(column), *levels, cll.ElseLevel()],
    )


def comparison(column: str, kind: str) -> Any:
    """How a column is compared."""
    if kind == "words":
        return common_words(column)
    if kind == "category":
        return cl.ExactMatch(column).configure(term_frequency_adjustments=True)
    if kind == TEXT:
        return cl.JaroWinklerAtThresholds(column, [0.9, 0.7]).configure(term_frequency_adjustments=True)
    return cl.LevenshteinAtThresholds(column, [1, 2])


def linker(table: pd.DataFrame, kinds: dict[str, str]) -> Any:
    """Pairs of a table, compared; of a single column both its words and its letters are."""
    blocks = [column for column, kind in kinds.items() if kind != "category"] or list(kinds)
    comparisons = [comparison(column, kind) for column, kind in kinds.items()]
    if len(kinds) == 1:
        (column,) = kinds
        table = table.assign(letters=table[column])
        comparisons.append(cl.JaroWinklerAtThresholds("letters", [0.95, 0.9, 0.8, 0.7]))
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=comparisons,
        blocking_rules_to_generate_predictions=[block_on(column) for column in blocks] if len(kinds) > 1 else ["1 = 1"],
        additional_columns_to_retain=["cluster"],
    )
    return connect(table, settings)


def connect(table: pd.DataFrame, settings: Any) -> Any:
    """A linker on a database in memory that uses one thread."""
    api = DuckDBAPI()
    api._con.execute("SET threads = 1")
    if hasattr(api, "register"):  # from version 5 on
        return Linker(api.register(table), settings)
    return Linker(table, settings, db_api=api)


def train(task: Any, table: pd.DataFrame, kinds: dict[str, str], labels: bool, seed: int) -> Any:
    """A linker with all its parameters estimated."""
    found = linker(table, kinds)
    exact = [block_on(column) for column in kinds]
    pairs = [[a, b] for k, a in enumerate(kinds) for b in list(kinds)[:k]] or [[column] for column in kinds]
    if any(table[columns].dropna().duplicated().any() for columns in pairs):  # none: it would be 0, and fail
        rules = [block_on(*columns) for columns in pairs]
        found.training.estimate_probability_two_random_records_match(rules, recall=0.7)
    found.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=seed)
    if labels:
        found.training.estimate_m_from_label_column("cluster")
        return found
    for rule in exact if len(kinds) > 1 else ["1 = 1"]:
        try:
            found.training.estimate_parameters_using_expectation_maximisation(rule)
        except Exception as error:  # a column without equal cells teaches nothing
            print(f"{rule}: {error}", file=sys.stderr)
    return found


def scored(trained: Any, least: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of records with at least some probability of a match, and that."""
    pairs = trained.inference.predict(threshold_match_probability=least).as_pandas_dataframe()
    return tuple(pairs[name].to_numpy() for name in ("unique_id_l", "unique_id_r", "match_probability"))


def partition(first: int, last: int, pairs: Any, threshold: float) -> list[int]:
    """Components of the records from `first` to `last` that pairs of so high a probability connect, as its own are."""
    parent = list(range(last))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, j, p in zip(*pairs):
        if p >= threshold and min(i, j) >= first and max(i, j) < last:
            parent[max(root(i), root(j))] = min(root(i), root(j))
    return [int(root(i)) - first for i in range(first, last)]


def f1(truth: np.ndarray, found: np.ndarray) -> float:
    """F1 of pairs."""
    same, together = np.equal.outer(truth, truth), np.equal.outer(found, found)
    n = len(truth)
    return 2 * ((same & together).sum() - n) / max(same.sum() + together.sum() - 2 * n, 1)


def seconds() -> float:
    """Processor time of this process."""
    return sum(os.times()[:2])


def main() -> None:
    """Do the task that is named on the command line."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    with open(sys.argv[1], encoding="utf-8") as stream:
        task = json.load(stream)
    table, kinds = frame(task)
    n_labeled, n = len(task["labeled"]), len(table)
    start = seconds()
    test = table.iloc[n_labeled:].reset_index(drop=True).drop(columns="cluster").assign(cluster=None)
    test["unique_id"] = np.arange(len(test))
    pairs = scored(train(task, test, kinds, False, task["seed"]), EVEN)
    answer = {"own": partition(0, len(test), pairs, OWN_THRESHOLD), "even": partition(0, len(test), pairs, EVEN)}
    answer["unlabeled_seconds"] = seconds() - start
    start = seconds()
    pairs = scored(train(task, table, kinds, True, task["seed"]), THRESHOLDS[0])
    truth = np.array(task["clusters"])
    values = [f1(truth, np.array(partition(0, n_labeled, pairs, threshold))) for threshold in THRESHOLDS]
    best = np.flatnonzero(np.array(values) >= max(values) - 1e-12)
    answer["threshold"] = THRESHOLDS[best[len(best) // 2]]
    answer["tuned"] = partition(n_labeled, n, pairs, answer["threshold"])
    answer["train_seconds"] = seconds() - start
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
