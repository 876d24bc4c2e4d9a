"""
What follows what
=================

A tagger of sequences learns more than words: it learns which label likes to follow which. Blue pairs are liked, red
ones are avoided, and a dot marks what the label scheme forbids (no ``I-PER`` after an ``O``).
"""

import matplotlib.pyplot as plt

from accord import CRF, Sequence, plots
from accord.datasets import embedded_ner

X, Y = embedded_ner(150, random_state=0)
model = CRF(Sequence(constraints="iob2")).fit(X, Y)

plots.transitions(model)
plt.show()
