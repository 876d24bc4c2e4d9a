"""The papers' experiments, one file per table or figure; `REGISTRY` has them by name.

| name | file | of the papers |
|---|---|---|
| supervised-sequences | `supervised_sequences` | svm_interdependent, Tables 1.2 and 1.3 |
| supervised-parsing | `supervised_parsing` | svm_interdependent, Table 1.4 |
| co-learning-parsing | `consensus_parsing` | thesis 6.5.3, Figure 6.4 |
| hierarchical-classification | `hierarchical_classification` | svm_interdependent, Table 1.1 |
| strong-sequences | `strong_sequences` | none: do unlabeled sentences pay against strong baselines? |
| strong-classes | `strong_classes` | none: two natural views and a handful of labels |
| hmm-few-labels | `hmm_few_labels` | thesis 5.4, HMM at 5, 10 and 20 labeled sentences |
| co-learning-sequences | `consensus_sequences` | thesis 5.4.1, 5.4.2 and 6.5.2; multiview_sequential, Figures 1 and 2 |
| co-learning-splits | `consensus_splits` | thesis 5.4.4; multiview_sequential, Figure 3 |
| co-learning-classes | `consensus_classes` | thesis 6.5.1 |
| co-learning-time | `consensus_time` | thesis 5.4.3 and 6.5.4; multiview_sequential, Figure 2 |
| co-regression | `regression_faithful` | thesis 4.4.1, Figure 4.1 |
| co-regression-strong | `regression_strong` | none: does co-regression pay against tuned regression, and is it safe? |
| donations | `donations` | thesis 4.4.2, Figure 4.2 left and Table 4.2 |
| co-regression-time | `regression_time` | thesis 4.4.2, Figure 4.2 right |
| federated-rounds | `federated_rounds` | thesis 4.3, Table 4.1 |
| transduction-classes | `transduction_classes` | thesis 7.4.2, COIL; other sets of the semi-supervised benchmark |
| transduction-papers | `transduction_papers` | thesis 7.4.2 and 7.6, Figures 7.4 and 7.7 left |
| transduction-galaxy | `transduction_galaxy` | thesis 7.4.3, Figure 7.5 |
| transduction-sequences | `transduction_sequences` | thesis 7.4.4 and 7.6, Figures 7.6 and 7.7 right |
| transduction-time | `transduction_time` | thesis 7.4.1, Figure 7.3 |
| graph-letters | `graph_letters` | maxmargin_semisup, Table 2 |
| batch-detection | `batch_detection` | thesis 8.4.2, Figures 8.1 and 8.2 |
| collective-spam | `collective_spam` | thesis 8.4.3, Figure 8.3 |
| deduplication | `deduplication` | none: records that belong together, from few labeled ones |
| protein-structure | `protein_structure` | none: few labeled domains |
"""

from accord.experiments.base import Experiment
from accord.experiments.batch_detection import BatchDetection
from accord.experiments.collective_spam import CollectiveSpam
from accord.experiments.consensus_classes import ConsensusClasses
from accord.experiments.consensus_parsing import ConsensusParsing
from accord.experiments.consensus_sequences import ConsensusSequences
from accord.experiments.consensus_splits import ConsensusSplits
from accord.experiments.consensus_time import ConsensusTime
from accord.experiments.deduplication import Deduplication
from accord.experiments.donations import Donations
from accord.experiments.federated_rounds import FederatedRounds
from accord.experiments.graph_letters import GraphLetters
from accord.experiments.hierarchical_classification import HierarchicalClassification
from accord.experiments.hmm_few_labels import FewLabels
from accord.experiments.protein_structure import ProteinStructure
from accord.experiments.regression_faithful import FaithfulRegression
from accord.experiments.regression_strong import StrongRegression
from accord.experiments.regression_time import RegressionTime
from accord.experiments.strong_classes import StrongClasses
from accord.experiments.strong_sequences import StrongSequences
from accord.experiments.supervised_parsing import SupervisedParsing
from accord.experiments.supervised_sequences import SupervisedSequences
from accord.experiments.transduction_classes import TransductionClasses
from accord.experiments.transduction_galaxy import TransductionGalaxy
from accord.experiments.transduction_papers import TransductionPapers
from accord.experiments.transduction_sequences import TransductionSequences
from accord.experiments.transduction_time import TransductionTime

REGISTRY: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        SupervisedSequences(),
        SupervisedParsing(),
        HierarchicalClassification(),
        FewLabels(),
        ConsensusSequences(),
        ConsensusSplits(),
        ConsensusParsing(),
        ConsensusClasses(),
        ConsensusTime(),
        StrongSequences(),
        StrongClasses(),
        FaithfulRegression(),
        StrongRegression(),
        Donations(),
        RegressionTime(),
        FederatedRounds(),
        TransductionClasses(),
        TransductionPapers(),
        TransductionGalaxy(),
        TransductionSequences(),
        TransductionTime(),
        BatchDetection(),
        CollectiveSpam(),
        GraphLetters(),
        Deduplication(),
        ProteinStructure(),
    )
}

__all__ = ["REGISTRY", "Experiment"]
