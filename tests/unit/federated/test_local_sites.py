"""Sites that share no data, in one process: the common optimum, failures, latecomers, checkpoints."""

import pickle

import numpy as np
import pytest
from federated_cases import Problem, Watched, distance, silent
from row_tables import each_row

from accord import RLSR, CoRLSR, KernelFeatures
from accord.exceptions import AccordError, InputError, ModelFileError
from accord.federated import LocalSites, Site, agree
from accord.persistence import write_model

MODES = ("exact", "semiparametric")
each_mode = pytest.mark.parametrize("mode", MODES)


# -- the optimum ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "n_views", "differ"),
    [
        ("exact", 2, True),
        ("semiparametric", 2, False),
        ("exact", 3, False),
        ("semiparametric", 4, True),
        ("semiparametric", 5, True),
        ("exact", 5, False),
    ],
)
def test_sites_find_the_coefficients_of_the_central_problem(mode, n_views, differ):
    problem = Problem(mode, n_views, differ=differ)
    sites = problem.sites()
    outcome = agree(LocalSites(sites), problem.lambda_, tol=1e-11)
    assert outcome.converged
    central = problem.central()
    for name, own in zip(problem.names, central.coefficients_):
        found = sites[name].model.coefficients_[0]
        np.testing.assert_allclose(found, own, rtol=0, atol=1e-8 * np.abs(own).max())
    new = np.random.default_rng(1).normal(size=(7, 2 * n_views))
    of_sites = [sites[name].model.predict(new[:, problem.columns(v)]) for v, name in enumerate(problem.names)]
    np.testing.assert_allclose(np.mean(of_sites, axis=0), central.predict(new), atol=1e-8)
    np.testing.assert_allclose(outcome.consensus[:, 0], central.predict(problem.X[problem.hidden]), atol=1e-8)


@each_mode
@pytest.mark.parametrize("method", ["accelerated", "gauss-seidel", "jacobi"])
def test_every_method_finds_it(mode, method):
    problem = Problem(mode, 3, n_outputs=2, m=10)
    outcome = agree(LocalSites(problem.sites()), problem.lambda_, method=method, tol=1e-10, max_rounds=3000)
    assert outcome.converged
    assert distance(outcome.predictions, problem.optimum()) < 1e-7
    assert outcome.consensus.shape == (10, 2)
    assert outcome.missing == {}


@each_mode
@pytest.mark.parametrize("n_views", [2, 3, 5])
def test_fifteen_rounds_are_enough(mode, n_views):
    """With the papers' constants, where one site after another takes longer."""
    problem = Problem(mode, n_views, n=20, m=80)
    optimum = problem.optimum()
    needed = {}
    for method in ("accelerated", "gauss-seidel"):
        sites = Watched(problem.sites())
        errors, answers = [], {}
        sites.change = lambda name, number, answer, told=answers: told.setdefault(name, []).append(answer) or answer
        agree(sites, problem.lambda_, method=method, tol=0.0, max_rounds=25)
        for k in range(25):
            errors.append(distance({name: own[k] for name, own in answers.items()}, optimum))
        above = np.flatnonzero(np.array(errors) > 1e-6)
        needed[method] = above[-1] + 2 if above.size else 1
    assert needed["accelerated"] <= 15
    assert needed["gauss-seidel"] > needed["accelerated"]


def test_without_weight_sites_stay_alone():
    problem = Problem(n_views=2)
    outcome = agree(LocalSites(problem.sites()), 0.0)
    assert outcome.converged
    for v, name in enumerate(problem.names):
        np.testing.assert_allclose(outcome.predictions[name], problem.lone(v), atol=1e-12)


def test_a_single_site_agrees_with_itself():
    problem = Problem(n_views=2)
    outcome = agree(LocalSites([problem.site(0)]), 0.1)
    assert outcome.converged
    np.testing.assert_allclose(outcome.predictions["site0"], problem.lone(0), atol=1e-12)


def test_who_is_asked_when():
    problem = Problem(n_views=3)
    together = Watched(problem.sites())
    agree(together, max_rounds=2, tol=0.0)
    assert together.asked == [["a", "b", "c"]] * 2
    in_turn = Watched(problem.sites())
    reports = []
    agree(in_turn, method="gauss-seidel", max_rounds=2, tol=0.0, on_round=reports.append)
    assert in_turn.asked == [["a"], ["b"], ["c"]] * 2
    assert [report.number for report in reports] == [1, 2]
    assert reports[1].change < reports[0].change
    assert all(report.seconds >= 0 and report.failures == {} for report in reports)


# -- failures ---------------------------------------------------------------------------------------------------------

BAD = {
    "RuntimeError: disk on fire": lambda answer: RuntimeError("disk on fire"),
    "5 numbers that are not finite": lambda answer: np.where(np.arange(answer.size)[:, None] < 5, np.nan, answer),
    r"shape \(29, 1\); agreed are \(30, 1\)": lambda answer: answer[1:],
    r"shape \(30,\); agreed are": lambda answer: answer[:, 0],
    "'garbage' of type str instead of numbers": lambda answer: "garbage",
    "TimeoutError: no answer in time": lambda answer: None,
}


@pytest.mark.parametrize(
    ("why", "method"), [*((why, "accelerated") for why in BAD), *((why, "gauss-seidel") for why in list(BAD)[::3])]
)
def test_a_site_that_fails_is_named_and_comes_back(why, method):
    """It fails in rounds 2 and 3; nothing of that is left in the outcome."""
    problem = Problem(n_views=3)
    reports = []

    def change(name, number, answer):
        return BAD[why](answer) if name == "b" and len(reports) in (1, 2) else answer

    outcome = agree(
        Watched(problem.sites(), change),
        problem.lambda_,
        method=method,
        tol=1e-10,
        max_rounds=200,
        on_round=reports.append,
    )
    assert [sorted(report.failures) for report in reports[:4]] == [[], ["b"], ["b"], []]
    assert outcome.rounds == reports
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(reports[1].failures["b"])
    assert outcome.converged
    assert outcome.missing == {}
    assert distance(outcome.predictions, problem.optimum()) < 1e-8


def test_a_site_that_raises_does_not_stop_the_others():
    problem = Problem(n_views=3)
    sites = problem.sites()
    sites["c"].predict = lambda others, lambda_: 1 / 0
    outcome = agree(LocalSites(sites), problem.lambda_, max_rounds=12)
    assert outcome.missing == {"c": "ZeroDivisionError: division by zero"}
    assert sorted(outcome.predictions) == ["a", "b"]


@pytest.mark.parametrize("method", ["accelerated", "gauss-seidel"])
def test_a_site_that_never_answers_is_not_counted_on(method):
    """The others find the optimum of those that are there."""
    problem = Problem(n_views=3)
    outcome = agree(
        Watched(problem.sites(), lambda name, number, answer: None if name == "c" else answer),
        problem.lambda_,
        method=method,
        tol=1e-10,
        max_rounds=100,
    )
    pair = LocalSites({name: site for name, site in problem.sites().items() if name != "c"})
    expected = agree(pair, problem.lambda_, tol=1e-10, max_rounds=100).predictions
    assert sorted(outcome.predictions) == ["a", "b"]
    assert distance(outcome.predictions, expected) < 1e-8
    assert outcome.missing == {"c": "TimeoutError: no answer in time"}


def test_sites_have_not_converged_while_one_is_missing():
    """Its last predictions are not its answer to the others'."""
    problem = Problem(n_views=3)
    outcome = agree(Watched(problem.sites(), silent("b", *range(3, 99))), problem.lambda_, tol=1e-10, max_rounds=20)
    assert distance(outcome.predictions, problem.optimum()) > 1e-4
    assert outcome.missing == {"b": "TimeoutError: no answer in time"}
    assert not outcome.converged


@pytest.mark.parametrize("method", ["accelerated", "gauss-seidel", "jacobi"])
@pytest.mark.parametrize("n_views", [2, 3])
def test_a_site_that_joins_late_counts_from_then_on(method, n_views):
    problem = Problem(n_views=n_views)
    reports = []

    def change(name, number, answer):
        return None if name == "b" and len(reports) < 2 else answer

    outcome = agree(
        Watched(problem.sites(), change),
        problem.lambda_,
        method=method,
        tol=1e-10,
        max_rounds=1000,
        on_round=reports.append,
    )
    assert [sorted(report.failures) for report in reports[:3]] == [["b"], ["b"], []]
    assert distance(outcome.predictions, problem.optimum()) < 1e-7
    assert outcome.converged


def test_a_latecomer_costs_no_more_rounds_than_a_new_start():
    """What was heard before answered another question, so it must not be used; predictions must."""
    problem = Problem(n_views=4)
    settings = {"lambda_": problem.lambda_, "tol": 1e-10}
    fresh = agree(LocalSites(problem.sites()), **settings)
    late = agree(Watched(problem.sites(), silent("d", 1, 2, 3, 4, 5)), **settings)
    assert late.converged
    assert len(late.rounds) <= 5 + len(fresh.rounds) + 1


def test_when_nobody_answers():
    problem = Problem(n_views=2)
    outcome = agree(Watched(problem.sites(), lambda *_: None), max_rounds=3)
    assert not outcome.converged
    assert [report.change for report in outcome.rounds] == [np.inf] * 3
    assert sorted(outcome.missing) == ["a", "b"]


# -- checkpoints ------------------------------------------------------------------------------------------------------


class Killed(Exception):
    pass


@pytest.mark.parametrize(
    ("mode", "method", "after"),
    [
        ("exact", "accelerated", 1),
        ("exact", "gauss-seidel", 6),
        ("semiparametric", "accelerated", 3),
        ("semiparametric", "gauss-seidel", 1),
    ],
)
def test_nothing_is_lost_when_a_run_is_killed(tmp_path, mode, method, after):
    problem = Problem(mode, 3)
    settings = {"lambda_": problem.lambda_, "method": method, "tol": 1e-10, "max_rounds": 300}
    whole = agree(LocalSites(problem.sites()), **settings)
    path = tmp_path / "rounds.accord"

    def kill(report):
        if report.number == after:
            raise Killed

    with pytest.raises(Killed):
        agree(LocalSites(problem.sites()), **settings, checkpoint=path, on_round=kill)
    seen = []
    resumed = agree(LocalSites(problem.sites()), **settings, checkpoint=path, on_round=seen.append)
    assert [report.number for report in seen] == list(range(after + 1, len(whole.rounds) + 1))
    assert [report.change for report in resumed.rounds] == pytest.approx([r.change for r in whole.rounds], rel=1e-6)
    assert distance(resumed.predictions, whole.predictions) < 1e-12


def test_members_and_failures_survive(tmp_path):
    problem, path = Problem(n_views=3), tmp_path / "rounds.accord"
    settings = {"lambda_": problem.lambda_, "tol": 1e-10, "checkpoint": path}
    agree(Watched(problem.sites(), silent("c", 1, 2)), **settings, max_rounds=2)
    resumed = agree(LocalSites(problem.sites()), **settings)
    assert [sorted(report.failures) for report in resumed.rounds[:3]] == [["c"], ["c"], []]
    assert distance(resumed.predictions, problem.optimum()) < 1e-8


def test_an_agreement_that_was_reached_stays_reached(tmp_path):
    """Rounds are as many as allowed, so there is none left to see it again."""
    problem, path = Problem(n_views=2), tmp_path / "rounds.accord"
    first = agree(LocalSites(problem.sites()), problem.lambda_, checkpoint=path)
    assert first.converged
    again = agree(LocalSites(problem.sites()), problem.lambda_, checkpoint=path, max_rounds=len(first.rounds))
    assert again.converged


@pytest.mark.parametrize("other", ["lambda_", "names", "shape"])
def test_a_checkpoint_of_another_agreement_is_refused(tmp_path, other):
    path = tmp_path / "rounds.accord"
    agree(LocalSites(Problem(n_views=2).sites()), 0.1, checkpoint=path, max_rounds=1)
    before = path.read_bytes()
    problem = Problem(n_views=3 if other == "names" else 2, m=31 if other == "shape" else 30)
    with pytest.raises(InputError, match=rf"rounds\.accord is of another agreement: its {other} is .*remove this one"):
        agree(LocalSites(problem.sites()), 0.2 if other == "lambda_" else 0.1, checkpoint=path)
    assert path.read_bytes() == before


def test_another_file_is_no_checkpoint(tmp_path):
    write_model(tmp_path / "model.accord", {"model": 1}, {})
    (tmp_path / "text").write_text("hello")
    sites = LocalSites(Problem(n_views=2).sites())
    with pytest.raises(ModelFileError, match=r"model\.accord is no record of an agreement"):
        agree(sites, checkpoint=tmp_path / "model.accord")
    with pytest.raises(AccordError, match="text' is not an Accord model file"):
        agree(sites, checkpoint=tmp_path / "text")


def test_a_checkpoint_holds_predictions_only(tmp_path):
    """No label and no column of a site can be found in it."""
    problem, path = Problem(n_views=2), tmp_path / "rounds.accord"
    agree(LocalSites(problem.sites()), checkpoint=path)
    content = path.read_bytes()
    private = [own[~np.isnan(own)] for own in problem.y.values()] + [problem.X[:, 0], problem.X[:, 3]]
    assert all(number.tobytes() not in content for numbers in private for number in numbers)


# -- a site -----------------------------------------------------------------------------------------------------------


@each_mode
def test_a_site_predicts_what_its_model_predicts(mode):
    problem = Problem(mode, n_views=2, n_outputs=2)
    site = problem.site(0)
    assert site.shape == (30, 2)
    found = site.predict(np.random.default_rng(0).normal(size=(2, 30, 2)), 0.3)
    np.testing.assert_allclose(found, site.model.predict(problem.X[problem.hidden][:, :2]), atol=1e-10)


def test_a_new_site_is_rlsr():
    problem = Problem(n_views=2)
    alone = RLSR(gamma=None, eta=None, standardize=False).fit(problem.X[:, :2], problem.y["a"])
    for mode in MODES:
        problem.mode = mode
        site = problem.site(0)
        np.testing.assert_allclose(site.model.predict(problem.X[:, :2]), alone.predict(problem.X[:, :2]), atol=1e-10)
        assert (site.model.gamma_, site.model.eta_) == (alone.gamma_, alone.eta_)


def test_sites_can_be_pickled_and_their_models_saved(tmp_path):
    import accord

    problem = Problem(n_views=2)
    sites = problem.sites()
    agree(LocalSites(sites))
    copy = pickle.loads(pickle.dumps(sites["a"]))
    others = np.ones((1, 30, 1))
    np.testing.assert_array_equal(copy.predict(others, 0.1), sites["a"].predict(others, 0.1))
    sites["a"].model.save(tmp_path / "a.accord")
    loaded = accord.load(tmp_path / "a.accord")
    np.testing.assert_array_equal(loaded.predict(problem.X[:, :2]), sites["a"].model.predict(problem.X[:, :2]))


def test_precomputed_kernels_at_a_site():
    """Kernel values with all inputs of the site, for the agreed examples, too."""
    problem = Problem(n_views=2)
    kernel = RLSR(gamma=0.3, eta=0.5, standardize=False, view=KernelFeatures(kernel="rbf", gamma=0.3))
    own = problem.X[:, :2]
    known = ~np.isnan(problem.y["a"])
    X, y, Z = own[known], problem.y["a"][known], own[problem.hidden]
    values = np.exp(-0.3 * ((own[:, None] - X[None]) ** 2).sum(axis=2))
    given = Site(values[known], y, values[problem.hidden], RLSR(kernel="precomputed", eta=0.5, standardize=False))
    others = np.ones((1, 30, 1))
    np.testing.assert_allclose(given.predict(others, 0.2), Site(X, y, Z, kernel).predict(others, 0.2), atol=1e-10)
    with pytest.raises(InputError, match="mode='exact' needs kernel values among unlabeled examples"):
        Site(values[known], y, values[problem.hidden], RLSR(kernel="precomputed", standardize=False), mode="exact")


# -- what is refused --------------------------------------------------------------------------------------------------

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6.0)


@each_row(
    ("settings", "message"),
    [
        ({"mode": "parametric"}, "mode is 'parametric'; expected 'semiparametric' or 'exact'"),
        ({"regressor": CoRLSR()}, "regressor is CoRLSR.* of type CoRLSR; expected an RLSR"),
        ({"regressor": RLSR()}, "regressor has standardize=True; use 'columns' or False"),
        ({"unlabeled": None}, "unlabeled has no examples"),
        ({"unlabeled": X[:0]}, "unlabeled has no examples"),
        ({"unlabeled": X[:, :1]}, "1 features, but Accord is expecting 2"),
        ({"y": Y[:4]}, "y has 4 entries but X has 6 inputs"),
        ({"y": [None] * 6}, "all 6 examples are unlabeled"),
    ],
)
def test_bad_sites(settings, message):
    with pytest.raises(InputError, match=message):
        Site(**{"X": X, "y": Y, "unlabeled": X, **settings})


@each_row(
    ("others", "lambda_", "message"),
    [
        (np.zeros((6, 1)), 0.1, r"others has shape \(6, 1\); expected \(number of other sites, 6, 1\)"),
        (np.zeros((1, 5, 1)), 0.1, r"others has shape \(1, 5, 1\)"),
        (np.full((1, 6, 1), np.nan), 0.1, "others has values that are not finite"),
        (np.zeros((1, 6, 1)), -1.0, r"lambda_ is -1\.0; expected a number, 0 or more"),
        (np.zeros((1, 6, 1)), np.nan, "lambda_ is nan"),
        (np.zeros((1, 6, 1)), "auto", "lambda_ is 'auto'"),
    ],
)
def test_bad_questions(others, lambda_, message):
    with pytest.raises(InputError, match=message):
        Site(X, Y, X).predict(others, lambda_)


@each_row("lambda_", [-0.1, np.inf, np.nan, "auto", None])
def test_bad_weights(lambda_):
    with pytest.raises(InputError, match=f"lambda_ is {lambda_!r}"):
        agree(LocalSites([Site(X, Y, X), Site(X[:, :1], Y, X[:, :1])]), lambda_)


def test_bad_agreements():
    sites = LocalSites([Site(X, Y, X), Site(X[:, :1], Y, X[:, :1])])
    with pytest.raises(InputError, match="method is 'newton'; expected one of accelerated, gauss-seidel, jacobi"):
        agree(sites, method="newton")
    with pytest.raises(InputError, match=r"sites is .*expected a list or dict of at least one Site"):
        LocalSites([])
    with pytest.raises(InputError, match=r"sites\['site1'\] predicts \(5, 1\) numbers and another one \(6, 1\)"):
        LocalSites([Site(X, Y, X), Site(X, Y, X[:5])])
