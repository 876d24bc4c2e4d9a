"""A tagged sentence: names of persons, places and organisations, with and without unlabeled sentences."""

from __future__ import annotations

import html
from typing import Any

from accord.cli.demo.scene import Scene

N_LABELED, N_UNLABELED, N_TEST = 20, 500, 300
Labels = list[str]
Rows = list[tuple[str, Labels]]  # who says so, and the labels
_TERMINAL = {"PER": "cyan", "LOC": "green", "ORG": "magenta"}


def names(seed: int) -> Scene:
    """Train a tagger on labeled sentences, and another one on these and unlabeled ones; show where they differ."""
    from accord import CRF, ConcatenatedViews, Sequence, TokenFeatures, TypeConsistency
    from accord.datasets import embedded_ner
    from accord.learners.tagger import word_vectors

    X, Y = embedded_ner(N_LABELED + N_UNLABELED, random_state=seed)
    X_test, Y_test = embedded_ner(N_TEST, random_state=seed + 1)
    few: list[Any] = [*Y[:N_LABELED], *[None] * N_UNLABELED]
    iob2, words = Sequence(constraints="iob2"), TokenFeatures()
    alone = CRF(iob2, words).fit(X[:N_LABELED], few[:N_LABELED]).predict(X_test)
    # What `Tagger` trusts most; it would also ask held-out labels, whose learners take long to compile.
    vectors = CRF(iob2, ConcatenatedViews([words, *word_vectors()]), C=30.0, tol=1e-4, max_iter=100)
    recipe = TypeConsistency(vectors, strength=0.4, student_view=words, random_state=seed)
    helped = recipe.fit(X, few).predict(X_test)
    wrong, still = ([_mistakes(y, found) for y, found in zip(Y_test, all_found)] for all_found in (alone, helped))
    better = [i for i in range(N_TEST) if still[i] < wrong[i]]
    worse = [i for i in range(N_TEST) if still[i] > wrong[i]]
    shown = [  # the plainest example of both
        (title, min(found, key=lambda i: (min(wrong[i], still[i]), i)))
        for title, found in (("made right", better), ("made wrong", worse))
        if found
    ]
    n_words = sum(map(len, Y_test)) / 100
    lesson = (
        f"{N_LABELED} labeled sentences are enough for a tagger that gets {sum(wrong) / n_words:.1f} % of the words in "
        f"new sentences wrong; {N_UNLABELED} more sentences without any labels bring that to "
        f"{sum(still) / n_words:.1f} % (of {N_TEST} sentences {len(better)} became better and {len(worse)} worse)."
    )
    blocks = [
        (title, X_test[i], [("without unlabeled", alone[i]), ("with unlabeled", helped[i]), ("truth", Y_test[i])])
        for title, i in shown
    ]
    text = "\n\n".join(_as_text(f"one that unlabeled sentences {title}", x, rows) for title, x, rows in blocks)
    picture = "".join(_as_html(f"One that unlabeled sentences {title}", x, rows) for title, x, rows in blocks)
    legend = "PER marks a person, LOC a place, ORG an organisation."
    return Scene("A tagged sentence", lesson, text, f"<figure>{picture}</figure>", legend)


def _mistakes(truth: Labels, found: Labels) -> int:
    return sum(a != b for a, b in zip(truth, found))


def _pieces(words: list[str], labels: Labels) -> list[tuple[str, str]]:
    """The words of a sentence, those of a name together with what it names, the others with nothing."""
    from accord.datasets.label_spans import extract_spans

    pieces, end = [], 0
    for kind, start, stop in extract_spans(labels):
        pieces += [(word, "") for word in words[end:start]]
        pieces.append((" ".join(words[start:stop]), kind))
        end = stop
    return pieces + [(word, "") for word in words[end:]]


def _as_text(title: str, words: list[str], rows: Rows) -> str:
    import click

    lines = [f"{title}:"]
    for name, labels in rows:
        marked = (
            click.style(f"[{piece} {kind}]", fg=_TERMINAL.get(kind), bold=True) if kind else piece
            for piece, kind in _pieces(words, labels)
        )
        lines.append(f"  {name:<18} {' '.join(marked)}")
    return "\n".join(lines)


def _as_html(title: str, words: list[str], rows: Rows) -> str:
    lines = []
    for name, labels in rows:
        marked = (
            f'<mark class="{html.escape(kind)}">{html.escape(piece)} <small>{html.escape(kind)}</small></mark>'
            if kind
            else html.escape(piece)
            for piece, kind in _pieces(words, labels)
        )
        lines.append(f"<dt>{name}</dt><dd>{' '.join(marked)}</dd>")
    return f'<p class="quiet">{html.escape(title)}</p><dl class="tagged">{"".join(lines)}</dl>'
