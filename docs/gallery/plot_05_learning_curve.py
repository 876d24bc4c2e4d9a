"""
A learning curve, with and without unlabeled text
=================================================

How many labels do you need? Draw the error against their number. The second tagger also reads sentences that nobody
labeled: it learns from them which words keep the same company, and starts far better.
"""

import matplotlib.pyplot as plt

from accord import CRF, ConcatenatedViews, DistributionalFeatures, Sequence, TokenFeatures, plots
from accord.datasets import embedded_ner

X, Y = embedded_ner(300, random_state=0)
X_test, Y_test = embedded_ner(200, random_state=1)

names, words = Sequence(constraints="iob2"), TokenFeatures()
company = ConcatenatedViews([words, DistributionalFeatures((16, 64), n_components=32)])
models = {
    "labels alone": CRF(names, words),
    "and 300 unlabeled sentences": CRF(names, company),
}
axes = plots.learning_curve(models, X, Y, X_test, Y_test, sizes=(5, 10, 20, 40), repetitions=2, random_state=0)
axes.set_xlabel("labeled sentences")
axes.set_ylabel("words labeled wrongly (%)")
plt.show()
