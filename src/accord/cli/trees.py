"""Models that predict parse trees: how their output is written, and what the commands tell about them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from accord.cli.reading import Batch
from accord.cli.terminal import print_table
from accord.exceptions import InputError

TREE_FORMATS = ("brackets", "text", "svg", "json")
_NAMED = 10  # sentences without a parse that are named one by one
_RATES = {"precision": "precision", "recall": "recall", "bracket_f1": "F1", "exact": "exact match",
          "tag_accuracy": "tags", "no_crossing": "no crossing"}  # fmt: skip


class Parsed(NamedTuple):
    """The trees of one sentence, best first, with scores if several were asked for; none for an empty sentence."""

    words: list[str]
    trees: list[tuple[Any, float | None]]
    marginals: dict[tuple[str, int, int], float] | None = None


# -- predicting ---------------------------------------------------------------------------------------------------
class Parser:
    """Parses batch by batch and keeps count of the sentences that the grammar cannot parse."""

    def __init__(self, model: Any, k_best: int | None, marginals: bool) -> None:
        self.model, self.k, self.marginals = model, k_best, marginals
        self.n = 0
        self.failed: list[int] = []  # counted from 1

    def __call__(self, batch: Batch) -> list[Parsed]:
        """The trees of a batch."""
        from accord.exceptions import NoParseWarning

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always", NoParseWarning)
            trees = self.model.predict(batch.X)
        for warning in seen:
            if isinstance(warning.message, NoParseWarning):
                self.failed += [self.n + i + 1 for i in warning.message.indices]
            else:
                warnings.warn(warning.message, stacklevel=2)
        best = self.model.predict_k_best(batch.X, self.k) if self.k else [[] for _ in trees]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoParseWarning)
            chances = self.model.predict_marginals(batch.X) if self.marginals else [None] * len(trees)
        self.n += len(trees)
        return [
            Parsed(words, (several or [(tree, None)]) if words else [], chance)
            for words, tree, several, chance in zip(batch.tokens or [], trees, best, chances)
        ]

    def tell(self) -> None:
        """Name the sentences without a parse on standard error."""
        if not self.failed:
            return
        named = ", ".join(map(str, self.failed[:_NAMED])) + (", ..." if len(self.failed) > _NAMED else "")
        what = "sentence" if len(self.failed) == 1 else "sentences"
        click.echo(
            f"accord: warning: no parse for {len(self.failed):,} of {self.n:,} sentences ({what} {named}): the grammar "
            "has no tree over all their words, and the largest parts that it has are joined below the root",
            err=True,
        )


# -- writing ------------------------------------------------------------------------------------------------------
def _brackets(p: Parsed, several: bool) -> str:
    from accord.datasets.trees import bracketed

    if not several:
        return "".join(bracketed(tree) for tree, _ in p.trees) + "\n"
    return "".join(f"{_score(score)}\t{bracketed(tree)}\n" for tree, score in p.trees) + "\n"


def _drawing(p: Parsed, several: bool) -> str:
    from accord.evaluation import draw_text

    heads = [f"# {rank} {_score(score)}\n" if several else "" for rank, (_, score) in enumerate(p.trees, 1)]
    return "".join(f"{head}{draw_text(tree)}\n\n" for head, (tree, _) in zip(heads, p.trees)) or "\n"


def _json(p: Parsed, several: bool) -> str:
    out: dict[str, Any] = {"tokens": p.words}
    if several:
        out["k_best"] = [{"tree": tree, "score": score} for tree, score in p.trees]
    else:
        out["tree"] = p.trees[0][0] if p.trees else None
    if p.marginals is not None:
        listed = sorted(p.marginals.items(), key=lambda item: (item[0][1], -item[0][2], item[0][0]))
        out["marginals"] = [[*constituent, round(chance, 6)] for constituent, chance in listed]
    try:
        return json.dumps(out, ensure_ascii=False) + "\n"
    except RecursionError:
        raise InputError("a tree is too deep for JSON; use --output-format brackets") from None


def _score(score: float | None) -> str:
    return "-inf" if score is None else f"{score:.6g}"


_WRITERS: dict[str, Callable[[Parsed, bool], str]] = {"brackets": _brackets, "text": _drawing, "json": _json}


def write_trees(parser: Parser, chunks: Iterator[Batch], output_format: str, target: Any) -> None:
    """Parse and write chunk by chunk to an open stream, or to `Pictures`."""
    from accord.progress import Progress

    drawing = isinstance(target, Pictures)
    with Progress(None, "predict", enabled=drawing or not target.isatty()) as progress:
        for chunk in chunks:
            for parsed in parser(chunk):
                if drawing:
                    target.add(parsed)
                else:
                    target.write(_WRITERS[output_format](parsed, parser.k is not None))
            if not drawing:
                target.flush()
            progress.advance(len(chunk.Y))


class Pictures:
    """SVG files in a folder, named by the numbers of sentences (and of trees, if there are several); or, for ``-``,
    the picture of a single sentence on standard output."""

    def __init__(self, folder: str) -> None:
        self.folder = None if folder == "-" else Path(folder)
        self.n = 0
        self.single: list[str] = []
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def add(self, parsed: Parsed) -> None:
        """Draw the trees of the next sentence."""
        from accord.evaluation import draw_svg

        self.n += 1
        for rank, (tree, _) in enumerate(parsed.trees, 1):
            picture = draw_svg(tree) + "\n"
            if self.folder is None:
                self.single.append(picture)
                if len(self.single) > 1:
                    raise InputError(
                        "standard output takes one picture; give a folder for more: --output DIR, or one sentence"
                    )
            else:
                part = f"-{rank}" if len(parsed.trees) > 1 else ""
                (self.folder / f"{self.n:04d}{part}.svg").write_text(picture, "utf-8")

    def close(self) -> None:
        """Print the single picture."""
        for picture in self.single:
            click.echo(picture, nl=False)


# -- scores -------------------------------------------------------------------------------------------------------
def tree_scores(y_true: list[Any], y_pred: list[Any], collins: bool) -> dict[str, Any]:
    """Figures of merit by name; as the papers count, or as EVALB does with its parameter file COLLINS."""
    from accord.evaluation import COLLINS, PAPERS, bracket_scores

    found = bracket_scores(y_true, y_pred, options=COLLINS if collins else PAPERS)
    if not found.n_sentences:
        raise InputError("no sentence is left to score: none has a predicted tree")
    gold, predicted, matched = found.totals
    return {
        "n_examples": found.n_sentences,
        "n_tokens": int(found.words.sum()),
        "scoring": "collins" if collins else "papers",
        "precision": found.precision,
        "recall": found.recall,
        "bracket_f1": found.f1,
        "exact": found.exact,
        "tag_accuracy": found.tag_accuracy,
        "no_crossing": found.no_crossing,
        "mean_crossing": found.mean_crossing,
        "n_true": gold,
        "n_pred": predicted,
        "n_correct": matched,
    }


def print_tree_scores(scores: dict[str, Any], title: str) -> None:
    """The scores as a table."""
    size = f"{scores['n_examples']:,} sentences, {scores['n_tokens']:,} words, constituents as in {scores['scoring']}"
    rows = [[label, f"{100 * scores[name]:.2f} %"] for name, label in _RATES.items()]
    rows.append(["crossing constituents per sentence", f"{scores['mean_crossing']:.3f}"])
    rows += [[f"constituents, {what}", f"{scores[name]:,}"] for name, what in
             (("n_true", "true"), ("n_pred", "predicted"), ("n_correct", "in both"))]  # fmt: skip
    print_table(f"{title} ({size})", ["metric", "value"], rows)
