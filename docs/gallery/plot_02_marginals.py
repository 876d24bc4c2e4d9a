"""
How sure is the tagger?
=======================

A conditional random field knows a probability for every label of every word. Words it has never seen are the ones it
is least sure of, and those are worth a label.
"""

# sphinx_gallery_thumbnail_path = 'images/thumb-marginals.png'
from accord import CRF, Sequence, plots
from accord.datasets import embedded_ner

X, Y = embedded_ner(40, random_state=0)
model = CRF(Sequence(constraints="iob2")).fit(X, Y)

new, truth = embedded_ner(200, random_state=1)
unsure = min(range(200), key=lambda i: model.predict_marginals([new[i]])[0].max(axis=1).min())
print(" ".join(new[unsure]))

# %%
# Every column is a word, every row a label. A column with several shades is a word the model cannot decide about.

plots.marginals(model, new[unsure])

# %%
# What is right, for comparison.

plots.entities([new[unsure]], [truth[unsure]])
