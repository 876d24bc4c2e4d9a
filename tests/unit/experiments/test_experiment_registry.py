"""Every registered experiment is well-formed: its names, published figures and tasks fit together."""

import importlib
import pkgutil
from dataclasses import replace

from row_tables import each_row

from accord import experiments
from accord.datasets.loaders import LOADERS
from accord.evaluation.registry import describe_metric
from accord.experiments import REGISTRY, Experiment
from accord.experiments.consensus_sequences import LABELED_CURVE

# The papers plot these, or they are our own questions: no figure to stand beside ours
WITHOUT_FIGURES = {
    "batch-detection",
    "batch-time",
    "chooser",
    "co-learning-classes",
    "co-learning-splits",
    "co-learning-parsing",
    "co-learning-time",
    "co-regression",
    "collective-spam",
    "covariate-shift",
    "co-regression-strong",
    "co-regression-time",
    "deduplication",
    "donations",
    "federated-rounds",
    "front-door-sequences",
    "graph-helices",
    "label-errors",
    "labeling",
    "links",
    "rules",
    "strong-classes",
    "strong-sequences",
    "text-classes",
    "protein-structure",
    "transduction-galaxy",
    "transduction-papers",
    "transduction-sequences",
    "transduction-time",
}
NOT_ALL_QUICK = {
    "chooser", "front-door-sequences", "labeling", "links", "rules", "strong-classes", "strong-sequences",
    "supervised-sequences", "text-classes", "transduction-classes",
}  # fmt: skip
GENERATED = {"batch-time", "transduction-galaxy"}  # needs no data


each_experiment = each_row("experiment", REGISTRY.values(), REGISTRY)


def test_every_experiment_of_the_folder_is_registered():
    for module in pkgutil.iter_modules(experiments.__path__):
        kinds = vars(importlib.import_module(f"{experiments.__name__}.{module.name}")).values()
        own = [
            kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Experiment) and "name" in vars(kind)
        ]
        assert all(type(REGISTRY.get(kind.name)) is kind for kind in own), module.name
    assert len(REGISTRY) == 37


@each_experiment
def test_it_is_called_what_the_registry_calls_it(experiment):
    assert REGISTRY[experiment.name] is experiment
    assert experiment.name == experiment.name.lower().replace(" ", "-").replace("_", "-")
    assert experiment.title
    assert len(experiment.description) > 80
    assert {task.experiment for task in experiment.tasks(False, 0)} == {experiment.name}


@each_experiment
def test_its_data_sets_are_known(experiment):
    assert bool(experiment.data_sets) == (experiment.name not in GENERATED)
    assert set(experiment.data_sets) <= set(LOADERS)


@each_experiment
def test_every_published_figure_has_a_result_to_stand_beside(experiment):
    tasks = experiment.tasks(False, 0)
    shown = {describe_metric(m).name for m in experiment.metrics}
    assert bool(experiment.published) == (experiment.name not in WITHOUT_FIGURES)
    for figure in experiment.published:
        assert figure.metric in shown
        assert figure.source
        others = experiment.name == "leaderboard"  # has a column for learners that are not here
        assert any((others or task.method == figure.method) and figure.matches(task.setting) for task in tasks), figure


@each_experiment
def test_baseline_and_curve_refer_to_tasks(experiment):
    for quick in (False, True):
        tasks = experiment.tasks(quick, 0)
        if experiment.baseline is not None:
            assert experiment.baseline in {task.method for task in tasks}
        if experiment.x is not None:
            assert quick or len({task.setting[experiment.x] for task in tasks}) > 1


@each_experiment
def test_quick_is_a_small_part_with_the_same_methods(experiment):
    full, quick = experiment.tasks(False, 0), experiment.tasks(True, 0)
    methods = [{task.method for task in tasks} for tasks in (quick, full)]
    assert methods[0] <= methods[1] if experiment.name in NOT_ALL_QUICK else methods[0] == methods[1]
    assert max(task.repetition for task in quick) >= 1  # error bars need two
    assert len(quick) < len(full) / 2


@each_experiment
def test_tasks_are_distinct_and_follow_the_seed(experiment):
    first, second = experiment.tasks(False, 0), experiment.tasks(False, 1)
    assert len({task.key for task in first}) == len(first)
    assert [replace(task, root_seed=0) for task in second] == first
    step = len(first) // 50 + 1  # all seeds are derived in one way; to derive thousands takes time
    assert not {task.seed for task in first[::step]} & {task.seed for task in second[::step]}


@each_row(
    ("name", "method", "metric", "setting", "value"),
    [
        ("supervised-sequences", "HMM", "token_error", {}, 0.0936),
        ("supervised-sequences", "perceptron", "token_error", {}, 0.0594),
        ("supervised-sequences", "CRF", "token_error", {}, 0.0517),
        ("supervised-sequences", "SVM 0/1", "token_error", {}, 0.0508),
        ("supervised-sequences", "SVM slack", "constraints_added", {}, 2626),
        ("supervised-sequences", "SVM 0/1", "constraints_added", {}, 2824),
        ("hierarchical-classification", "flat 0/1", "accuracy", {"data": "wipo_alpha_d", "per_class": 4}, 0.2832),
        ("hierarchical-classification", "taxonomy tree", "accuracy", {"data": "wipo_alpha_d", "per_class": 4}, 0.2974),
        ("hierarchical-classification", "taxonomy tree", "tree_loss", {"data": "wipo_alpha_d", "per_class": 4}, 1.21),
        ("hierarchical-classification", "flat 0/1", "tree_loss", {"data": "wipo_alpha_d", "per_class": 2}, 1.54),
        ("hierarchical-classification", "taxonomy tree", "tree_loss", {"data": "wipo_alpha_d", "per_class": 2}, 1.33),
        ("hmm-few-labels", "HMM", "token_error", {"data": "Spanish", "n_labeled": 5}, 0.2359),
        ("hmm-few-labels", "HMM", "token_error", {"data": "genes", "n_labeled": 20}, 0.1231),
        (
            "co-learning-sequences",
            "HMM",
            "token_error",
            {"data": "Spanish", "curve": LABELED_CURVE, "sentences": 5},
            0.2359,
        ),
        (
            "co-learning-sequences",
            "HMM",
            "token_error",
            {"data": "genes", "curve": LABELED_CURVE, "sentences": 20},
            0.1231,
        ),
    ],
)
def test_figures_are_the_papers(name, method, metric, setting, value):
    found = [
        p.value
        for p in REGISTRY[name].published
        if (p.method, p.metric) == (method, metric) and dict(p.setting) == setting
    ]
    assert found == [value]
