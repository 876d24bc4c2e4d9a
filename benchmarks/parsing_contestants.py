"""Who parses in ``parsing.py``, and groups of sentences by their length."""

LENGTHS = ("10", "20", "40")
GROUPS = ("6-15", *LENGTHS)
OURS = ("Accord cky_trees.parse", "Accord PCFG.predict", "Accord, 10 best")
DISCO = ("disco-dop", "disco-dop, 10 best")
# Slow ones: how many sentences of each group, within how many processor seconds
SLOW: dict[str, dict[str, tuple[int, float]]] = {
    "NLTK ViterbiParser": {"6-15": (3, 60), "10": (3, 60), "20": (1, 120), "40": (1, 400)},
    "NLTK InsideChartParser": {"6-15": (1, 40)},
    "lark CYK": {"6-15": (8, 30), "10": (6, 30), "20": (2, 40), "40": (1, 100)},
    "genlm-grammar CKY": {"6-15": (8, 30), "10": (6, 30), "20": (2, 40), "40": (1, 100)},
    "torch-struct CKY": {"6-15": (4, 30), "10": (3, 30), "20": (2, 30), "40": (1, 60)},
}
LEFT_OUT = {
    ("torch-struct CKY", "horizontal=None"): "its dense table of rules would take 91 GB",
}
