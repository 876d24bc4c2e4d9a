"""Sites that lie, contradict themselves or stall: who is refused, what the others lose, what the report tells."""

import functools

import numpy as np
import pytest
from federated_cases import Problem, Watched, distance, silent
from row_tables import each_row
from sklearn.exceptions import ConvergenceWarning

from accord import RLSR
from accord.exceptions import InputError
from accord.federated import LocalSites, Site, agree
from accord.federated.bounds import Said, farthest, size, trimmed_mean
from accord.federated.state import State

LIAR = "d"
# one test looks for it
pytestmark = pytest.mark.filterwarnings("ignore:site .* stands out:UserWarning")


def rmse(found, problem, names="abc"):
    """Of honest sites, for the agreed examples."""
    return np.sqrt(np.mean([(found[name][:, 0] - problem.truth) ** 2 for name in names]))


def lying(lie, start=1, who=LIAR):
    return lambda name, number, answer: lie(answer, number) if name == who and number >= start else answer


def run(problem, lie=None, start=1, **settings):
    given = {"lambda_": problem.lambda_, "max_rounds": 300, **settings}
    return agree(Watched(problem.sites(), lying(lie, start) if lie else None), **given)


# -- answers that are refused -----------------------------------------------------------------------------------------
ABSURD = {
    "a million": (
        lambda answer, k: np.full_like(answer, 1e6),
        r"times as large as those of the other sites.*bound=1000",
    ),
    "a million times": (lambda answer, k: 1e6 * answer, "times as large as those of the other sites"),
    "minus a million": (lambda answer, k: -1e6 * answer, "times as large as those of the other sites"),
    "no squares": (lambda answer, k: np.full_like(answer, 1e200), r"numbers up to 1\.0e\+200; expected none beyond"),
    "one without a square": (lambda answer, k: np.where(np.arange(30)[:, None], answer, -1e200), "numbers up to 1.0e"),
    "not a number": (lambda answer, k: answer * np.nan, "30 numbers that are not finite"),
    "infinite": (lambda answer, k: answer + np.inf, "30 numbers that are not finite"),
    "too many": (lambda answer, k: np.vstack([answer, answer]), r"shape \(60, 1\); agreed are \(30, 1\)"),
    "other axis": (lambda answer, k: answer.T, r"shape \(1, 30\)"),
    "complex": (lambda answer, k: answer + 1j, "instead of numbers"),
}


@functools.cache
def without_the_liar(method):
    problem = Problem(n_views=4)
    honest = {name: site for name, site in problem.sites().items() if name != LIAR}
    return agree(LocalSites(honest), problem.lambda_, method=method, max_rounds=80)


@functools.cache
def all_honest(n_views):
    problem = Problem(n_views=n_views)
    return rmse(run(problem).predictions, problem)


@pytest.mark.parametrize(
    ("lie", "method"), [*((lie, "accelerated") for lie in ABSURD), *((lie, "jacobi") for lie in list(ABSURD)[::4])]
)
def test_who_answers_with_absurd_numbers_is_as_if_not_there(lie, method):
    problem = Problem(n_views=4)
    found = run(problem, ABSURD[lie][0], method=method, max_rounds=80)
    alone = without_the_liar(method)
    assert not found.converged
    assert list(found.missing) == [LIAR]
    with pytest.raises(InputError, match=ABSURD[lie][1]):
        raise InputError(found.missing[LIAR])
    assert sorted(found.predictions) == ["a", "b", "c"]
    assert distance(found.predictions, alone.predictions) < 1e-7


TURNS = {
    "flips signs": lambda answer, k: -answer,
    "turns at random": lambda answer, k: np.random.default_rng(k).normal(size=answer.shape),
    "grows": lambda answer, k: answer * 2.0**k,
    "heeds three times too much": lambda answer, k: 3.0 * answer,
}


@pytest.mark.parametrize(
    ("lie", "method"),
    [
        *((lie, "accelerated") for lie in TURNS),
        *(("turns at random", method) for method in ("jacobi", "gauss-seidel")),
        ("flips signs", "gauss-seidel"),
        ("grows", "jacobi"),
    ],
)
def test_who_contradicts_itself_is_refused(lie, method):
    """The first answer is a site's own choice; the others are not."""
    problem = Problem(n_views=4)
    sites = Watched(problem.sites())
    reports = []
    sites.change = lambda name, number, answer: TURNS[lie](answer, len(reports)) if name == LIAR else answer
    found = agree(sites, problem.lambda_, method=method, max_rounds=60, on_round=reports.append)
    assert not found.converged
    assert list(found.missing) == [LIAR]
    assert any("no site that heeds them does" in report.failures.get(LIAR, "") for report in reports[:3])
    assert rmse(found.predictions, problem) < 1.5 * all_honest(4)


def test_an_old_answer_that_is_sent_again_is_found_out():
    """It may be signed and sealed as it was: it answers another question."""
    problem = Problem(n_views=4)
    first = {}

    def replay(name, number, answer):
        first.setdefault(name, answer)
        return first[name] if name == LIAR and number >= 3 else answer

    found = agree(Watched(problem.sites(), replay), problem.lambda_, max_rounds=300)
    assert "d" in found.rounds[2].failures


@pytest.mark.parametrize("start", [2, 5])
def test_a_site_that_begins_to_lie_keeps_what_it_said(start):
    problem = Problem(n_views=4)
    found = run(problem, lambda answer, k: answer + 0.5, start=start, max_rounds=60)
    assert [sorted(report.failures) for report in found.rounds[: start - 1]] == [[]] * (start - 1)
    assert all(list(report.failures) == [LIAR] for report in found.rounds[start - 1 :])
    assert rmse(found.predictions, problem) < 1.2 * all_honest(4)


# -- honest sites are never refused -----------------------------------------------------------------------------------
@each_row("mode", ["exact", "semiparametric"])
@each_row("lambda_", [1e-6, 0.1, 100.0])
@each_row(
    "settings", [{}, {"eta": 1e-8}, {"kernel": "linear"}, {"kernel": "poly", "degree": 3, "gamma": 30.0, "eta": 1e-3}]
)
def test_honest_answers_are_firmly_nonexpansive(mode, lambda_, settings):
    """Whatever the kernel, the weight and the question; the last kernel has values of a billion."""
    site = Problem(mode, 2, n_outputs=2).site(0, **settings)
    rng = np.random.default_rng(0)
    said = Said()
    for scale in (0.0, 1.0, 1.0, 1e-9, 10.0, 1e-3):
        others = scale * rng.normal(size=(3, *site.shape))
        answer = site.predict(others, lambda_)
        assert said.contradiction(others, answer) is None
        said.add(others, answer)


@pytest.mark.parametrize("method", ["accelerated", "jacobi", "gauss-seidel"])
@pytest.mark.parametrize("mode", ["exact", "semiparametric"])
def test_honest_runs_are_what_they_were(method, mode, monkeypatch):
    """Bit by bit the same as without any bounds."""
    problem = Problem(mode, 4)
    settings = {"method": method, "max_rounds": 60}
    guarded = run(problem, **settings)
    monkeypatch.setattr("accord.federated.agreement.too_large", lambda *_: None)
    monkeypatch.setattr(State, "contradiction", lambda *_: None)
    free = run(problem, **settings)
    assert [report.change for report in guarded.rounds] == [report.change for report in free.rounds]
    assert all(report.failures == {} for report in guarded.rounds)
    for name, own in free.predictions.items():
        np.testing.assert_array_equal(guarded.predictions[name], own)


def test_a_site_that_knows_nothing_is_welcome():
    """Its labels are all zero, or it has next to no features: small predictions are no reason to refuse anybody."""
    problem = Problem(n_views=4)
    sites = problem.sites()
    own = problem.X[:, :2]
    known = ~np.isnan(problem.y["a"])
    sites["a"] = Site(
        own[known], np.zeros(known.sum()), own[problem.hidden], RLSR(gamma=0.3, eta=0.5, standardize=False)
    )
    sites["b"] = problem.site(1, eta=1e12)
    outcome = agree(LocalSites(sites), problem.lambda_)
    assert outcome.converged


def test_bounds_can_be_raised():
    problem = Problem(n_views=4)
    lie = lambda answer, k: 1500.0 * np.ones_like(answer)  # noqa: E731
    assert list(run(problem, lie).missing) == [LIAR]
    sites = {name: problem.site(v) for v, name in enumerate(problem.names)}
    for site in sites.values():
        site.bound = 1e9
    found = agree(Watched(sites, lying(lie)), problem.lambda_, bound=1e9, max_rounds=100)
    assert found.converged
    assert found.farthest[0] == LIAR


# -- a site guards itself ---------------------------------------------------------------------------------------------
def lone(site, problem, v):
    new = problem.X[:, problem.columns(v)]
    np.testing.assert_allclose(site.model.predict(new), problem.site(v).model.predict(new), atol=1e-12)


def test_of_two_sites_the_honest_one_refuses():
    """A coordinator cannot tell which of two is wrong; a site knows its labels."""
    problem = Problem(n_views=2)
    sites = problem.sites()
    outcome = agree(Watched(sites, lying(lambda answer, k: np.full_like(answer, 1e6), who="b")), max_rounds=10)
    assert not outcome.converged
    assert list(outcome.missing) == ["a"]
    assert "others[0] has predictions more than bound=1000 times as large as any label" in outcome.missing["a"]
    lone(sites["a"], problem, 0)


def test_one_after_another_sites_guard_themselves():
    """The first one to be asked cannot be compared with anybody."""
    problem = Problem(n_views=3)
    sites = problem.sites()
    lie = lying(lambda answer, k: np.full_like(answer, 1e6), who="a")
    outcome = agree(Watched(sites, lie), method="gauss-seidel", max_rounds=10)
    assert not outcome.converged
    assert sorted(outcome.missing) == ["b", "c"]
    lone(sites["b"], problem, 1)
    lone(sites["c"], problem, 2)


@each_row("value", [1e6, -1e6, 1e200, 1.7e308])
def test_a_site_refuses_without_telling_its_labels(value):
    problem = Problem(n_views=2)
    site = problem.site(0)
    with pytest.raises(InputError) as caught:
        site.predict(np.full((1, *site.shape), value), 0.1)
    numbers = [f"{number:.4g}" for number in np.abs(problem.y["a"][~np.isnan(problem.y["a"])])]
    assert not any(number in str(caught.value) for number in numbers)
    lone(site, problem, 0)


@each_row("bound", [0.0, -1.0, np.nan, np.inf, "x"])
def test_bad_bounds(bound):
    with pytest.raises(InputError, match=r"bound is .*; expected a positive number"):
        Site([[1.0], [2.0]], [1.0, 2.0], [[3.0]], bound=bound)
    with pytest.raises(InputError, match=r"bound is .*; expected a positive number"):
        agree(LocalSites([Site([[1.0], [2.0]], [1.0, 2.0], [[3.0]])]), bound=bound)


# -- trimmed means ----------------------------------------------------------------------------------------------------
def test_a_trimmed_mean():
    values = [np.array([[5.0], [1.0]]), np.array([[1.0], [2.0]]), np.array([[2.0], [9.0]]), np.array([[-7.0], [4.0]])]
    np.testing.assert_array_equal(trimmed_mean(values, 1), [[1.5], [3.0]])
    np.testing.assert_array_equal(trimmed_mean(values, 0), np.mean(values, axis=0))


@pytest.mark.parametrize("method", ["accelerated", "jacobi"])
@pytest.mark.parametrize("mode", ["exact", "semiparametric"])
def test_a_site_that_is_silent_is_one_that_cannot_lie(method, mode):
    """Then nothing is left to trim, and the others reach the optimum of those who are there."""
    problem = Problem(mode, 3)
    found = agree(
        Watched(problem.sites(), silent("c", *range(1, 2000))),
        problem.lambda_,
        method=method,
        aggregation="trimmed",
        tol=1e-10,
        max_rounds=1000,
    )
    pair = {name: site for name, site in problem.sites().items() if name != "c"}
    expected = agree(LocalSites(pair), problem.lambda_, tol=1e-10).predictions
    assert found.rounds[-1].change <= 1e-10
    assert found.trim == 0
    assert distance(found.predictions, expected) < 1e-7


WITHIN = {  # lies that no bound finds
    "constant": lambda answer, k: np.full_like(answer, 20.0),
    "shifted": lambda answer, k: answer + 10.0,
    "of one sign": lambda answer, k: -np.abs(answer) - 15.0,
    "at few examples": lambda answer, k: np.where(np.arange(len(answer))[:, None] < 5, 60.0, answer),
}


@pytest.mark.parametrize(("lie", "n_liars"), [*((lie, 2) for lie in WITHIN), ("shifted", 1), ("at few examples", 1)])
def test_as_many_sites_may_lie_as_are_trimmed(lie, n_liars):
    problem = Problem(n_views=5)
    liars = ["d", "e"][:n_liars]
    change = lambda name, number, answer: WITHIN[lie](answer, number) if name in liars else answer  # noqa: E731
    settings = {"lambda_": problem.lambda_, "max_rounds": 300}
    trimmed = agree(Watched(problem.sites(), change), **settings, aggregation="trimmed", trim=2)
    plain = agree(Watched(problem.sites(), change), **settings)
    assert trimmed.converged
    assert trimmed.trim == 2
    own = np.stack([trimmed.predictions[name] for name in "abc"])
    assert np.all(trimmed.consensus >= own.min(axis=0))
    assert np.all(trimmed.consensus <= own.max(axis=0))
    assert rmse(trimmed.predictions, problem) < 1.5 * all_honest(5)
    assert rmse(plain.predictions, problem) > 3 * all_honest(5)
    assert trimmed.farthest[0] in liars
    assert trimmed.farthest[1] > 5


def test_trimming_an_honest_federation_costs_little():
    problem = Problem(n_views=5)
    mean, trimmed = run(problem), run(problem, aggregation="trimmed")
    assert trimmed.converged
    assert len(trimmed.rounds) <= 50
    assert rmse(trimmed.predictions, problem, "abcde") < 1.1 * rmse(mean.predictions, problem, "abcde")


def test_a_trimmed_run_goes_on_where_it_was_killed(tmp_path):
    problem, path = Problem(n_views=4), tmp_path / "rounds.accord"
    settings = {"aggregation": "trimmed", "tol": 1e-9}
    whole = run(problem, **settings)
    run(problem, **{**settings, "max_rounds": 4}, checkpoint=path)
    resumed = run(problem, **settings, checkpoint=path)
    assert [report.change for report in resumed.rounds] == [report.change for report in whole.rounds]
    with pytest.raises(InputError, match="of another agreement: its trim is 1, not 0"):
        run(problem, checkpoint=path)


def test_a_latecomer_to_a_trimmed_mean():
    problem = Problem(n_views=4)
    late = agree(Watched(problem.sites(), silent("b", 1, 2, 3)), problem.lambda_, aggregation="trimmed", max_rounds=300)
    assert late.converged
    assert distance(late.predictions, run(problem, aggregation="trimmed").predictions) < 1e-6


@each_row(
    ("settings", "message"),
    [
        ({"aggregation": "median"}, 'aggregation is \'median\'; expected "mean" or "trimmed"'),
        ({"aggregation": "trimmed", "trim": 0}, "trim is 0; expected a whole number, 1 or more"),
        ({"aggregation": "trimmed", "trim": 2}, "trim is 2, but there are 4 sites; expected at least 5"),
        ({"aggregation": "trimmed", "method": "gauss-seidel"}, "one site after another; a trimmed mean needs all"),
        ({"tol": -1.0}, r"tol is -1\.0; expected a number, 0 or more"),
        ({"max_rounds": 2.5}, r"max_rounds is 2\.5; expected a whole number"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message):
        agree(LocalSites(Problem(n_views=4).sites()), **settings)


# -- what the report tells --------------------------------------------------------------------------------------------
def test_the_site_that_stands_out_is_named():
    problem = Problem(n_views=4)
    with pytest.warns(UserWarning, match=r"site 'd' stands out: its predictions are \d.* times as far from the median"):
        found = run(problem, WITHIN["constant"], aggregation="trimmed")
    assert found.converged
    name, distance = found.farthest
    assert name == LIAR
    assert distance > 4
    assert (found.rounds[-1].farthest, found.rounds[-1].distance) == (name, distance)


def test_who_stands_out():
    zero, one = np.zeros((4, 1)), np.ones((4, 1))
    assert farthest({"a": zero, "b": one}) == ("", 0.0)
    assert farthest({"a": zero, "b": zero, "c": zero}) == ("", 0.0)
    assert farthest({"a": zero, "b": one, "c": 2 * one, "d": 9.5 * one}) == ("d", pytest.approx(8 / 0.5))


def test_sizes_of_numbers_without_squares():
    assert size(np.array([3e200, -4e200])) == pytest.approx(5e200 / np.sqrt(2))
    assert size(np.array([3e-200, 4e-200])) == pytest.approx(5e-200 / np.sqrt(2))
    assert size(np.zeros(3)) == size(np.zeros(0)) == 0.0


@pytest.mark.parametrize("method", ["accelerated", "jacobi", "gauss-seidel"])
def test_a_run_that_rounding_stalls_says_so_and_ends(method):
    problem = Problem(n_views=3)
    with pytest.warns(
        ConvergenceWarning, match=r"stalled after \d+ rounds: rounding .* give tol=\de-1\d or more"
    ) as told:
        found = run(problem, method=method, tol=1e-18, max_rounds=5000)
    assert found.stalled
    assert not found.converged
    assert len(found.rounds) < 5000
    assert distance(found.predictions, problem.optimum()) < 1e-8
    advised = float(str(told[0].message).split("give tol=")[1].split()[0])
    again = run(problem, method=method, tol=advised, max_rounds=5000)
    assert again.converged
    assert not again.stalled


def test_changes_that_stall():
    from accord.federated.agreement import _stalls

    noise = [3e-11, 5e-11, 2e-11, 4e-11, 6e-11]
    assert _stalls([1.0, 1e-3, *noise, *reversed(noise)])
    assert not _stalls(noise)
    assert not _stalls([1e-7 * 0.99**k for k in range(100)])
    assert not _stalls([0.3] * 20)  # that is not rounding
    assert not _stalls([np.inf] * 20)


def test_no_tolerance_asks_for_all_rounds():
    problem = Problem(n_views=3)
    found = run(problem, tol=0.0, max_rounds=40)
    assert len(found.rounds) == 40
    assert not found.stalled
