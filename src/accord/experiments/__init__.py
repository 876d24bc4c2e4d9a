"""The papers' experiments, one file per table or figure; `REGISTRY` has them by name.

| name | file | of the papers |
|---|---|---|
| supervised-sequences | `supervised_sequences` | svm_interdependent, Tables 1.2 and 1.3 |
| hierarchical-classification | `hierarchical_classification` | svm_interdependent, Table 1.1 |
| strong-sequences | `strong_sequences` | none: do unlabeled sentences pay against strong baselines? |
| strong-classes | `strong_classes` | none: two natural views and a handful of labels |
| hmm-few-labels | `hmm_few_labels` | thesis 5.4, HMM at 5, 10 and 20 labeled sentences |
"""

from accord.experiments.base import Experiment
from accord.experiments.hierarchical_classification import HierarchicalClassification
from accord.experiments.hmm_few_labels import FewLabels
from accord.experiments.strong_classes import StrongClasses
from accord.experiments.strong_sequences import StrongSequences
from accord.experiments.supervised_sequences import SupervisedSequences

REGISTRY: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        SupervisedSequences(),
        HierarchicalClassification(),
        FewLabels(),
        StrongSequences(),
        StrongClasses(),
    )
}

__all__ = ["REGISTRY", "Experiment"]
