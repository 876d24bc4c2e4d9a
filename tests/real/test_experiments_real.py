"""The experiments in their quick version, on real data. Needs a local data folder; set ACCORD_DATA."""

import numpy as np
import pytest

from accord import Taxonomy
from accord.experiments import REGISTRY
from accord.experiments.base import mean_of
from accord.experiments.hierarchical_classification import _documents

pytestmark = pytest.mark.slow


def test_supervised_sequences(quick_run):
    results, report = quick_run("supervised-sequences")
    assert "(published)" in report
    assert "ours against the papers'" in report
    for method in results.methods:
        assert 0.0 < mean_of(results, method, "token_error") < 0.3, method
    # Table 1.3: the three losses do about the same, with several constraints per sentence (24 in the quick version)
    errors = [mean_of(results, m, "token_error") for m in ("SVM 0/1", "SVM slack", "SVM margin")]
    assert max(errors) - min(errors) < 0.03
    for method in ("SVM 0/1", "SVM slack", "SVM margin"):
        left, added = (mean_of(results, method, f"constraints_{what}") for what in ("left", "added"))
        assert 24 < left <= added


def test_hierarchical_classification(quick_run):
    results, report = quick_run("hierarchical-classification")
    assert "(published)" in report
    assert "ours against the papers'" in report
    # Table 1.1: taxonomy and tree loss together beat the flat machine
    for metric, better in (("tree_loss", min), ("accuracy", max)):
        both = {m: mean_of(results, m, metric, C="tuned") for m in ("flat 0/1", "taxonomy tree")}
        assert better(both, key=both.__getitem__) == "taxonomy tree", both
    assert 0.1 < mean_of(results, "flat 0/1", "accuracy", C="tuned") < 0.5  # by chance 2 %


def test_few_labels(quick_run):
    results, report = quick_run("hmm-few-labels")
    assert "(published)" in report
    assert "ours against the papers'" in report
    for row in results.rows:
        assert 0.0 <= row["value"] <= 1.0
    for n in (5, 10):
        # a tenth of the tokens are names; discriminative learners find some even with few labels
        nothing = mean_of(results, "always O", "token_error", data="Spanish", n_labeled=n)
        assert 0.08 < nothing < 0.16
        assert mean_of(results, "always O", "span_f1", data="Spanish", n_labeled=n) == 0.0
        assert mean_of(results, "SVM", "token_error", data="Spanish", n_labeled=n) < nothing
        assert mean_of(results, "CRF", "span_f1", data="Spanish", n_labeled=n) > 0.1


def test_few_labels_pools(data_dir):
    pools = REGISTRY["hmm-few-labels"].load(data_dir, False, 0)
    spanish, genes, iob = pools["Spanish"], pools["genes"], pools["genes, IOB"]
    assert len(spanish.X) == 3100
    assert {len(x) for x in spanish.X} == set(range(10, 41))
    assert len({label for y in spanish.Y for label in y}) == 9
    assert len(genes.X) == 7500
    assert genes.X == iob.X
    assert {label for y in genes.Y for label in y} == {"O", "GENE"}
    assert {label for y in iob.Y for label in y} == {"O", "B-GENE", "I-GENE"}
    assert [[label == "O" for label in y] for y in genes.Y] == [[label == "O" for label in y] for y in iob.Y]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["batch-detection", "collective-spam", "deduplication"])
def test_experiments_of_clustering(quick_run, name):
    results, report = quick_run(name)
    assert all(0.0 <= row["value"] <= 1.0 for row in results.rows if row["metric"] != "loss_per_mail")
    assert "quick version" in report


@pytest.mark.long
def test_leaderboard(quick_run):
    results, report = quick_run("leaderboard")
    assert all(0.0 <= row["value"] <= 1.0 for row in results.rows)
    assert "others (published) †" in report  # the benchmark's, beside COIL
    assert "behind in" in report
    assert mean_of(results, "Accord's default", "pair_f1") > 0.6


@pytest.mark.parametrize(
    ("name", "n_classes", "height"), [("wipo_alpha_d", 57, 3), ("cora_big", 70, 3), ("newsgroups20", 20, 3)]
)
def test_flat_and_taxonomy_machines_train_for_the_same_tree_loss(data_dir, name, n_classes, height):
    documents = _documents(name, data_dir)
    assert documents.costs.shape == (n_classes, n_classes)
    assert documents.costs.max() == height
    structure = Taxonomy(documents.taxonomy, loss="tree").fit(documents.Y)
    assert structure.labels_ == documents.classes
    for i in range(n_classes):
        losses = [structure.loss_between([i], [j]) for j in range(n_classes)]
        assert losses == documents.costs[i].tolist()
    lengths = np.sqrt(np.asarray(abs(documents.X).power(2).sum(axis=1) if hasattr(documents.X, "power") else
                                 (documents.X**2).sum(axis=1))).ravel()  # fmt: skip
    assert np.all((np.abs(lengths - 1) < 1e-9) | (lengths == 0))  # some posts have no known word
