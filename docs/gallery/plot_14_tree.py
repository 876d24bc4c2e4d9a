"""
A parse tree
============

A grammar read off forty parsed sentences finds the trees of new ones. `accord.plots.tree` draws them;
``accord.evaluation.draw_text`` does the same for a terminal.
"""

# sphinx_gallery_thumbnail_path = 'images/thumb-tree.png'
from accord import PCFG, Tree, plots
from accord.datasets import grammar_sentences
from accord.evaluation import draw_text

X, Y = grammar_sentences(40, max_depth=7, random_state=0)
parser = PCFG(Tree()).fit(X, Y)

sentence = next(x for x in grammar_sentences(200, max_depth=7, random_state=1)[0] if len(x) in (8, 9))
tree = parser.predict([sentence])[0]
print(draw_text(tree))

# %%

plots.tree(tree)
