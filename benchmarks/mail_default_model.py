"""Learn the weights that come with Accord (src/accord/mail/default_model.json) from generated mail alone.

    python benchmarks/mail_default_model.py [--sets 15] [--size 100] [--C 0.005] [--output PATH]

Sets of generated mail with different settings (how much spam, how large batches, how many senders at a time) train a
sequential ClusteringSVM. Features that are the same for all pairs of generated mail get no weight; what they would have
added goes to the bias. Of the word weights only those of words in at least one of a hundred mails are kept.

C was chosen among 1, 0.03 and 0.005 by looking at real mail: the smaller it was, the better it did there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from accord import ClusteringSVM, MailPairs
from accord.mail.features import NAMES
from accord.mail.generator import MailGenerator
from accord.mail.model import Similarity, as_json

OUTPUT = Path(__file__).parent.parent / "src" / "accord" / "mail" / "default_model.json"


def generated_sets(n_sets: int, size: int, first_seed: int = 0) -> tuple[list[list[bytes]], list[list[str]]]:
    """Sets of mails and their batches."""
    sets, partitions = [], []
    for k in range(n_sets):
        generator = MailGenerator(
            random_state=first_seed + k,
            spam=(0.66, 0.3, 0.1)[k % 3],
            newsletters=(0.17, 0.3, 0.1)[k % 3],
            batch_size=(17.7, 5, 40)[k // 3 % 3],
            active=(8, 16)[k % 2],
        )
        mails = list(generator.stream(size))
        sets.append([mail.raw for mail in mails])
        partitions.append([mail.batch for mail in mails])
    return sets, partitions


def without_constants(similarity: Similarity, values: np.ndarray) -> Similarity:
    """Move what constant features add to the bias."""
    constant = values.std(axis=0) < 1e-3
    weights = np.where(constant, 0.0, similarity.weights)
    added = float(similarity.weights[constant] @ values.mean(axis=0)[constant])
    return Similarity(weights, similarity.bias + added, similarity.idf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=15, help="training sets (default 15)")
    parser.add_argument("--size", type=int, default=100, help="mails per set (default 100)")
    parser.add_argument("--C", type=float, default=0.005, help="weight of errors (default 0.005)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where to write the weights")
    options = parser.parse_args()
    sets, partitions = generated_sets(options.sets, options.size)
    view = MailPairs().fit(sets)
    view.idf_ = np.where(view.idf_ > rare(len(sets) * options.size), 1, view.idf_).astype(np.float32)
    values = [view.pairs(mails) for mails in sets]
    model = ClusteringSVM(method="sequential", C=options.C).fit(values, partitions)
    weights = np.asarray(model.weights_)
    learned = Similarity(weights[:-1].copy(), float(weights[-1]), view.idf_)
    similarity = without_constants(learned, np.concatenate(values))
    options.output.write_text(json.dumps(as_json(similarity), indent=1) + "\n", encoding="utf-8")
    for weight, name in sorted(zip(similarity.weights, NAMES)):
        print(f"{weight:9.4f}  {name}")
    print(f"{similarity.bias:9.4f}  bias; written to {options.output}")


def rare(n_mails: int) -> float:
    """The word weight of a word in one of a hundred mails."""
    return float(1 - np.log(n_mails / 100) / np.log(n_mails))


if __name__ == "__main__":
    main()
