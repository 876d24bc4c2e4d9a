"""A tree: a grammar from a few parsed sentences, re-estimated with sentences that nobody parsed."""

from __future__ import annotations

import warnings
from typing import Any

from accord.cli.demo.scene import Scene

N_LABELED, N_UNLABELED, N_TEST = 40, 200, 200
_LENGTH = range(7, 10)  # words of the sentence that is drawn: a tree worth looking at, and not too wide for a phone


def trees(seed: int) -> Scene:
    """Train a grammar on trees, and another one on these and plain sentences; draw what the latter finds."""
    from accord import PCFG, NoParseWarning, Tree
    from accord.datasets import grammar_sentences
    from accord.evaluation import draw_svg, draw_text

    X, Y = grammar_sentences(N_LABELED + N_UNLABELED + N_TEST, max_depth=7, random_state=seed)
    X_test, Y_test = X[-N_TEST:], Y[-N_TEST:]
    few: list[Any] = [*Y[:N_LABELED], *[None] * N_UNLABELED]
    models = PCFG(Tree()), PCFG(Tree(), unlabeled_weight=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoParseWarning)  # a tree is found all the same, and counts as it is
        for model, n in zip(models, (N_LABELED, len(few))):
            model.fit(X[:n], few[:n])
        alone, helped = (100 * model.score(X_test, Y_test) for model in models)
        drawn = next((x for x in X_test if len(x) in _LENGTH and len(set(x)) == len(x)), X_test[0])
        tree = models[1].predict([drawn])[0]
    lesson = (
        f"A grammar read off {N_LABELED} parsed sentences finds trees of new ones with {alone:.1f} % of the phrases "
        f"right (F1); with {N_UNLABELED} more sentences that nobody parsed it is {helped:.1f} %."
    )
    legend = "S is a sentence, NP a noun phrase, VP a verb phrase, PP a phrase with a preposition, SBAR a clause."
    return Scene("A parse tree", lesson, draw_text(tree, width=100), f"<figure>{draw_svg(tree)}</figure>", legend)
