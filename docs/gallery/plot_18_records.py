"""
Records about the same person
=============================

A table in which people stand several times, misspelt and with gaps. Without a single label, `Deduplicator` finds what
belongs together.
"""

# sphinx_gallery_thumbnail_path = 'images/thumb-records.png'
from accord import Deduplicator, plots
from accord.datasets import people
from accord.evaluation import pair_counts

table, who = people(80, random_state=0)
found = Deduplicator(random_state=0).fit(table).predict(table)
counts = pair_counts(who, found)
print(f"{counts.n_correct} of {counts.n_true} pairs found, {counts.n_pred - counts.n_correct} wrong")

# %%
# The largest clusters, a colour each.

plots.clusters(table, found, limit=4)
