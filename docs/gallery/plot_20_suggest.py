"""
What to label next
==================

You have time for forty labels. Which ones? `suggest` picks the sentences the model can learn most from. Labels that are
asked for beat labels that are drawn at random.
"""

import matplotlib.pyplot as plt
import numpy as np

from accord import CRF, Sequence, suggest
from accord.datasets import embedded_ner

X, Y = embedded_ner(250, random_state=0)
X_test, Y_test = embedded_ner(200, random_state=1)


def curve(asked: bool) -> list[float]:
    """Errors while labels are added, ten at a time."""
    labeled, errors, rng = list(range(10)), [], np.random.default_rng(0)
    while len(labeled) <= 50:
        few = [Y[i] if i in labeled else None for i in range(len(X))]
        model = CRF(Sequence(constraints="iob2")).fit(X, few)
        errors.append(100 * (1 - model.score(X_test, Y_test)))
        rest = [i for i in range(len(X)) if i not in labeled]
        chosen = [s.index for s in suggest(model, X, 10, labeled=labeled)] if asked else rng.choice(rest, 10, False)
        labeled += [int(i) for i in chosen]
    return errors


figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for asked, name, colour in ((False, "drawn at random", "#D55E00"), (True, "suggested", "#0072B2")):
    axes.plot(range(10, 60, 10), curve(asked), "o-", color=colour, label=name)
axes.set(xlabel="labeled sentences", ylabel="words labeled wrongly (%)")
axes.set_ylim(bottom=0)
axes.legend()
plt.show()
