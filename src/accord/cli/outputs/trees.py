"""Parse trees: how they are predicted, written as brackets, drawings and JSON, and scored."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from accord.cli.outputs.labels import label_sizes
from accord.cli.outputs.results import Prediction, Predictor, Tokens
from accord.cli.terminal import print_table
from accord.exceptions import InputError, NoParseWarning

_NAMED = 10  # sentences without a parse that are named one by one
_RATES = {"precision": "precision", "recall": "recall", "bracket_f1": "F1", "exact": "exact match",
          "tag_accuracy": "tags", "no_crossing": "no crossing"}  # fmt: skip


# -- predicting ---------------------------------------------------------------------------------------------------
class Parser(Predictor):
    """Parses batch by batch and keeps count of the sentences that the grammar cannot parse."""

    def __init__(self, model: Any, k_best: int | None = None, marginals: bool = False) -> None:
        super().__init__(model, k_best, marginals)
        self.n = 0
        self.failed: list[int] = []  # counted from 1

    def __call__(self, X: Any, tokens: Sequence[Sequence[str]] | None) -> list[Prediction]:
        """The trees of a batch; an empty sentence has none."""
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always", NoParseWarning)
            trees = self.model.predict(X)
        for warning in seen:
            if isinstance(warning.message, NoParseWarning):
                self.failed += [self.n + i + 1 for i in warning.message.indices]
            else:
                warnings.warn(warning.message, stacklevel=2)
        best = self.model.predict_k_best(X, self.k_best) if self.k_best else [None] * len(trees)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoParseWarning)
            chances = self.model.predict_marginals(X) if self.marginals else [None] * len(trees)
        self.n += len(trees)
        out = []
        for words, tree, several, chance in zip(tokens or [], trees, best, chances):
            if self.k_best:
                several = (several or [(tree, None)]) if words else []
            out.append(Prediction(tree if words else None, chance, several))
        return out

    def tell(self) -> None:
        """Name the sentences without a parse."""
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
def brackets(_: Tokens, p: Prediction, __: Sequence[str]) -> str:
    """A tree per line; several are lines ``score<TAB>tree`` with a blank line after them."""
    from accord.datasets.trees import bracketed

    if p.k_best is None:
        return ("" if p.y is None else bracketed(p.y)) + "\n"
    return "".join(f"{_score(score)}\t{bracketed(tree)}\n" for tree, score in p.k_best) + "\n"


def drawing(_: Tokens, p: Prediction, __: Sequence[str]) -> str:
    """A tree drawn with lines of characters; each of several follows a line ``# rank score``."""
    from accord.evaluation import draw_text

    heads = [f"# {rank} {_score(score)}\n" for rank, (_, score) in enumerate(p.k_best or (), 1)] or [""]
    return "".join(f"{head}{draw_text(tree)}\n\n" for head, tree in zip(heads, _trees(p))) or "\n"


def json_tree(tokens: Tokens, p: Prediction, _: Sequence[str]) -> str:
    """One object per sentence."""
    out: dict[str, Any] = {"tokens": tokens}
    if p.k_best is not None:
        out["k_best"] = [{"tree": tree, "score": score} for tree, score in p.k_best]
    else:
        out["tree"] = p.y
    if p.marginals is not None:
        listed = sorted(p.marginals.items(), key=lambda item: (item[0][1], -item[0][2], item[0][0]))
        out["marginals"] = [[*constituent, round(chance, 6)] for constituent, chance in listed]
    try:
        return json.dumps(out, ensure_ascii=False) + "\n"
    except RecursionError:
        raise InputError("a tree is too deep for JSON; use --output-format brackets") from None


def _trees(p: Prediction) -> list[Any]:
    if p.k_best is not None:
        return [tree for tree, _ in p.k_best]
    return [] if p.y is None else [p.y]


def _score(score: float | None) -> str:
    return "-inf" if score is None else f"{score:.6g}"


class Pictures:
    """SVG files in a folder, named by the numbers of sentences (and of trees, if there are several); or, for ``-``,
    the picture of a single sentence on standard output."""

    def __init__(self, folder: str) -> None:
        self.folder = None if folder == "-" else Path(folder)
        self.n = 0
        self.single: list[str] = []
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def add(self, _: Tokens, p: Prediction) -> None:
        """Draw the trees of the next sentence."""
        from accord.evaluation import draw_svg

        self.n += 1
        trees = _trees(p)
        for rank, tree in enumerate(trees, 1):
            picture = draw_svg(tree) + "\n"
            if self.folder is None:
                self.single.append(picture)
                if len(self.single) > 1:
                    raise InputError(
                        "standard output takes one picture; give a folder for more: --output DIR, or one sentence"
                    )
            else:
                part = f"-{rank}" if len(trees) > 1 else ""
                (self.folder / f"{self.n:04d}{part}.svg").write_text(picture, "utf-8")

    def close(self) -> None:
        """Print the single picture."""
        for picture in self.single:
            click.echo(picture, nl=False)


# -- scores -------------------------------------------------------------------------------------------------------
def tree_scores(y_true: list[Any], y_pred: list[Any], scoring: str = "papers", **_: Any) -> dict[str, Any]:
    """Figures of merit by name; as the papers count, or as EVALB does with its parameter file COLLINS."""
    from accord.evaluation import COLLINS, PAPERS, bracket_scores

    found = bracket_scores(y_true, y_pred, options=COLLINS if scoring == "collins" else PAPERS)
    if not found.n_sentences:
        raise InputError("no sentence is left to score: none has a predicted tree")
    gold, predicted, matched = found.totals
    return {
        "n_examples": found.n_sentences,
        "n_tokens": int(found.words.sum()),
        "scoring": scoring,
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


def tree_sizes(model: Any) -> str:
    """How large a model is, as the end of a sentence."""
    return f", {len(model.structure_.grammar_.rules):,} rules{label_sizes(model)}"
