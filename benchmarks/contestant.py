"""One measured run in a process of its own: prints one line of JSON."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

import measure

# name: module and function, and what the tables say about it
CONTESTANTS = {
    "accord-perceptron": ("accord_side", "perceptron", "averaged perceptron, 10 passes"),
    "crfsuite-ap": ("crfsuite_side", "averaged_perceptron", "averaged perceptron, 10 passes"),
    "sklearn-crfsuite-ap": ("crfsuite_side", "sklearn_wrapper", "the same engine behind scikit-learn's interface"),
    "accord-crf": ("accord_side", "crf", "L-BFGS, C=1"),
    "accord-crf-to-the-end": ("accord_side", "crf_to_the_end", "L-BFGS, C=1, tol=1e-8"),
    "crfsuite-lbfgs": ("crfsuite_side", "lbfgs", "L-BFGS, c2=0.5, all features: the objective of accord-crf"),
    "crfsuite-lbfgs-observed": ("crfsuite_side", "lbfgs_observed", "L-BFGS, c2=0.5, CRFsuite's default features"),
    "accord-svm": ("accord_side", "svm", "structured SVM, Frank-Wolfe"),
    "vowpalwabbit": ("other_peers", "vowpal_wabbit", "learning to search, 10 passes"),
    "dlib": ("other_peers", "dlib_segmenter", "structured SVM, cutting planes; spans without types"),
    "pytorch-crf": ("other_peers", "pytorch_crf", "L-BFGS of torch, the objective of accord-crf"),
    "accord-two-cores": ("accord_side", "tagging_with_two_cores", "n_jobs=1 and n_jobs=2"),
}
# who can do only some of the sets, and why
ONLY_ON = {
    "accord-crf-to-the-end": (("conll2002_esp",), ""),
    "accord-two-cores": (("conll2002_esp",), ""),
    "dlib": (
        ("conll2002_esp_untyped",),
        "its Python module offers only a segmenter for spans without types; see conll2002_esp_untyped",
    ),
    "pytorch-crf": (
        ("ocr_letters",),
        "runs on the smallest set only: passes over padded batches of whole corpora take too long",
    ),
}


def main() -> None:
    """Run one contestant on one prepared set, or only load (compile) Accord's kernels."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True, choices=(*CONTESTANTS, "warm-up"))
    parser.add_argument("--set", required=True)
    parser.add_argument("--work", type=Path, required=True, help="the folder that prepare.py filled")
    parser.add_argument("--cores", default="0", help="numbers of the cores to run on, with commas")
    parser.add_argument("--rounds", type=int, default=5, help="how often to tag the test text; the best counts")
    parser.add_argument("--seed", type=int, default=0, help="number of the repetition")
    parser.add_argument("--check", action="store_true", help="let Accord compute CRFsuite's objective")
    options = parser.parse_args()
    measure.use_cores([int(core) for core in options.cores.split(",")])
    task = measure.load_task(options.work, options.set)
    if options.name == "warm-up":
        from accord_side import learners, warm_up

        result = {"seconds": sum(warm_up(task, model) for model in learners(task))}
    else:
        module, function, _ = CONTESTANTS[options.name]
        result = getattr(importlib.import_module(module), function)(task, options)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
