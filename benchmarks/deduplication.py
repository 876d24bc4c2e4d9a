"""De-duplication: Accord beside a plain baseline, dedupe and splink, with the same labeled records. See README.md.

    python benchmarks/deduplication.py --data DIR --dedupe-python PYTHON --splink-python PYTHON --output OUT

Every table also comes as one column, in which all fields are joined to one text. The baseline is what fifteen lines do:
cosines of character n-grams weighted by rarity, average linkage, and the cut that is best on the labeled records.

Halves of the clusters and labeled records are drawn as by `accord reproduce deduplication`, with other random numbers.
What is done is kept in OUT/results.jsonl, and the same command goes on from there.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import ttest_1samp
from sklearn.feature_extraction.text import TfidfVectorizer

from accord import Deduplicator
from accord.datasets import load
from accord.dedupe.labels import folds_of_clusters
from accord.dedupe.pairs import RecordPairs, _column
from accord.experiments.deduplication import N_LABELED, SETS, draw, scores

THRESHOLDS = [k / 10 for k in range(1, 10)]
OURS, UNLABELED, BASELINE = "accord", "accord, no labels", "n-grams, average linkage"
OWN, TUNED = "dedupe, threshold 0.5", "dedupe, tuned threshold"
SPLINK, SPLINK_ALONE, SPLINK_EVEN = "splink", "splink, no labels", "splink, no labels, threshold 0.5"
PEERS = {"splink": "deduplication_splink.py", "dedupe": "deduplication_peer.py"}
PROGRAMS = ["accord", "baseline", *PEERS]
WITH_LABELS = (BASELINE, OWN, TUNED, SPLINK)
ONE_COLUMN = ", one column"
SHOWN = {"pair_f1": "F1 of pairs", "b_cubed_f1": "B³ F1"}


def cleaned(view: RecordPairs, records: list[Any]) -> list[dict[str, str | None]]:
    """The cells as Accord compares them, so that both sides see the same text."""
    columns = {name: view._values(name, _column(records, name)) for name in view.fields_}
    return [{name: column[i] for name, column in columns.items()} for i in range(len(records))]


def one_column(records: list[Any]) -> list[dict[str, str]]:
    """All fields of each record joined to one text."""
    return [{"text": " ".join(str(cell) for cell in record.values() if cell)} for record in records]


def baseline(known: list[Any], given: np.ndarray, unknown: list[Any]) -> np.ndarray:
    """Clusters of the unknown records, cut where the known ones are clustered best."""
    texts = [record["text"] for record in one_column([*known, *unknown])]
    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit_transform(texts)

    def tree(rows: Any) -> np.ndarray:
        distances = np.maximum(1.0 - (rows @ rows.T).toarray(), 0.0)
        np.fill_diagonal(distances, 0.0)
        return linkage(squareform(distances, checks=False), "average")

    on_labels = tree(vectors[: len(known)])
    cuts = np.unique(np.concatenate([on_labels[:, 2], np.linspace(0.02, 0.98, 49)]))
    f1 = np.array([scores(given, fcluster(on_labels, cut, "distance"))["pair_f1"] for cut in cuts])
    best = np.flatnonzero(f1 >= f1.max() - 1e-12)
    return fcluster(tree(vectors[len(known) :]), cuts[best[best.size // 2]], "distance")


def run_peer(python: str, program: str, task: dict[str, Any], limit: float) -> dict[str, Any]:
    """The answer of one of the programs beside this one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.json"
        path.write_text(json.dumps(task), encoding="utf-8")
        command = [python, str(Path(__file__).with_name(program)), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"{program} failed")
    return json.loads(done.stdout.splitlines()[-1])


def drawn(X: Any, Y: Any, repetition: int, options: argparse.Namespace) -> tuple[list[Any], np.ndarray, Any, Any]:
    """Labeled records and their clusters, the other records and theirs."""
    clusters = np.unique(np.array(Y), return_inverse=True)[1]
    labeled, test = draw(clusters, options.labeled, np.random.default_rng([options.seed, repetition]))
    return [X[i] for i in labeled], clusters[labeled], [X[i] for i in test], clusters[test]


def accord_rows(known: list[Any], given: np.ndarray, unknown: list[Any], repetition: int) -> dict[str, Any]:
    """Clusters of the unknown records with labels and without, and seconds."""
    start = time.process_time()
    model = Deduplicator(random_state=repetition)
    model.fit([*known, *unknown], [*given.tolist(), *[None] * len(unknown)])
    trained = time.process_time() - start
    found = np.array(model.predict(unknown))
    used = {"train_seconds": trained, "apply_seconds": time.process_time() - start - trained}
    start = time.process_time()
    alone = np.array(Deduplicator(random_state=repetition).fit(unknown).predict(unknown))
    return {OURS: (found, used), UNLABELED: (alone, {"train_seconds": time.process_time() - start})}


def baseline_rows(known: list[Any], given: np.ndarray, unknown: list[Any]) -> dict[str, Any]:
    """Clusters that the baseline finds, and seconds."""
    start = time.process_time()
    found = baseline(known, given, unknown)
    return {BASELINE: (found, {"train_seconds": time.process_time() - start})}


def peer_rows(python: str, program: str, answers: dict[str, str], task: dict[str, Any], limit: float) -> dict[str, Any]:
    """Clusters that another program finds, and seconds."""
    answer = run_peer(python, program, task, limit)
    used = {k: answer[k] for k in ("train_seconds", "apply_seconds") if k in answer}
    return {name: (np.array(answer[key]), used) for name, key in answers.items()}


def contest(program: str, X: Any, Y: Any, repetition: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """One draw of labeled records: what a program makes of it."""
    known, given, unknown, truth = drawn(X, Y, repetition, options)
    if program == "accord":
        found = accord_rows(known, given, unknown, repetition)
    elif program == "baseline":
        found = baseline_rows(known, given, unknown)
    else:
        python, answers = {
            "splink": (options.splink_python, {SPLINK: "tuned", SPLINK_ALONE: "own", SPLINK_EVEN: "even"}),
            "dedupe": (options.dedupe_python, {OWN: "own"} | ({TUNED: "tuned"} if options.folds else {})),
        }[program]
        task = peer_task(known, given, unknown, repetition, options)
        try:
            found = peer_rows(python, PEERS[program], answers, task, options.limit)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return [{"method": next(iter(answers)), "failed": str(error)[:300]}]
    return [{"method": name, **scores(truth, clusters), **used} for name, (clusters, used) in found.items()]


def plan(options: argparse.Namespace) -> list[tuple[str, str, bool, int]]:
    """Programs, tables, whether as one column, and draws, in their order: a draw of all tables before the next one.

    dedupe, which takes the longest, comes last, table by table.
    """
    tables = [
        (name, joined)
        for name in options.sets
        for joined in (False, True)
        if options.columns != ("fields" if joined else "one")
    ]
    quick = [one for one in options.programs if one != "dedupe"]
    steps = [(one, *table, k) for k in range(options.repetitions) for table in tables for one in quick]
    slow = [one for one in options.programs if one == "dedupe"]
    return steps + [(one, *table, k) for one in slow for table in tables for k in range(options.repetitions)]


def peer_task(
    known: list[Any], given: np.ndarray, unknown: list[Any], repetition: int, options: argparse.Namespace
) -> dict[str, Any]:
    """What the other programs are told."""
    view = RecordPairs().fit([[*known, *unknown]])
    folds = folds_of_clusters(given, max(options.folds, 1), np.random.default_rng(repetition))
    return {
        "fields": view.fields_, "labeled": cleaned(view, known), "test": cleaned(view, unknown),
        "clusters": given.tolist(), "folds": folds.tolist(), "seed": repetition, "n_pairs": options.pairs,
        "thresholds": THRESHOLDS if options.folds else [],
    }  # fmt: skip


def report(rows: list[dict[str, Any]]) -> str:
    """Means, standard errors, and paired t tests of Accord's default against the best peer, corrected by Holm."""
    lines = []
    methods = list(dict.fromkeys(row["method"] for row in rows if "failed" not in row))
    names = list(dict.fromkeys(row["data"] for row in rows))
    for metric, title in SHOWN.items():
        lines += ["", f"{title} in %, mean ± standard error", "", f"| data | draws | {' | '.join(methods)} | p |"]
        lines.append("|---|" + "---:|" * (len(methods) + 2))
        by = {data: _by_method(rows, data, metric, methods) for data in names}
        p_values = holm({data: _p_value(by[data]) for data in names})
        for data in names:
            cells = [_mean(list(by[data][m].values())) for m in methods]
            lines.append(f"| {data} | {len(by[data][OURS])} | {' | '.join(cells)} | {p_values[data]} |")
    lines += [
        "",
        f"p: paired t test of {OURS} against the best of the others that had the labels (by its mean), corrected",
    ]
    lines[-1] += " for the number of tables by Holm's method; + where Accord is ahead, - where it is behind."
    failed = [f"{row['data']} {row['repetition']}: {row['method']}: {row['failed']}" for row in rows if "failed" in row]
    return "\n".join(lines + [f"\nfailed or took too long: {line}" for line in failed]) + "\n"


def _by_method(rows: list[dict[str, Any]], data: str, metric: str, methods: list[str]) -> dict[str, dict[int, float]]:
    here = [row for row in rows if row["data"] == data and metric in row]
    return {m: {r["repetition"]: 100 * r[metric] for r in here if r["method"] == m} for m in methods}


def _mean(values: list[float]) -> str:
    if not values:
        return ""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.2f} ± {error:.2f}"


def _p_value(by: dict[str, dict[int, float]]) -> tuple[float, str] | None:
    """Of the draws that both have, and which way it goes; None where nothing can be said."""
    peers = [m for m in WITH_LABELS if by.get(m)]
    if not peers:
        return None
    peer = max(peers, key=lambda m: np.mean(list(by[m].values())))
    shared = sorted(set(by[OURS]) & set(by[peer]))
    gains = np.array([by[OURS][r] - by[peer][r] for r in shared])
    if len(shared) < 2 or np.ptp(gains) == 0:
        return None
    return float(ttest_1samp(gains, 0.0).pvalue), "+" if gains.mean() > 0 else "-"


def holm(found: dict[str, tuple[float, str] | None]) -> dict[str, str]:
    """Corrected p values as they are shown."""
    shown, largest = dict.fromkeys(found, ""), 0.0
    known = sorted((one, data) for data, one in found.items() if one is not None)
    for rank, ((p, sign), data) in enumerate(known):
        largest = max(largest, min(p * (len(known) - rank), 1.0))
        shown[data] = f"{sign} {largest:.3f}"
    return shown


def main() -> None:
    """Run what is not done yet, then print and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="the local data folder (default: ACCORD_DATA)")
    parser.add_argument("--output", type=Path, default=Path("deduplication-results"))
    parser.add_argument("--dedupe-python", help="a Python with requirements-dedupe.lock; without it dedupe is left out")
    parser.add_argument("--splink-python", help="a Python with requirements-splink.lock; without it splink is left out")
    parser.add_argument("--programs", nargs="+", default=PROGRAMS, choices=PROGRAMS)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument(
        "--columns", choices=["fields", "one", "both"], default="both", help="tables as they are, as one"
    )
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--labeled", type=int, default=N_LABELED, help="labeled records")
    parser.add_argument(
        "--folds",
        type=int,
        default=2,
        help="for dedupe's tuned threshold; 1: on the labeled records themselves, 0: none",
    )
    parser.add_argument("--pairs", type=int, default=10_000, help="pairs that dedupe learns from at most")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one run of a peer")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    journal = options.output / "results.jsonl"
    rows = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    done = {(row["data"], row["repetition"], row["labeled"], row["program"]) for row in rows}
    options.programs = [one for one in options.programs if one not in PEERS or getattr(options, f"{one}_python")]
    for program, name, joined, repetition in plan(options):
        start = {"data": name + ONE_COLUMN * joined, "repetition": repetition, "labeled": options.labeled}
        if (*start.values(), program) in done:
            continue
        table = load("dedupe", options.data, part=name)
        X = one_column(table.X) if joined else table.X
        found = [{**start, "program": program, **row} for row in contest(program, X, table.Y, repetition, options)]
        with journal.open("a") as stream:
            stream.write("".join(json.dumps(row) + "\n" for row in found))
        rows += found
        shown = ", ".join(f"{r['method']} {100 * r.get('pair_f1', float('nan')):.2f}" for r in found)
        print(f"{start['data']} {repetition}: {shown}", file=sys.stderr, flush=True)
    text = report([row for row in rows if row["labeled"] == options.labeled])
    (options.output / "report.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
