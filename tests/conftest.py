"""Settings shared by all tests: threads, the kernel cache, hypothesis profiles, the data folder, the quick subset."""

import gc
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
CACHES = ROOT / ".numba_cache"
STALE_SECONDS = 2 * 3600  # longer than any test run, so that a run going on elsewhere keeps its cache
# Variants that take seconds, of tests whose other variants run every time.
LONG_VARIANTS = re.compile(
    r"test_sklearn_checks\.py::test_checks\[(HMM|CoRLSR|CoPerceptron|SumOfViews)"
    r"|test_sklearn_checks\.py::test_checks_of_slower_learners\[Trans"
    r"|test_sklearn_checks\.py::test_checks\w*\[(Classifier|StructuredSVM).*-check_(classifiers_train"
    r"|estimator_sparse_matrix|sample_weight_equivalence|estimators_dtypes|dtype_object|classifier_data_not_an_array"
    r"|classifiers_classes|fit_idempotent|positive_only_tag|pipeline_consistency|n_features_in\b|supervised_y_2d"
    r"|estimators_pickle|estimator_sparse_array|fit_check_is_fitted|estimators_nan_inf|decision_proba_consistency"
    r"|fit2d_predict1d|methods_subset_invariance|non_transformer)"
    r"|(test_scikit_learn|test_sample_weight|test_copies|test_predictions)\.py::.*\[(False-|True-)?gradient-co-svm"
    r"|test_facilities\.py::.*\[(CoSVM|Gradient\w+|Trans\w+|TypeConsistency|Tagger|Classifier|PCFG)-(?!GridSearchCV)"
    r"|test_facilities\.py::.*\[CoSVM"
    r"|test_scikit_learn\.py::.*\[(False-|True-)?(tagger|co-svm)"
    r"|contract/test_sample_weight\.py::.*\[(tagger|co-svm)"
    r"|solver/test_sample_weight\.py::test_large_margins.*second order"
    r"|test_copies\.py::.*\[(tagger|type consistency|co-svm)-"
    r"|test_predictions\.py::.*\[tagger"
    r"|test_gradient\.py::test_a_fit_can_be_stopped_and_continued\[True"
    r"|test_(auto_weight|consensus)\.py::.*(what_auto_tries|bit_for_bit).*co-SVM"
    r"|test_consensus_experiments\.py::.*\[coSVM, auto"
    r"|test_graph_kernels\.py::.*\[co-svm"
    r"|test_partial_labels\.py::.*better_than_dropped.*cutting planes"
    r"|test_runner\.py::test_(results_do_not_depend.*\[loky|data_are_loaded.*\[loky-2|failing_task.*\[2)"
    r"|test_cli_dedupe_big\.py::test_killed_and_started_again"
    r"|test_mail_postfix\.py::test_every_message_is_delivered_with_headers"
    r"|test_cli_demo\.py::test_scenes_depend"
    r"|test_classifier\.py::test_(few_labels_are_drawn_into_folds_again|rows_of_numbers.*\[spirals)"
    r"|test_shift\.py::test_(the_exponent|samples_that_cannot)"
    r"|test_front_door\.py::test_the_co_svm_talks"
    r"|test_mail_http\.py::test_signals_end.*\[15"
    r"|test_tree_learners\.py::.*\[(sum of machines|gradient-co-svm)"
)
# Tests with many variants (of a structure, a loss, a learner) that take long together: a third of the variants of each,
# drawn by their names, runs every time, all of them in `make test-all`.
FAMILIES = re.compile(
    r"solver/test_(agreement|co_svm\w*|crf_optimum|every_output|gradient_svm|iteration_bound|sample_weight|svm_optimum"
    r"|tree_optimum|tree_smooth)\.py"
    r"|oracle/test_(constraint_features|every_structure|likely|plain_pcfg|subtrees|tree_violators|trees|wrong_outputs)\.py"
    r"|contract/test_(batches|copies|facilities|predictions|sample_weight|scikit_learn|sklearn_checks)\.py"
    r"|learners/test_(co_regression|consensus|gradient|graph_kernels|partial_labels|sum_of_views|tree_edges|tree_learners)\.py"
    r"|federated/test_(checkpoints|hostile_sites|local_sites)\.py"
    r"|experiments/test_consensus_experiments\.py|mail/test_mail_state_damage\.py|contract/test_user_structure\.py"
    r"|integration/test_(cli_trees|cli_unlabeled|mail_crowds)\.py"
    r"|real/test_(registry|treebanks)_real\.py"
    r"|unit/(test_memory|test_settings|views/test_tied)\.py"
)
# The quick subset: what all others are made of, and decoders of chains and clusterings. Learners and trees take too
# long there: compiled code that checks bounds cannot be kept, so that every process compiles its own.
QUICK = [TESTS / "unit", *(TESTS / "unit" / name for name in ("datasets", "mail", "structures", "views"))]
QUICK += [TESTS / "oracle" / f"test_{name}.py" for name in ("every_structure", "partition_decoders")]
NOT_QUICK = {
    TESTS / "unit" / f"{name}.py"
    for name in (
        "test_memory", "test_registry", "test_settings", "test_tokenizer", "test_old_models", "test_forms",
        "test_plots", "mail/test_mail_detector", "mail/test_mail_spam", "mail/test_mail_service_state",
        "mail/test_mail_state_damage", "views/test_default", "views/test_independence", "views/test_encoded",
    )
}  # fmt: skip

# Tests run side by side; threads for their small matrices would only wait for each other. Programs that tests start
# inherit this. NumPy, which reads it, is not imported yet.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Tests start many programs, each of which would read all modules from their source if nobody kept the bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def _kernel_cache_dir() -> Path:
    """A cache folder named after everything compiled code depends on.

    Numba notices a change in a kernel's own file, not in a helper that the kernel imports, and would go on
    running the old machine code.
    """
    digest = hashlib.sha256(
        "|".join([version("numba"), *(os.environ.get(f"NUMBA_{what}", "") for what in ("BOUNDSCHECK", "OPT"))]).encode()
    )
    for path in sorted((ROOT / "src" / "accord" / "kernels").rglob("*.py")):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return CACHES / digest.hexdigest()[:16]


def _use_kernel_cache() -> None:
    """Point Numba (not imported yet) at the cache folder and remove those of older sources.

    Workers of pytest-xdist inherit the variable from the process that starts them, so all of them and the
    programs that tests start use one folder, even if a source file is saved in the middle of a run.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    current = _kernel_cache_dir()
    current.mkdir(parents=True, exist_ok=True)
    os.utime(current)
    os.environ["NUMBA_CACHE_DIR"] = str(current)
    for other in CACHES.iterdir():
        try:
            stale = other != current and time.time() - other.stat().st_mtime > STALE_SECONDS
        except FileNotFoundError:  # another test run was faster
            continue
        if stale:
            shutil.rmtree(other, ignore_errors=True)


_use_kernel_cache()

# No deadline: the first example pays for compiling a kernel. In CI the same examples every time.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, max_examples=50)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))


def pytest_configure(config: pytest.Config) -> None:
    """Before all tests run side by side, compile all kernels, each once: else every worker compiles most of them."""
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not os.environ.get("NUMBA_BOUNDSCHECK")
    if not everything or not config.getoption("numprocesses", 0) or os.environ.get("PYTEST_XDIST_WORKER"):
        return
    if not any(Path(os.environ["NUMBA_CACHE_DIR"]).iterdir()):
        with tempfile.TemporaryDirectory() as claims:
            command = [sys.executable, str(TESTS / "fuzz" / "zoo.py"), claims]
            for child in [subprocess.Popen([*command, way]) for way in ("forwards", "backwards")]:
                child.wait()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of QUICK are quick unless marked slow; others join the quick subset by their own mark.

    What is slow comes first, so that no worker is left alone with it at the end. Whole experiments on real data are
    long, and so are two thirds of the variants of FAMILIES.
    """
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    variants = defaultdict(list)
    for item in items:
        if FAMILIES.search(item.nodeid) and not LONG_VARIANTS.search(item.nodeid):
            variants[item.nodeid.partition("[")[0]].append(item)
    for family in variants.values():
        family.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        for item in family[-(-len(family) // 3) :]:
            item.add_marker(pytest.mark.long)
    for item in items:
        if "quick_run" in getattr(item, "fixturenames", ()) or LONG_VARIANTS.search(item.nodeid):
            item.add_marker(pytest.mark.long)
        in_quick = item.path not in NOT_QUICK and (item.path in QUICK or item.path.parent in QUICK)
        if in_quick and item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.quick)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The local data folder that ``ACCORD_DATA`` names; the test is skipped where there is none."""
    name = os.environ.get("ACCORD_DATA")
    if not name:
        pytest.skip("ACCORD_DATA is not set: no folder with real data")
    path = Path(name)
    if not path.is_dir():
        pytest.skip(f"ACCORD_DATA={name} is not a folder: no real data")
    return path


def pytest_collection_finish() -> None:
    """Thousands of tests and modules stay until the end: the collector need not look at them again and again."""
    gc.collect()
    gc.freeze()
