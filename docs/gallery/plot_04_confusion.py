"""
Which labels get confused
=========================

Organisations are often named after places. A table of confusions shows it: each row is a true label, each column what
the tagger said.
"""

import matplotlib.pyplot as plt

from accord import CRF, Sequence, plots
from accord.datasets import embedded_ner

X, Y = embedded_ner(30, random_state=0)
new, truth = embedded_ner(300, random_state=1)
found = CRF(Sequence(constraints="iob2")).fit(X, Y).predict(new)

order = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
plots.confusion(truth, found, labels=order)
plt.show()
