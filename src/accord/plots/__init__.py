"""Pictures of data, models and predictions.

| function | shows |
|---|---|
| `learning_curve` | error against the number of labels, with and without unlabeled examples |
| `confusion` | which labels are taken for which |
| `transitions` | which label a model likes to see after which |
| `entities` | names marked in their sentences |
| `marginals` | how sure a model is of every word of a sentence |
| `clusters` | records that belong together |
| `tree` | a parse tree |

The first three return axes of matplotlib, and draw into yours if you give `ax`. The others return `Html`, which
notebooks show, and which `save` writes as a page.
"""

from accord.plots.charts import confusion, learning_curve, transitions
from accord.plots.markup import Html, clusters, entities, marginals, tree

__all__ = ["Html", "clusters", "confusion", "entities", "learning_curve", "marginals", "transitions", "tree"]
