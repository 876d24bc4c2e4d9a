"""The battery that every learner passes with every kind of structure: parameters, copies, repetitions."""

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
from bad_input import LEARNERS as CLASSES
from battery import ONE_OF_EACH_CLASS, called, each_case, is_defined, make, weights
from sklearn.base import clone

import accord
from accord import Sequence, SumOfViews, TokenFeatures

each_class = pytest.mark.parametrize("cls", CLASSES)


# -- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [*CLASSES, SumOfViews])
def test_constructor_only_stores(cls):
    names = list(inspect.signature(cls).parameters)
    given = {name: object() for name in names}
    model = cls(**given)
    assert vars(model) == given
    assert model.get_params(deep=False) == given


@each_class
def test_a_structure_is_all_that_must_be_given(cls):
    required = [n for n, p in inspect.signature(cls).parameters.items() if p.default is inspect.Parameter.empty]
    assert required == ["structure"]


@each_class
def test_nested_parameters_can_be_read_and_set(cls):
    view = called(cls(Sequence()), "view")
    model = cls(Sequence(loss="zero-one"), **{view: TokenFeatures(window=2)})
    assert model.get_params()["structure__loss"] == "zero-one"
    assert model.get_params()[f"{view}__window"] == 2
    model.set_params(structure__loss="hamming", **{f"{view}__window": 0}, random_state=5)
    assert (model.structure.loss, getattr(model, view).window, model.random_state) == ("hamming", 0, 5)
    with pytest.raises(ValueError, match="Invalid parameter 'losss'"):
        model.set_params(structure__losss="hamming")


@each_case
def test_fit_changes_no_parameter(learner, task):
    case = make(learner, task)
    before = case.model.get_params()
    view = before[called(case.model, "view")]
    before_repr, view_before, structure_before = repr(case.model), set(vars(view)), set(vars(case.model.structure))
    assert case.model.fit(case.X, case.Y) is case.model
    after = case.model.get_params()
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)
    assert repr(case.model) == before_repr
    assert set(vars(view)) == view_before
    assert set(vars(case.model.structure)) == structure_before


# -- the same again ---------------------------------------------------------------------------------------------------


@each_case
def test_a_clone_has_learned_nothing_and_the_seed_repeats_a_fit_bit_for_bit(fitted, learner, task):
    case = fitted(learner, task)
    copy = clone(case.model)
    assert copy is not case.model
    assert copy.structure is not case.model.structure
    assert repr(copy) == repr(case.model)
    assert not [name for name in vars(copy) if name.endswith("_")]
    assert np.allclose(weights(copy.fit(case.X, case.partly)), weights(case.model), rtol=1e-9, atol=1e-12)


@each_case
def test_an_earlier_fit_leaves_no_trace(fitted, learner, task):
    case = fitted(learner, task)
    model = clone(case.model).fit(case.X_new, case.Y_new)
    model.predict(case.X_new)
    model.fit(case.X, case.partly)
    assert np.allclose(weights(model), weights(case.model), rtol=1e-9, atol=1e-12)
    assert list(model.predict(case.X_new)) == list(case.model.predict(case.X_new))


@pytest.mark.parametrize(
    "learner", ["perceptron", "svm", "svm, frank-wolfe", "crf, sgd", "co-perceptron", "co-svm", "sum of views"]
)
def test_the_seed_matters_and_may_be_a_generator(learner):
    case = make(learner, "token vectors", n=8)
    seed = called(case.model, "random_state")
    by_seed = [weights(clone(case.model).set_params(**{seed: s}).fit(case.X, case.partly)) for s in (0, 0, 1)]
    assert np.allclose(by_seed[0], by_seed[1], rtol=1e-9, atol=1e-12)
    assert not np.array_equal(by_seed[0], by_seed[2])
    seeds = [np.random.default_rng(0), np.random.default_rng(0), np.random.RandomState(0), np.random.RandomState(0)]
    found = [weights(case.model.set_params(**{seed: s}).fit(case.X, case.partly)) for s in seeds]
    assert np.allclose(found[0], found[1], rtol=1e-9, atol=1e-12)
    assert np.allclose(found[0], by_seed[0], rtol=1e-9, atol=1e-12)
    assert np.allclose(found[2], found[3], rtol=1e-9, atol=1e-12)


@each_case
def test_any_number_of_threads_gives_the_same(fitted, learner, task):
    case = fitted(learner, task)
    many = np.tile(case.X_new, (70, 1)) if isinstance(case.X_new, np.ndarray) else case.X_new * 70  # several chunks
    expected = case.model.predict(many)
    model = clone(case.model).set_params(n_jobs=2).fit(case.X, case.partly)
    assert np.allclose(weights(model), weights(case.model), rtol=1e-9, atol=1e-12)
    assert list(model.predict(many)) == list(expected)


@each_case
def test_pickled_and_saved_models_predict_the_same(fitted, learner, task, tmp_path):
    case = fitted(learner, task)
    copy = pickle.loads(pickle.dumps(case.model))
    assert list(copy.predict(case.X_new)) == list(case.model.predict(case.X_new))
    assert np.allclose(weights(copy), weights(case.model), rtol=1e-9, atol=1e-12)
    case.model.save(tmp_path / "model.accord")
    copy = accord.load(tmp_path / "model.accord")
    assert type(copy) is type(case.model)
    assert list(copy.predict(case.X_new)) == list(case.model.predict(case.X_new))
    assert copy.predict_k_best(case.X_new, k=3) == case.model.predict_k_best(case.X_new, k=3)
    assert copy.structure_.labels_ == case.model.structure_.labels_
    assert list(clone(copy).fit(case.X, case.partly).predict(case.X_new)) == list(case.model.predict(case.X_new))
    copy.save(tmp_path / "again.accord")
    assert (tmp_path / "again.accord").read_bytes() == (tmp_path / "model.accord").read_bytes()


READER = """
import pickle, sys
import accord
for path, X, expected in pickle.load(open(sys.argv[1], "rb")):
    assert list(accord.load(path).predict(X)) == list(expected), path
print("all the same")
"""


def test_saved_models_can_be_read_in_another_process(tmp_path):
    todo = []
    # those that are fitted at once: a file depends on the class, not on its settings, and the form is one for all
    for k, learner in enumerate(one for one in ONE_OF_EACH_CLASS if "svm" not in one and one != "tagger"):
        case = make(learner, "classes" if k % 2 and is_defined(learner, "classes") else "tokens", n=9)
        case.model.fit(case.X, case.partly)
        case.model.save(tmp_path / f"{k}.accord")
        todo.append((str(tmp_path / f"{k}.accord"), case.X_new, case.model.predict(case.X_new)))
    (tmp_path / "todo").write_bytes(pickle.dumps(todo))
    done = subprocess.run(
        [sys.executable, "-c", READER, str(tmp_path / "todo")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "all the same", done.stderr
