"""
Names in sentences
==================

Five labeled sentences make a first tagger. `accord.plots.entities` marks what it finds in new text, and notebooks show
it right below the cell.
"""

# sphinx_gallery_thumbnail_path = 'images/thumb-entities.png'
from accord import CRF, Sequence, plots

texts = [
    "Tom comes from London.",
    "Ana lives in Madrid.",
    "Last year Eva moved to Paris.",
    "Nobody in Oslo knows Jonas.",
    "Ben and Clara left Rome in May.",
]
labels = [
    ["B-PER", "O", "O", "B-LOC", "O"],
    ["B-PER", "O", "O", "B-LOC", "O"],
    ["O", "O", "B-PER", "O", "O", "B-LOC", "O"],
    ["O", "O", "B-LOC", "O", "B-PER", "O"],
    ["B-PER", "O", "B-PER", "O", "B-LOC", "O", "O", "O"],
]
model = CRF(Sequence(constraints="iob2")).fit(texts, labels)

# %%
# `predict_spans` gives places in the text, so nothing of it is lost. ("June" is a mistake: after five sentences,
# there will be some.)

new = ["Jonas and Eva live in Lisbon.", "Mia moved to Bergen in June."]
spans = model.predict_spans(new)
print(spans)

# %%
# The same as a picture. ``plots.entities(...).save("names.html")`` writes it as a page.

plots.entities(new, spans)
