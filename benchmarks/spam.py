"""How well spam is told from other mail after few labels: ours, tf-idf with logistic regression, bogofilter.

    python benchmarks/spam.py DATA [--draws 10] [--first 3] [--training 200] [--tests 2000] [--bogofilter PROGRAM]

DATA is a data folder with ``email`` in it (see `accord.datasets`). Every draw shuffles SpamAssassin's corpus, learns
from the first mails and judges the next; all methods see the same mails, one method after the other within a draw.
Draws 0 to 2 were looked at when the filter's groups of features were chosen, so by default they are left out.

accord               mails alone
accord, batches      the same with batches: found by `BatchDetector` in the training mails, then while test mails come
accord, corrections  then the mistakes on so many further mails are corrected (`partial_fit`), and the rest is judged
tf-idf + logistic    subjects and texts of our parser, sublinear tf-idf of words, balanced classes, C = 100
tf-idf, tuned        the same, C of 1, 10, 100, 1000 by AUC in five folds of the training mails
bogofilter           Debian's, with its defaults; left out if it is not installed

Writes results/spam.json: area under the ROC curve, true positives at 1 % false ones, log-loss, differences with
standard errors, and p values (t-test over draws, two-sided; draws share mails, so they flatter), after each draw.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.special import expit
from scipy.stats import ttest_1samp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score, roc_curve

from accord.datasets import load
from accord.mail.detector import BatchDetector
from accord.mail.message import parse
from accord.mail.spam import CollectiveSpamFilter

RESULTS = Path(__file__).parent / "results"


class Corpus:
    """Mails, raw and parsed, and which are spam."""

    def __init__(self, folder: Path) -> None:
        mails = load("email", folder, part="spamassassin")
        self.raw, self.is_spam = list(mails.X), np.array([label == "spam" for label in mails.Y])
        self.messages = [parse(raw) for raw in self.raw]

    def take(self, rows: np.ndarray) -> list:
        return [self.messages[k] for k in rows]


def accord_alone(corpus: Corpus, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    fitted = CollectiveSpamFilter().fit(corpus.take(train), corpus.is_spam[train])
    return fitted.decision_function(corpus.take(test))


def accord_batches(corpus: Corpus, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    detector = BatchDetector()
    batches = [detector.assign(message) for message in corpus.take(train)]
    fitted = CollectiveSpamFilter().fit(corpus.take(train), corpus.is_spam[train], batches)
    print(f"  weight of batches {fitted.batch_weight_}")
    detector = BatchDetector()
    return np.array([fitted.decision(detector.assign_detailed(message)) for message in corpus.take(test)])


def tfidf(corpus: Corpus, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    return _tfidf(LogisticRegression(C=100, class_weight="balanced", max_iter=2000), corpus, train, test)


def tfidf_tuned(corpus: Corpus, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    machine = LogisticRegressionCV(
        Cs=[1, 10, 100, 1000], cv=5, scoring="roc_auc", class_weight="balanced", max_iter=2000
    )
    return _tfidf(machine, corpus, train, test)


def _tfidf(machine: Any, corpus: Corpus, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    def texts(rows: np.ndarray) -> list[str]:
        return [f"{message.subject}\n{message.body}" for message in corpus.take(rows)]

    words = TfidfVectorizer(sublinear_tf=True)
    machine.fit(words.fit_transform(texts(train)), corpus.is_spam[train])
    return machine.decision_function(words.transform(texts(test)))


def bogofilter(program: str) -> Callable[[Corpus, np.ndarray, np.ndarray], np.ndarray]:
    def judge(corpus: Corpus, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            for flag, rows in (("-s", train[corpus.is_spam[train]]), ("-n", train[~corpus.is_spam[train]])):
                _write(corpus, rows, Path(folder, flag[1]))
                subprocess.run([program, "-d", folder, flag, "-B", f"{folder}/{flag[1]}"], check=True)
            _write(corpus, test, Path(folder, "t"))
            answer = subprocess.run(
                [program, "-d", folder, "-T", "-T", "-v", "-B", f"{folder}/t"], capture_output=True, text=True
            )
        lines = [line.split() for line in answer.stdout.splitlines()]
        found = {int(Path(line[0]).name): float(line[-1]) for line in lines}
        return np.array([found[k] for k in test])  # probabilities

    return judge


def _write(corpus: Corpus, rows: np.ndarray, folder: Path) -> None:
    folder.mkdir()
    for k in rows:
        (folder / str(k)).write_bytes(corpus.raw[k])


def corrected(corpus: Corpus, train: np.ndarray, stream: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, int]:
    """Scores after all mistakes on a stream of mails have been corrected, and their number."""
    fitted = CollectiveSpamFilter().fit(corpus.take(train), corpus.is_spam[train])
    n = 0
    for k in stream:
        if fitted.predict([corpus.messages[k]])[0] != corpus.is_spam[k]:
            fitted.partial_fit([corpus.messages[k]], [corpus.is_spam[k]])
            n += 1
    return fitted.decision_function(corpus.take(test)), n


def figures(y: np.ndarray, scores: np.ndarray, is_probability: bool = False) -> dict[str, float]:
    false, true, _ = roc_curve(y, scores)
    shares = scores if is_probability else expit(scores)
    return {
        "auc": 100 * float(roc_auc_score(y, scores)),
        "tpr_at_1": 100 * float(true[false <= 0.01].max()),
        "log_loss": float(log_loss(y, np.clip(shares, 1e-6, 1 - 1e-6))),
    }


def summary(found: dict[str, list[dict[str, float]]], first: str) -> dict[str, dict[str, list[float]]]:
    """Means; means, standard errors and p values of the differences to the first method."""
    out: dict[str, dict[str, list[float]]] = {}
    for name, runs in found.items():
        out[name] = {}
        for figure in runs[0]:
            values = np.array([run[figure] for run in runs])
            ahead = np.array([run[figure] for run in found[first][: len(runs)]]) - values
            error = ahead.std(ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else float("nan")
            p = float(ttest_1samp(ahead, 0.0).pvalue) if len(runs) > 1 and ahead.std() else 1.0
            out[name][figure] = [round(float(x), 4) for x in (values.mean(), ahead.mean(), error, p)]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a data folder with email in it")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=3, help="number of the first draw (default 3)")
    parser.add_argument("--training", type=int, default=200)
    parser.add_argument("--tests", type=int, default=2000)
    parser.add_argument("--stream", type=int, default=500, help="mails whose mistakes are corrected (default 500)")
    parser.add_argument("--bogofilter", default=shutil.which("bogofilter"), metavar="PROGRAM")
    options = parser.parse_args()
    corpus = Corpus(options.data)
    methods = {
        "accord": accord_alone, "accord, batches": accord_batches, "tf-idf + logistic": tfidf,
        "tf-idf, tuned": tfidf_tuned,
    }  # fmt: skip
    if options.bogofilter:
        methods["bogofilter"] = bogofilter(options.bogofilter)
    found: dict[str, list[dict[str, float]]] = {}
    for draw in range(options.first, options.first + options.draws):
        order = np.random.default_rng(draw).permutation(len(corpus.raw))
        ends = np.cumsum([options.training, options.tests, options.stream])
        train, test, stream = np.split(order, ends)[:3]
        for name, judge in methods.items():
            start = time.process_time()
            scores = judge(corpus, train, test)
            found.setdefault(name, []).append(figures(corpus.is_spam[test], scores, name == "bogofilter"))
            print(draw, name, found[name][-1], f"{time.process_time() - start:.1f} s", flush=True)
        scores, n = corrected(corpus, train, stream, test)
        found.setdefault("accord, corrections", []).append(figures(corpus.is_spam[test], scores) | {"corrections": n})
        for runs in found.values():
            runs[-1].setdefault("corrections", 0)
        print(draw, "accord, corrections", found["accord, corrections"][-1], flush=True)
        write(found, draw, options)


def write(found: dict[str, list[dict[str, float]]], draw: int, options: argparse.Namespace) -> None:
    result = {
        "first draw": options.first, "last draw": draw, "training": options.training, "tests": options.tests,
        "stream": options.stream, "columns": ["mean", "accord ahead by", "standard error", "p"],
        "methods": summary(found, "accord"),
    }  # fmt: skip
    print(json.dumps(result, indent=1), flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "spam.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
