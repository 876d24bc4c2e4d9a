"""The token features of the papers' sequence experiments (thesis, Tables 5.3 and 5.4)."""

from __future__ import annotations

from accord.views.text import TokenFeatures


def spanish_features() -> TokenFeatures:
    """Table 5.4: the token and its surface clues, and those of its neighbours; first in the sentence, in brackets."""
    return TokenFeatures(window=1, lower=False, affixes=None, shape=False)


def gene_features() -> TokenFeatures:
    """Table 5.3: the token, its letter 2-, 3- and 4-grams and its surface clues, in a window of five tokens."""
    return TokenFeatures(window=2, lower=False, affixes=None, ngrams=(2, 3, 4), shape=False, position=False)
