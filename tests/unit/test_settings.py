"""Parameters: every learner refuses what makes no sense, by one message, before it looks at the data."""

import inspect
import sys
import warnings

import numpy as np
import pytest
from row_tables import each_row
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import accord
from accord import registry, settings
from accord.exceptions import InputError
from accord.persistence import read_model, write_model

LEARNERS = [name for name, entry in registry.TABLE.items() if entry.kind == "learner"]
# Parameters that hold objects: those check them who use them.
OBJECTS = {"rules", "vectors", "structure", "view", "views", "student_view", "kernel", "keys"}
FIRST = {"learner": accord.StructuredPerceptron(accord.MultiClass()), "structure": accord.MultiClass()}


def make(name, **params):
    cls = getattr(accord, name)
    own = inspect.signature(cls).parameters
    first = {"structure": accord.Tree()} if name == "PCFG" else {key: FIRST[key] for key in FIRST if key in own}
    return cls(**{**first, **params})


def expected_of(name):
    model = make(name)
    return {**settings.SHARED, **getattr(model, "expects", {})}


def refused(name, parameter, value):
    """The message with which ``fit`` refuses a parameter; the data are such that no learner could get further."""
    with pytest.raises(InputError) as caught:
        make(name, **{parameter: value}).fit(None, None)
    return str(caught.value)


CASES = [
    (name, parameter)
    for name in LEARNERS
    for parameter in inspect.signature(getattr(accord, name)).parameters
    if parameter not in OBJECTS
]


@each_row("name", LEARNERS)
def test_every_parameter_has_a_check(name):
    params = set(make(name).get_params(deep=False))
    assert params - OBJECTS <= set(expected_of(name)), "say in settings.SHARED, or in `expects`, what is expected"


@each_row(("name", "parameter"), CASES)
def test_what_makes_no_sense_is_refused(name, parameter):
    kind = expected_of(name)[parameter]
    unbounded = parameter in ("degree", "coef0")
    for value in ("1", "much", np.nan, -np.inf, object(), {}, *([] if unbounded else [-1.5])):
        assert refused(name, parameter, value) == f"{parameter} is {value!r}; expected {kind.words}"
    default = inspect.signature(getattr(accord, name)).parameters[parameter].default
    numeric = isinstance(default, (int, float)) and not isinstance(default, bool)
    if numeric and parameter != "verbose":
        for value in (True, np.True_, np.array([1.0, 2.0]), 1j):
            assert refused(name, parameter, value).startswith(f"{parameter} is {value!r}; expected ")
    if numeric and parameter != "share":
        assert refused(name, parameter, None) == f"{parameter} is None; expected {kind.words}"


LIMITS = {
    "C": (0, 1e-9), "tol": (0, 1e-12), "tau": (0, 0.1), "smoothing": (0.0, 1e-6), "learning_rate": (0, 0.01),
    "epsilon": (-1e-9, 0), "rho": (-1e-9, 0), "unlabeled_weight": (-0.1, 0), "disagreement_weight": (-0.1, 0),
    "strength": (-0.1, 0), "eta": (0, 1e-9), "gamma": (0, 1e-9), "max_iter": (0, 1), "max_repeats": (0, 1),
    "n_views": (0, 1), "ramp": (-1, 0), "max_student": (-1, 0), "verbose": (-1, 0), "n_jobs": (0, -1),
    "share": (1.0001, 1), "random_state": (-1, 0), "norm": (3, 2), "max_outputs": (-1, 0),
    "time_budget": (0, 1e-9), "rounds": (0, 1), "recall": (-0.1, 0),
}  # fmt: skip
LIMITS_OF = {("PCFG", "smoothing"): (-1e-6, 0)}  # plain maximum likelihood


@each_row(("name", "parameter"), [case for case in CASES if case[1] in LIMITS])
def test_limits(name, parameter):
    outside, inside = LIMITS_OF.get((name, parameter), LIMITS[parameter])
    assert refused(name, parameter, outside).startswith(f"{parameter} is {outside!r}; expected ")
    settings.check(make(name, **{parameter: inside}))


def test_all_numbers_have_a_limit():
    numeric = {p for name, p in CASES if expected_of(name)[p].accepts(2)}
    assert numeric - {"degree", "coef0"} <= set(LIMITS)


@each_row(("name", "parameter"), CASES)
def test_numbers_of_any_type(name, parameter):
    kind = expected_of(name)[parameter]
    for value in (1, np.int64(1), np.int8(1), np.uint16(1)):
        assert kind.accepts(value) == kind.accepts(1)
        if kind.accepts(value):
            settings.check(make(name, **{parameter: value}))
    for value in (0.5, np.float64(0.5), np.float32(0.5)):
        assert kind.accepts(value) == kind.accepts(0.5)
    if kind.accepts(0.5):  # an integer will do for a float
        assert kind.accepts(1)


@each_row(
    ("kind", "good", "bad"),
    [
        (settings.NUMBER, [0, -1.5, np.float32(1)], [np.nan, np.inf, -np.inf, 10**400, True, "1", None, [1]]),
        (settings.SHARED["rho"], [0, 10, np.inf, np.float64("inf")], [-1, np.nan, -np.inf, True, "inf", None]),
        (settings.FLAG, [True, False, np.True_, 0, 1], ["no", 2, None, 0.5, 1.0]),
        (settings.SHARED["n_jobs"], [None, 1, -1, np.int64(2)], [0, 1.0, True, "all"]),
        (settings.SHARED["verbose"], [0, 3, True], [-1, 0.5, "yes", None]),
        (
            settings.SHARED["random_state"],
            [None, 0, np.int64(3), [1, 2], np.random.SeedSequence(1), np.random.default_rng(0)],
            [-1, 1.0, True, np.True_, "1", "today", np.random],
        ),
        (settings.one_of(1, 2), [1, np.int32(2)], [True, 1.0, 3, "1", None]),
        (settings.one_of("a", None), ["a", np.str_("a"), None], ["b", 0, False, ["a"], np.array(["a"])]),
    ],
)
def test_kinds(kind, good, bad):
    for value in good:
        assert kind.accepts(value), value
    for value in bad:
        assert not kind.accepts(value), value


def test_words():
    assert settings.one_of("a").words == '"a"'
    assert settings.one_of("a", "b", None).words == '"a", "b" or None'
    assert settings.either(settings.whole(0), "auto").words == 'a whole number, 0 or more, or "auto"'


def test_checking_draws_nothing():
    """Drawing from a RandomState changes what it draws next."""
    state = np.random.RandomState(0)
    settings.check(accord.StructuredPerceptron(accord.MultiClass(), random_state=state))
    assert state.randint(1000) == np.random.RandomState(0).randint(1000)


def test_generator():
    own = np.random.default_rng(0)
    assert settings.generator(own) is own
    assert settings.generator(7).integers(1000) == np.random.default_rng(7).integers(1000)
    draws = {int(settings.generator(np.random.RandomState(0)).integers(2**40)) for _ in range(2)}
    assert len(draws) == 1
    with pytest.raises(InputError, match=r"^random_state is 'today'; expected None, a whole number, 0 or more, or a"):
        settings.generator("today")


SENTENCES = [["Ana", "left"], ["Tom", "slept"], ["Ana", "slept"], ["Tom", "left"], ["Eva", "left"]]
TAGS = [["P", "O"], ["P", "O"], ["P", "O"], ["P", "O"], None]
# Whole numbers for parameters that are floats.
WHOLE = {
    "C": 2, "epsilon": 1, "tau": 1, "rho": 3, "smoothing": 1, "unlabeled_weight": 2, "learning_rate": 1, "strength": 1,
    "eta": 1, "gamma": 1, "degree": 2, "coef0": 1, "disagreement_weight": 1, "share": 1, "tol": 1,
}  # fmt: skip


def signatures():
    """For which types of arguments the kernels have been compiled."""
    modules = [module for name, module in sys.modules.items() if name.startswith("accord.kernels.")]
    kernels = [kernel for module in modules for kernel in vars(module).values() if hasattr(kernel, "signatures")]
    return {(kernel.py_func.__qualname__, str(signature)) for kernel in kernels for signature in kernel.signatures}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("StructuredSVM", {}), ("StructuredSVM", {"solver": "frank-wolfe"}), ("CRF", {}), ("CRF", {"solver": "sgd"}),
        ("HMM", {}), ("CoPerceptron", {}), ("CoSVM", {}), ("CoSVM", {"norm": 2}), ("GradientSVM", {}),
        ("TransductiveSVM", {}), ("GradientCoSVM", {}), ("RLSR", {"kernel": "poly"}), ("CoRLSR", {}),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_integers_are_floats(name, more):
    """The model is the same, and nothing is compiled anew."""
    cls = getattr(accord, name)
    params = inspect.signature(cls).parameters
    given = {key: value for key, value in WHOLE.items() if key in params}
    more |= {key: value for key, value in (("random_state", 0), ("structure", accord.Sequence())) if key in params}
    data = (SENTENCES, TAGS)
    if "structure" not in params:
        X = np.random.default_rng(0).normal(size=(12, 4))
        data = (X, [*X[:6].sum(axis=1), *[None] * 6])
    plain = cls(**{key: float(value) for key, value in given.items()}, **more).fit(*data)
    known = signatures()
    for kind in (int, np.int64, np.float32):
        model = cls(**{key: kind(value) for key, value in given.items()}, **more).fit(*data)
        for attribute in ("weights_", "coefficients_"):
            if hasattr(plain, attribute):
                expected, found = getattr(plain, attribute), getattr(model, attribute)
                expected, found = (
                    w.flat() if attribute == "weights_" else np.concatenate(w) for w in (expected, found)
                )
                assert np.array_equal(found, expected), kind
    assert signatures() == known


@each_row("learner", [accord.StructuredPerceptron, accord.CRF])
def test_batches_are_refused_before_what_was_learned_is_lost(learner):
    X, Y = [[0.0, 1.0], [1.0, 0.0]], ["a", "b"]
    model = learner(accord.MultiClass(), view=accord.ArrayFeatures(), random_state=0).fit(X, Y)
    weights = model.weights_.flat().copy()
    model.set_params(max_iter=0)
    for train in (lambda: model.partial_fit(X, Y), lambda: model.fit_batches([(X, Y)]), lambda: model.fit(X, Y)):
        with pytest.raises(InputError, match=r"^max_iter is 0; expected a whole number, 1 or more$"):
            train()
        assert np.array_equal(model.weights_.flat(), weights)


# -- a name that has changed ------------------------------------------------------------------------------------------
RENAMED = "^lambda_ is called disagreement_weight now; the former name ends with the next version$"


def test_the_old_name_works_with_a_warning():
    with pytest.warns(FutureWarning, match=RENAMED) as caught:
        model = accord.CoRLSR(lambda_=0.25)
    assert caught[0].filename == __file__
    assert model.disagreement_weight == 0.25
    with pytest.warns(FutureWarning, match=RENAMED) as caught:
        assert model.lambda_ == 0.25
    assert caught[0].filename == __file__
    with pytest.warns(FutureWarning, match=RENAMED):
        model.lambda_ = 0.5
    assert model.disagreement_weight == 0.5
    with pytest.warns(FutureWarning, match=RENAMED) as caught:
        model.set_params(lambda_=0.75, eta=2.0)
    assert caught[0].filename == __file__
    assert (model.disagreement_weight, model.eta) == (0.75, 2.0)
    with pytest.warns(FutureWarning), pytest.raises(InputError, match="is the former name of"):
        accord.CoRLSR(lambda_=0.25, disagreement_weight=0.25)


def test_nobody_else_sees_the_old_name():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = accord.CoRLSR(disagreement_weight=0.25)
        assert "lambda_" not in inspect.signature(accord.CoRLSR).parameters
        assert "lambda_" not in model.get_params()
        assert clone(model).get_params() == model.get_params()
        assert "disagreement_weight=0.25" in repr(model)
        assert not hasattr(model.set_params(disagreement_weight=0.5), "weight_")
        assert model.disagreement_weight == 0.5
    with pytest.raises(TypeError, match="unexpected keyword"):
        accord.CoRLSR(lamda=0.1)
    with pytest.raises(ValueError, match="Invalid parameter 'lamda'"):
        model.set_params(lamda=0.1)


@pytest.mark.filterwarnings("ignore:lambda_ is called:FutureWarning")
def test_searches_over_the_old_name():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 4))
    search = GridSearchCV(accord.CoRLSR(kernel="linear", random_state=0), {"lambda_": [0.0, 0.1]}, cv=2)
    search.fit(X, X.sum(axis=1))
    assert search.best_estimator_.disagreement_weight == search.best_params_["lambda_"]


def test_files_with_the_old_name(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 4))
    model = accord.CoRLSR(kernel="linear", disagreement_weight=0.25, random_state=0).fit(X, X.sum(axis=1))
    model.save(tmp_path / "old.accord")
    metadata, arrays = read_model(tmp_path / "old.accord")
    fields = metadata["model"]["fields"]
    fields["lambda_"] = fields.pop("disagreement_weight")  # as the version before has written it
    write_model(tmp_path / "old.accord", metadata, arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = accord.load(tmp_path / "old.accord")
        assert loaded.disagreement_weight == 0.25
        assert "lambda_" not in vars(loaded)
        assert np.array_equal(loaded.predict(X), model.predict(X))
