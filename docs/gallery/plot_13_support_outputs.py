"""
What holds up the margin
========================

A support vector machine of sequences rests on a few *wrong* label sequences: those that came closest to winning.
Looking at them shows what the machine finds hard.
"""

import matplotlib.pyplot as plt

from accord import Sequence, StructuredSVM, plots
from accord.datasets import embedded_ner

X, Y = embedded_ner(30, random_state=0)
svm = StructuredSVM(Sequence(constraints="iob2"), C=0.1, solver="cutting-plane", tol=0.05, random_state=0).fit(X, Y)
support = svm.support_outputs()
print(f"{len(support)} wrong outputs of {len({i for i, *_ in support})} sentences hold up the margin")

# %%
# Most of the weight is on a few of them.

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.bar(range(len(support)), [alpha for *_, alpha in support], color="#0072B2")
axes.set(xlabel="wrong outputs, strongest first", ylabel="weight (dual variable)")
plt.show()

# %%
# The strongest one, and what is right.

example, wrong, alpha = support[0]
plots.entities([X[example], X[example]], [wrong, Y[example]])
