"""Vowpal Wabbit, dlib and pytorch-crf. They take numbers, so they get the feature numbers that ``prepare.py`` wrote."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from measure import Clock, Task, accuracy_of, best, peak_memory_mb

N_PASSES = 10
C = 1.0
DLIB_C = 0.1  # as Accord's SVM; dlib divides C by the number of sentences, so it is given C times that


def _rows(task: Task, part: str) -> Iterator[list[list[int]]]:
    """Sentence by sentence, the feature numbers of every token."""
    with np.load(task.folder / f"{part}.npz") as file:
        indptr, indices, offsets = file["indptr"], file["indices"], file["offsets"].tolist()
    for lo, hi in pairwise(offsets):
        yield [indices[a:b].tolist() for a, b in pairwise(indptr[lo : hi + 1].tolist())]


# -- Vowpal Wabbit ---------------------------------------------------------------------------------------------------
def vowpal_wabbit(task: Task, options: Any) -> dict[str, Any]:
    """Learning to search without roll-outs, which were slower and no better. Data go through text files."""
    clock = Clock()
    labels = sorted({label for y in task.Y_train for label in y})
    files = {name: task.folder / f"vw.{name}" for name in ("train", "test", "cache", "model", "predictions")}
    files["cache"].unlink(missing_ok=True)
    with clock("hand_over"):
        _write_vw(files["train"], _rows(task, "train"), task.Y_train, labels)
    with clock("optimise"):
        _drive_vw(
            f"-d {files['train']} --cache_file {files['cache']} --passes {N_PASSES} --holdout_off -b 24 "
            f"--search {len(labels)} --search_task sequence --search_rollout none -f {files['model']}"
        )
    train_memory = peak_memory_mb()
    rounds = []
    for _ in range(options.rounds):
        tagging = Clock()
        with tagging("hand_over"):
            _write_vw(files["test"], _rows(task, "test"), None, labels)
        with tagging("decode"):
            _drive_vw(f"-t -i {files['model']} -d {files['test']} -p {files['predictions']}")
            with open(files["predictions"]) as file:
                predicted = [[labels[int(action) - 1] for action in line.split()] for line in file if line.strip()]
        rounds.append(tagging.sums(ready=("hand_over", "decode")))
    return {
        "train": clock.sums(ready=("hand_over", "optimise")),
        "tag": best(rounds),
        "memory": {"train": train_memory, "all": peak_memory_mb()},
        **accuracy_of(task, predicted),
    }


def _write_vw(path: Path, rows: Iterator[list[list[int]]], Y: list[list[str]] | None, labels: list[str]) -> None:
    number = {label: str(k + 1) for k, label in enumerate(labels)}
    with open(path, "w") as file:
        for i, sentence in enumerate(rows):
            for t, features in enumerate(sentence):
                label = number[Y[i][t]] if Y is not None else ""
                file.write(f"{label} |f {' '.join(map(str, features))}\n")
            file.write("\n")


def _drive_vw(arguments: str) -> None:
    from vowpalwabbit import pyvw

    workspace = pyvw.Workspace(f"{arguments} --quiet")
    if not workspace.parser_ran:
        workspace.run_parser()
    workspace.finish()


# -- dlib -------------------------------------------------------------------------------------------------------------
def dlib_segmenter(task: Task, options: Any) -> dict[str, Any]:
    """dlib's structural SVM for segments, BIO model, no features but ours."""
    import dlib

    clock = Clock()
    parameters = dlib.segmenter_params()
    parameters.use_BIO_model = True
    parameters.use_high_order_features = False
    parameters.allow_negative_weights = True
    parameters.window_size = 1
    parameters.num_threads = 1
    parameters.C = DLIB_C * len(task.X_train)
    with clock("hand_over"):
        samples, segments = dlib.sparse_vectorss(), dlib.rangess()
        for sentence, y in zip(_rows(task, "train"), task.Y_train):
            samples.append(_dlib_sentence(dlib, sentence))
            spans = dlib.ranges()
            for lo, hi in _spans(y):
                spans.append(dlib.range(lo, hi))
            segments.append(spans)
    with clock("optimise"):
        segmenter = dlib.train_sequence_segmenter(samples, segments, parameters)
    train_memory = peak_memory_mb()
    rounds = []
    for _ in range(options.rounds):
        tagging, predicted = Clock(), []
        for sentence in _rows(task, "test"):
            with tagging("hand_over"):
                sample = _dlib_sentence(dlib, sentence)
            with tagging("decode"):
                predicted.append(_labels([(span.begin, span.end) for span in segmenter(sample)], len(sentence)))
        rounds.append(tagging.sums(ready=("hand_over", "decode")))
    return {
        "train": clock.sums(ready=("hand_over", "optimise")),
        "tag": best(rounds),
        "memory": {"train": train_memory, "all": peak_memory_mb()},
        **accuracy_of(task, predicted),
    }


def _dlib_sentence(dlib: Any, sentence: list[list[int]]) -> Any:
    vectors = dlib.sparse_vectors()
    for features in sentence:
        vector = dlib.sparse_vector()
        for feature in features:
            vector.append(dlib.pair(feature, 1.0))
        vectors.append(vector)
    return vectors


def _spans(y: list[str]) -> list[tuple[int, int]]:
    """Half-open spans of B-X, I-X, O labels."""
    starts = [t for t, label in enumerate(y) if label[0] == "B"]
    return [(t, next((s for s in range(t + 1, len(y)) if y[s][0] != "I"), len(y))) for t in starts]


def _labels(spans: list[tuple[int, int]], n_tokens: int) -> list[str]:
    y = ["O"] * n_tokens
    for lo, hi in spans:
        y[lo:hi] = ["B-X"] + ["I-X"] * (hi - lo - 1)
    return y


# -- pytorch-crf ------------------------------------------------------------------------------------------------------
def pytorch_crf(task: Task, options: Any) -> dict[str, Any]:
    """Summed feature embeddings (one number per label), torchcrf's layer, full-batch L-BFGS on Accord's objective."""
    import torch
    from torchcrf import CRF

    torch.set_num_threads(1)
    torch.manual_seed(0)
    labels = sorted({label for y in task.Y_train for label in y})
    with np.load(task.folder / "train.npz") as file:
        n_dims = int(file["n_dims"])
    clock = Clock()
    with clock("hand_over"):
        batch = _torch_batch(torch, task, "train")
        tags = _padded(torch, [[labels.index(label) for label in y] for y in task.Y_train])
    scores = torch.nn.EmbeddingBag(n_dims, len(labels), mode="sum")
    layer = CRF(len(labels), batch_first=True)
    parameters = [*scores.parameters(), *layer.parameters()]
    for parameter in parameters:
        torch.nn.init.zeros_(parameter)
    optimizer = torch.optim.LBFGS(
        parameters,
        max_iter=300,
        history_size=6,
        tolerance_grad=1e-4,
        tolerance_change=1e-9,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Any:
        optimizer.zero_grad()
        norm = sum((parameter**2).sum() for parameter in parameters)
        value = norm / (2 * C) - layer(_emissions(torch, scores, batch), tags, mask=batch[2], reduction="sum")
        value.backward()
        return value

    with clock("optimise"):
        optimizer.step(closure)
    objective = float(closure().detach())
    train_memory = peak_memory_mb()
    rounds = []
    for _ in range(options.rounds):
        tagging = Clock()
        with torch.no_grad():
            with tagging("hand_over"):
                test = _torch_batch(torch, task, "test")
            with tagging("decode"):
                found = layer.decode(_emissions(torch, scores, test), mask=test[2])
        rounds.append(tagging.sums(ready=("hand_over", "decode")))
    return {
        "train": clock.sums(ready=("hand_over", "optimise")),
        "tag": best(rounds),
        "memory": {"train": train_memory, "all": peak_memory_mb()},
        "objective": objective,
        **accuracy_of(task, [[labels[k] for k in y] for y in found]),
    }


def _padded(torch: Any, sequences: list[list[int]]) -> Any:
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(s) for s in sequences], batch_first=True)


def _torch_batch(torch: Any, task: Task, part: str) -> tuple[Any, Any, Any]:
    """All feature numbers, where each token's begin, and which places of the padded batch are tokens."""
    with np.load(task.folder / f"{part}.npz") as file:
        indptr, indices, offsets = file["indptr"], file["indices"], file["offsets"]
    lengths = torch.tensor(np.diff(offsets))
    mask = torch.arange(int(lengths.max()))[None, :] < lengths[:, None]
    return torch.tensor(indices.astype(np.int64)), torch.tensor(indptr[:-1]), mask


def _emissions(torch: Any, scores: Any, batch: tuple[Any, Any, Any]) -> Any:
    indices, starts, mask = batch
    return torch.zeros(*mask.shape, scores.embedding_dim).masked_scatter(mask[:, :, None], scores(indices, starts))
