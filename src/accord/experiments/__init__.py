"""The papers' experiments, one file per table or figure; `REGISTRY` has them by name."""

from importlib import import_module

from accord.experiments.base import Experiment

# name, file and class; where in the papers (the file tells more), or "none" for a question of our own
_TABLE = {
    "supervised-sequences": "supervised_sequences.SupervisedSequences",  # svm_interdependent 1.2, 1.3
    "supervised-parsing": "supervised_parsing.SupervisedParsing",  # svm_interdependent 1.4
    "hierarchical-classification": "hierarchical_classification.HierarchicalClassification",  # svm_interdependent 1.1
    "hmm-few-labels": "hmm_few_labels.FewLabels",  # thesis 5.4, HMM at 5, 10 and 20 labeled sentences
    "co-learning-sequences": "consensus_sequences.ConsensusSequences",  # thesis 5.4.1, 5.4.2 and 6.5.2
    "co-learning-splits": "consensus_splits.ConsensusSplits",  # thesis 5.4.4
    "co-learning-parsing": "consensus_parsing.ConsensusParsing",  # thesis 6.5.3
    "co-learning-classes": "consensus_classes.ConsensusClasses",  # thesis 6.5.1
    "co-learning-time": "consensus_time.ConsensusTime",  # thesis 5.4.3 and 6.5.4
    "strong-sequences": "strong_sequences.StrongSequences",  # none: do unlabeled sentences pay?
    "front-door-sequences": "front_door_sequences.FrontDoorSequences",  # none: is the default the best there is?
    "chooser": "chooser.Chooser",  # none: does the default for classes choose well?
    "rules": "rules.RulesExperiment",  # none: do ten words per class replace labeled sentences?
    "strong-classes": "strong_classes.StrongClasses",  # none: two natural views and a handful of labels
    "text-classes": "text_classes.TextClasses",  # none: the default on texts against scikit-learn
    "leaderboard": "leaderboard.Leaderboard",  # none: Accord beside other libraries and published figures
    "links": "links.LinkedPapers",  # none: papers and their citations, the default against links as columns
    "co-regression": "regression_faithful.FaithfulRegression",  # thesis 4.4.1
    "co-regression-strong": "regression_strong.StrongRegression",  # none: does it pay, and is it safe?
    "donations": "donations.Donations",  # thesis 4.4.2
    "co-regression-time": "regression_time.RegressionTime",  # thesis 4.4.2
    "federated-rounds": "federated_rounds.FederatedRounds",  # thesis 4.3, Table 4.1
    "transduction-classes": "transduction_classes.TransductionClasses",  # thesis 7.4.2
    "transduction-papers": "transduction_papers.TransductionPapers",  # thesis 7.4.2 and 7.6
    "transduction-galaxy": "transduction_galaxy.TransductionGalaxy",  # thesis 7.4.3
    "transduction-sequences": "transduction_sequences.TransductionSequences",  # thesis 7.4.4 and 7.6
    "transduction-time": "transduction_time.TransductionTime",  # thesis 7.4.1
    "batch-detection": "batch_detection.BatchDetection",  # thesis 8.4.2
    "batch-time": "batch_time.BatchTime",  # thesis 8.4.4, Figure 8.4
    "collective-spam": "collective_spam.CollectiveSpam",  # thesis 8.4.3
    "graph-letters": "graph_letters.GraphLetters",  # maxmargin_semisup, Table 2
    "graph-helices": "graph_helices.GraphHelices",  # maxmargin_semisup, Table 1, whose data are not to be had
    "labeling": "labeling.Labeling",  # none: which examples to label next
    "label-errors": "label_errors.LabelErrors",  # none: are wrong kinds of spans found?
    "deduplication": "deduplication.Deduplication",  # none: records that belong together, from few labeled ones
    "covariate-shift": "covariate_shift.CovariateShift",  # thesis ch. 9, future work
    "protein-structure": "protein_structure.ProteinStructure",  # none: few labeled domains
}


def _made(place: str) -> Experiment:
    file, _, kind = place.partition(".")
    return getattr(import_module(f"{__name__}.{file}"), kind)()


REGISTRY: dict[str, Experiment] = {name: _made(place) for name, place in _TABLE.items()}

__all__ = ["REGISTRY", "Experiment"]
