"""Metrics, the papers' resampling protocol, a resumable experiment runner, significance tests and reports.

| module | holds |
|---|---|
| `metrics`, `spans`, `brackets`, `tree_loss`, `clusters`, `registry` | how wrong predictions are |
| `protocol`, `tuning`, `scorers` | draws, folds, choosing parameters; scorers for scikit-learn |
| `runner`, `journal`, `results` | running tasks in parallel, the results file, the tidy table |
| `significance`, `bootstrap` | paired tests and intervals |
| `tables`, `plots`, `panels`, `report` | Markdown, plots, HTML |
| `checks` | whether a structure keeps its contract |
| `tree_drawing` | parse trees as text and SVG |
"""

from accord.datasets.label_spans import extract_spans
from accord.evaluation.bootstrap import BootstrapInterval, bootstrap_difference, bootstrap_metric
from accord.evaluation.brackets import (
    COLLINS,
    PAPERS,
    BracketOptions,
    BracketScores,
    bracket_f1,
    bracket_scores,
    corpus_bracket_f1,
)
from accord.evaluation.checks import check_structure
from accord.evaluation.clusters import (
    adjusted_rand_index,
    b_cubed,
    b_cubed_f1,
    pair_counts,
    pairwise_f1,
    rand_loss,
    total_loss,
    total_loss_per_object,
)
from accord.evaluation.metrics import (
    Counts,
    F1Scores,
    accuracy,
    hamming_loss,
    label_scores,
    macro_f1,
    micro_f1,
    rmse,
    token_error,
    zero_one_loss,
)
from accord.evaluation.plots import figure_bytes, plot_results
from accord.evaluation.protocol import Draw, Fold, LabeledFolds, draw, folds, per_class_folds
from accord.evaluation.registry import METRICS, Metric, get_metric
from accord.evaluation.report import ReportPaths, write_report
from accord.evaluation.results import Comparison, Results, Summary
from accord.evaluation.runner import Task, TaskFailedError, make_tasks, run_experiment
from accord.evaluation.scorers import Scorer, scorer
from accord.evaluation.significance import (
    PairedTest,
    corrected_resampled_t_test,
    holm,
    paired_t_test,
    wilcoxon_critical_value,
    wilcoxon_signed_ranks,
)
from accord.evaluation.spans import SpanScores, span_f1, span_scores
from accord.evaluation.tables import Published, Table, comparison_table, results_table
from accord.evaluation.tree_drawing import draw_svg, draw_text
from accord.evaluation.tree_loss import TreeLoss
from accord.evaluation.tuning import TuneResult, expand_grid, tune

__all__ = [
    "COLLINS",
    "METRICS",
    "PAPERS",
    "BootstrapInterval",
    "BracketOptions",
    "BracketScores",
    "Comparison",
    "Counts",
    "Draw",
    "F1Scores",
    "Fold",
    "LabeledFolds",
    "Metric",
    "PairedTest",
    "Published",
    "ReportPaths",
    "Results",
    "Scorer",
    "SpanScores",
    "Summary",
    "Table",
    "Task",
    "TaskFailedError",
    "TreeLoss",
    "TuneResult",
    "accuracy",
    "adjusted_rand_index",
    "b_cubed",
    "b_cubed_f1",
    "bootstrap_difference",
    "bootstrap_metric",
    "bracket_f1",
    "bracket_scores",
    "check_structure",
    "comparison_table",
    "corpus_bracket_f1",
    "corrected_resampled_t_test",
    "draw",
    "draw_svg",
    "draw_text",
    "expand_grid",
    "extract_spans",
    "figure_bytes",
    "folds",
    "get_metric",
    "hamming_loss",
    "holm",
    "label_scores",
    "macro_f1",
    "make_tasks",
    "micro_f1",
    "pair_counts",
    "paired_t_test",
    "pairwise_f1",
    "per_class_folds",
    "plot_results",
    "rand_loss",
    "results_table",
    "rmse",
    "run_experiment",
    "scorer",
    "span_f1",
    "span_scores",
    "token_error",
    "total_loss",
    "total_loss_per_object",
    "tune",
    "wilcoxon_critical_value",
    "wilcoxon_signed_ranks",
    "write_report",
    "zero_one_loss",
]
