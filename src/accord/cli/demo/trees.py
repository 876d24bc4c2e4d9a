"""A tree: a grammar from a few parsed sentences, re-estimated with sentences that nobody parsed."""

from __future__ import annotations

from typing import Any

from accord.cli.demo.scene import Scene

N_LABELED, N_UNLABELED, N_TEST = 10, 200, 200
_LENGTH = range(7, 10)  # words of the sentence that is drawn: a tree worth looking at, and not too wide for a phone


def trees(seed: int) -> Scene:
    """Train a grammar on trees, and another one on these and plain sentences; draw what the latter finds."""
    from accord import PCFG, Tree
    from accord.datasets import grammar_sentences
    from accord.evaluation import draw_svg, draw_text

    X, Y = grammar_sentences(N_LABELED + N_UNLABELED + N_TEST, max_depth=8, random_state=seed)
    X_test, Y_test = X[-N_TEST:], Y[-N_TEST:]
    few: list[Any] = [*Y[:N_LABELED], *[None] * N_UNLABELED]
    alone = PCFG(Tree()).fit(X[:N_LABELED], few[:N_LABELED])
    helped = PCFG(Tree(), unlabeled_weight=0.1).fit(X[: len(few)], few)
    scores = [100 * model.score(X_test, Y_test) for model in (alone, helped)]
    drawn = next((x for x in X_test if len(x) in _LENGTH and len(set(x)) == len(x)), X_test[0])
    tree = helped.predict([drawn])[0]
    change = "up to" if scores[1] > scores[0] else "down to" if scores[1] < scores[0] else "still"
    lesson = (
        f"A grammar read off {N_LABELED} parsed sentences finds new trees with {scores[0]:.0f} % of the phrases right "
        f"(F1); {N_UNLABELED} sentences that nobody parsed make that {change} {scores[1]:.0f} %."
    )
    return Scene("A parse tree", lesson, draw_text(tree, width=100), f"<figure>{draw_svg(tree)}</figure>")
