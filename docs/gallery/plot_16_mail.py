"""
Batches of mail
===============

Spam and newsletters come in batches: many mails from one template, none quite like the other. `BatchDetector` sees one
mail after the other and decides at once. Every row is a batch that it found, every point a mail.
"""

from collections import Counter

import matplotlib.pyplot as plt

from accord import BatchDetector
from accord.evaluation import pair_counts
from accord.mail.generator import MailGenerator

stream = list(MailGenerator(0).stream(300))
detector = BatchDetector()
found = [detector.assign(mail.raw, received=mail.received) for mail in stream]
truth = [mail.batch for mail in stream]

counts = pair_counts(truth, found)
print(f"{100 * counts.precision:.0f} % of the joined pairs belong together; {100 * counts.recall:.0f} % were found")

# %%

figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
largest = [batch for batch, _ in Counter(found).most_common(10)]
colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
for row, batch in enumerate(largest):
    members = [k for k, one in enumerate(found) if one == batch]
    axes.plot(members, [row] * len(members), "o", markersize=5, color=colours[row % 5])
axes.set_yticks(range(len(largest)), [f"batch {batch}" for batch in largest])
axes.invert_yaxis()
axes.set_xlabel("mails, in the order in which they came")
plt.show()
