"""Exact CKY parsing: Accord beside NLTK, disco-dop and every other weighted chart parser that installs.

``python benchmarks/parsing.py --data DIR --peer-python P --disco-python Q`` measures, with the same binarised grammar
of the full Penn Treebank sample and the same sentences, whose tags are given,

speed
    processor seconds per sentence of the best tree, and of the ten best, for 10, 20 and 40 words and for 6 to 15;
    all must find the same log probabilities;
growth
    time and peak memory of one process that parses longer and longer sentences, up to 100 words.

Each contestant is a process of its own on one core. In each round all that take part run once, and the best time of
each sentence counts; slow ones parse fewer sentences, in the first round only. Ratios are always of the same sentences.
``--quick`` is a small version. The other libraries live in environments of their own, see README.md.
"""

from __future__ import annotations

import argparse
import json
import pickle
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import measure
from parsing_contestants import DISCO, GROUPS, LEFT_OUT, LENGTHS, OURS, SLOW
from parsing_peers import N_BEST, run_child

GRAMMARS: dict[str, int | None] = {"horizontal=None": None, "horizontal=0": 0}
GROWTH = (10, 20, 30, 40, 50, 60, 70, 81, 89, 100)  # there are such sentences


# -- Accord's side, in a process of its own -------------------------------------------------------------------------
def load_model(task: Any) -> Any:
    """The fitted grammar that `prepare` left beside the task."""
    with open(Path(task["folder"]) / task["model"], "rb") as file:
        return pickle.load(file)


def accord_parse(task: Any) -> Any:
    """From tags to the best tree as an array: preparing the scores, and CKY."""
    model = load_model(task)
    structure, transitions = model.structure_, model.weights_.transitions

    def parse(tags: list[str]) -> list[float]:
        _, score, _ = structure.parse(structure.parts(tags, None, transitions))
        return [score]

    return parse


def accord_predict(task: Any) -> Any:
    """From tags to a nested list, checks and all."""
    model = load_model(task)
    structure, transitions = model.structure_, model.weights_.transitions

    def predict(tags: list[str]) -> Any:
        return model.predict([tags])

    def check(predicted: Any) -> list[float]:
        parts = structure.parts(tags_of(predicted[0]), None, transitions)
        return [structure.score(parts, structure.encode(predicted))]

    from accord.datasets.trees import tags as tags_of

    predict.check = check  # type: ignore[attr-defined]
    return predict


def accord_k_best(task: Any) -> Any:
    """From tags to the ten best trees as arrays."""
    model = load_model(task)
    structure, transitions = model.structure_, model.weights_.transitions
    return lambda tags: [s for _, s in structure.k_best(structure.parts(tags, None, transitions), N_BEST)]


CONTESTANTS = dict(zip(OURS, (accord_parse, accord_predict, accord_k_best)))


# -- tasks ----------------------------------------------------------------------------------------------------------
def prepare(data: str | None, folder: Path, n_sentences: int) -> dict[str, Path]:
    """Fit both grammars and write what the contestants need: grammar → its task."""
    import numpy as np

    from accord import PCFG, Tree
    from accord.datasets import load
    from accord.datasets.trees import tags

    trees = load("ptb_wsj_sample", data).Y
    X = [tags(tree) for tree in trees]
    chosen = choose(X, n_sentences)
    paths = {}
    for name, horizontal in GRAMMARS.items():
        model = PCFG(Tree(terminals="tags", horizontal=horizontal), decode="viterbi").fit(X, trees)
        structure, grammar = model.structure_, model.structure_.grammar_
        rules, leaves, starts, _ = structure.split_transitions(model.weights_.transitions)
        if leaves.any():
            raise SystemExit("leaves have weights, which the other parsers would not get")
        file = name.replace("=", "-")
        with open(folder / f"{file}.pkl", "wb") as out:
            pickle.dump(model, out)
        task = {
            "model": f"{file}.pkl",
            "n_symbols": grammar.n_symbols,
            "rules": [[*map(int, rule), float(w)] for rule, w in zip(grammar.rules, rules)],
            "leaves": [grammar.tags[tag] for tag in grammar.leaf_tag],
            "start": [[int(a), float(starts[a])] for a in np.flatnonzero(grammar.start_counts > 0)],
            "warm_up": min((x for x in X if len(x) > 2), key=len),
            "sentences": chosen,
        }
        paths[name] = folder / f"{file}.json"
        paths[name].write_text(json.dumps(task), encoding="utf-8")
    return paths


def choose(X: list[list[str]], n: int) -> dict[str, list[list[str]]]:
    """Random sentences of each group; a group of several lengths starts with one of each."""
    import numpy as np

    by_length: dict[int, list[list[str]]] = {}
    for i in np.random.default_rng(0).permutation(len(X)):
        by_length.setdefault(len(X[i]), []).append(X[i])
    mixed = [by_length[length][k] for k in range(-(-n // 10)) for length in range(6, 16)]
    exact = {length: by_length[int(length)][:n] for length in LENGTHS}
    return {"6-15": mixed, **exact, **{f"growth {length}": by_length[length][:3] for length in GROWTH}}


# -- running ----------------------------------------------------------------------------------------------------------
def pythons(options: argparse.Namespace) -> dict[str, str | None]:
    """The interpreter of each contestant, None where there is none."""
    found: dict[str, str | None] = dict.fromkeys(OURS, sys.executable)
    found |= dict.fromkeys(DISCO, options.disco_python)
    return found | dict.fromkeys(SLOW, options.peer_python)


def child(python: str, name: str, task: Path, groups: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """One contestant on one grammar; what it printed, or why it failed."""
    script = Path(__file__).with_name("parsing.py" if name in OURS else "parsing_peers.py")
    long = name in DISCO and "growth 100" in groups
    repeat = 1 if name in SLOW or long else options.repeat
    asked = {
        "name": name, "task": str(task), "groups": groups, "repeat": repeat, "core": options.core,
        "setup_limit": min(60.0, options.limit) if name in SLOW else 60.0,
    }  # fmt: skip
    done = subprocess.run([python, str(script), "--child", json.dumps(asked)], capture_output=True, text=True)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def merged(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """The better time of each sentence."""
    if old is None or "failed" in old or "failed" in new:
        return new
    for group, found in new["groups"].items():
        for kind in ("cpu", "wall"):
            before = old["groups"][group][kind]
            old["groups"][group][kind] = [min(pair) for pair in zip(before, found[kind])]
    return old


def race(options: argparse.Namespace, paths: dict[str, Path]) -> dict[str, Any]:
    """Grammar → contestant → what it took."""
    who = {name: python for name, python in pythons(options).items() if python}
    found: dict[str, Any] = {grammar: {} for grammar in paths}
    for r in range(options.rounds):
        for grammar, path in paths.items():
            for name, python in who.items():
                if (r and name in SLOW) or (name, grammar) in LEFT_OUT:
                    continue
                groups = dict.fromkeys(GROUPS, (options.sentences, 300.0))
                if name in SLOW:
                    groups = {group: (n, min(s, options.limit)) for group, (n, s) in SLOW[name].items()}
                run = child(python, name, path, groups, options)
                found[grammar][name] = merged(found[grammar].get(name), run)
                print(f"round {r + 1}, {grammar}, {name}: {run.get('failed', 'done')}", flush=True)
    return found


def grow(options: argparse.Namespace, paths: dict[str, Path]) -> dict[str, Any]:
    """Grammar → contestant → seconds and peak memory by length; lengths go up, so each peak is that of its length."""
    lengths = GROWTH[:3] if options.quick else GROWTH
    groups = {f"growth {length}": (3, 300.0) for length in lengths}
    who = [name for name in (OURS[0], DISCO[0]) if pythons(options)[name]]
    return {
        grammar: {name: child(str(pythons(options)[name]), name, path, groups, options) for name in who}
        for grammar, path in paths.items()
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="the folder with ptb_wsj_sample; default: ACCORD_DATA")
    parser.add_argument("--sentences", type=int, default=20, help="of each length, for the fast ones")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each of the fast ones; the best counts")
    parser.add_argument("--repeat", type=int, default=3, help="times a sentence is parsed in a process")
    parser.add_argument("--limit", type=float, default=400.0, help="processor seconds of a slow one for any length")
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--peer-python", help="Python with NLTK, lark, genlm-grammar and torch-struct")
    parser.add_argument("--disco-python", help="Python with disco-dop")
    parser.add_argument("--output", type=Path, help="folder for parsing.md, parsing.svg and parsing.json")
    parser.add_argument("--name", default="parsing", help="how those files begin")
    parser.add_argument("--remark", default="", help="a sentence for the top of the report")
    parser.add_argument("--report", type=Path, help="a parsing.json to make a report of; nothing is measured")
    parser.add_argument("--quick", action="store_true", help="small versions of everything")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    measure.use_cores([options.core])
    if options.child:
        run_child(CONTESTANTS, json.loads(options.child))
        return
    if options.quick:
        options.sentences, options.rounds, options.repeat, options.limit = 2, 1, 1, 2.0
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
    if options.report:
        found = json.loads(options.report.read_text(encoding="utf-8"))
    else:
        found = measure_all(options)
    from parsing_report import write  # draws, so it imports more

    write(found, options.output, options.name, options.remark)


def measure_all(options: argparse.Namespace) -> dict[str, Any]:
    """Everything, written as JSON if there is a folder for it."""
    with tempfile.TemporaryDirectory() as folder:
        paths = prepare(options.data, Path(folder), options.sentences)
        tasks = {grammar: json.loads(path.read_text(encoding="utf-8")) for grammar, path in paths.items()}
        found = {
            "settings": {name: getattr(options, name) for name in ("sentences", "rounds", "repeat", "limit")},
            "measured": [name for name, python in pythons(options).items() if python],
            "python": platform.python_version(),
            "sizes": {g: {"rules": len(t["rules"]), "symbols": t["n_symbols"]} for g, t in tasks.items()},
            "growth": grow(options, paths),
            "race": race(options, paths),
        }
    if options.output:
        (options.output / f"{options.name}.json").write_text(json.dumps(found) + "\n", encoding="utf-8")
    return found


if __name__ == "__main__":
    main()
