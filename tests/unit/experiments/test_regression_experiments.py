"""The regression experiments on made-up data: who sees what, what is drawn, what is said."""

import re

import numpy as np
import pytest

from accord import RLSR, CoRLSR
from accord.evaluation import Results, Task
from accord.exceptions import InputError
from accord.experiments import REGISTRY, donations, federated_rounds, regression_strong
from accord.experiments import regression_data as shared
from accord.experiments import regression_time as times

METRIC = shared.SCALED_RMSE.name


def made_up(n=120, seed=0):
    """Six attributes, the first of three columns; the target is a smooth function of all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    y = 3.0 + X[:, :4].sum(axis=1) + np.sin(X[:, 4:]).sum(axis=1) + 0.1 * rng.normal(size=n)
    return shared.Examples(X, y, np.array([0, 0, 0, 1, 2, 3, 4, 5]))


def table(values, metric=METRIC, **setting):
    """Results from {(method, data): [value of each repetition]}."""
    rows = []
    for (method, data), numbers in values.items():
        head = {"experiment": "e", "method": method, "data": data, **setting, "metric": metric, "seconds": 0.0}
        rows += [{**head, "repetition": k, "value": value} for k, value in enumerate(numbers)]
    return Results(rows)


# -- folds, views, errors -----------------------------------------------------------------------------------------
def test_ten_runs_label_every_example_once_and_the_next_ten_otherwise():
    runs = [shared.inverse_fold(57, run, 0) for run in range(20)]
    for first in (0, 10):
        labeled = np.concatenate([fold.train for fold in runs[first : first + 10]])
        np.testing.assert_array_equal(np.sort(labeled), np.arange(57))
    assert {tuple(f.train) for f in runs[:10]}.isdisjoint({tuple(f.train) for f in runs[10:]})
    for fold in runs:
        np.testing.assert_array_equal(np.sort(np.r_[fold.train, fold.test]), np.arange(57))
        assert fold.train.size in (5, 6)
    np.testing.assert_array_equal(runs[3].train, shared.inverse_fold(57, 3, 0).train)
    assert not np.array_equal(runs[3].train, shared.inverse_fold(57, 3, 1).train)


def test_halves_have_whole_attributes_and_differ_between_runs():
    examples = made_up()
    seen = set()
    for run in range(8):
        groups = np.array(examples.halves(0, run).groups)
        by_attribute = [set(groups[examples.attribute == k]) for k in range(6)]
        assert all(len(names) == 1 for names in by_attribute)
        assert [names.pop() for names in by_attribute].count("second") == 3
        seen.add(tuple(groups))
    assert len(seen) > 3
    assert examples.halves(0, 5).groups == examples.halves(0, 5).groups


def test_targets_of_the_holdout_are_hidden():
    examples = made_up()
    X, y = examples.hidden(np.array([4, 2]), np.array([7, 9, 1]))
    np.testing.assert_array_equal(X, examples.X[[4, 2, 7, 9, 1]])
    np.testing.assert_array_equal(y[:2], examples.y[[4, 2]])
    assert np.isnan(y[2:]).all()


def test_errors_are_divided_by_the_largest_target():
    y = np.array([1.0, -8.0, 4.0])
    assert shared.scaled_rmse(y, y + 2.0) == pytest.approx(0.5)
    assert shared.scaled_rmse(-np.abs(y), -np.abs(y) + 2.0) == pytest.approx(0.25)


def test_a_set_of_another_size_is_refused(tmp_path):
    (tmp_path / "regression").mkdir()
    arrays = {"X": np.eye(3), "y": np.arange(3.0), "columns": np.array(list("abc")), "column_attribute": np.arange(3)}
    np.savez(tmp_path / "regression" / "sleep.npz", missing=np.empty((0, 0), np.uint8), **arrays)
    with pytest.raises(InputError, match="'sleep' has 3 rows instead of 58"):
        shared.load_sets(tmp_path, ["sleep"])


# -- sentences over sets ------------------------------------------------------------------------------------------
def test_signed_ranks_over_sets():
    values = {("RLSR", f"s{k}"): [2.0, 2.0] for k in range(8)}
    values |= {("exact", f"s{k}"): [2.0 - 0.1 * (k + 1)] * 2 for k in range(7)} | {("exact", "s7"): [2.05, 2.05]}
    note = shared.signed_ranks_note(table(values, features="raw"), "exact", "RLSR", METRIC, 54, features="raw")
    assert note == (
        "exact against RLSR, raw: lower on 7 of 8 sets, rank sum 1 (0 is critical at 0.5 %), one-sided p = 0.0078. "
        "The thesis: 54 on 32 sets, where 128 is critical."
    )


def test_where_a_method_is_better_and_where_worse():
    noise = np.array([0.0, 0.01, -0.01, 0.02, -0.02])
    values = {("RLSR", name): list(1.0 + noise) for name in "abc"}
    values |= {
        ("co", "a"): list(0.9 + noise[::-1]),
        ("co", "b"): list(1.1 + noise[::-1]),
        ("co", "c"): list(1.0 + noise[::-1]),
    }
    note = shared.set_by_set_note(table(values), "co", "RLSR", METRIC)
    assert "3 sets: significantly lower in 1 (a -10.0 %), higher in 1 (b +10.0 %) (paired t" in note


def test_sets_with_rows_in_common_are_told():
    values = {("RLSR", name): [1.0, 2.0] for name in ("cpu", "machine_cpu", "autoHorse")}
    assert shared.related_note(table(values)) == [
        "Some sets have rows in common, so they are not independent: cpu and machine_cpu."
    ]


# -- faithful -----------------------------------------------------------------------------------------------------
def test_faithful_has_the_sets_of_the_papers_rule_that_the_exact_mode_can_do():
    tasks = REGISTRY["co-regression"].tasks(False, 0)
    names = {task.setting["data"] for task in tasks}
    assert names == {name for name, n in shared.SETS.items() if n <= 5000}
    assert {task.repetition for task in tasks} == set(range(20))
    assert all(n >= 50 for n in shared.SETS.values())
    assert list(shared.SETS.values()) == sorted(shared.SETS.values())
    told = set(re.findall(r"\w+", REGISTRY["co-regression"].description))
    assert told & set(shared.SETS) == {name for name, n in shared.SETS.items() if n > 5000}


@pytest.mark.parametrize("features", ["raw", "standardised"])
def test_faithful_learners_are_those_of_the_thesis(features, monkeypatch):
    """Each method's error is that of the formulas, written out."""
    examples = made_up()
    experiment = REGISTRY["co-regression"]
    fold = shared.inverse_fold(120, 1, 0)
    scale = features == "standardised"
    X = (examples.X - examples.X.mean(axis=0)) / examples.X.std(axis=0) if scale else examples.X
    mean, deviation = (examples.y[fold.train].mean(), examples.y[fold.train].std()) if scale else (0.0, 1.0)
    y = (examples.y[fold.train] - mean) / deviation
    groups = np.array(examples.halves(0, 1).groups)

    def values(columns, base):
        def distances(A, B):
            return ((X[A][:, None, columns] - X[B][None, :, columns]) ** 2).sum(axis=2)

        width = distances(fold.train, fold.train).mean()
        eta = 1 / np.linalg.norm(X[fold.train][:, columns], axis=1).mean()
        K = [np.exp(-distances(rows, base) / width) for rows in (fold.train, fold.test)]
        return K[0], K[1], np.exp(-distances(base, base) / width), eta

    predictions = {}
    _, U, K, eta = values(np.ones(8, bool), fold.train)
    predictions["RLSR"] = U @ np.linalg.solve(K + eta * np.eye(len(y)), y)
    for method, base in (("exact", np.r_[fold.train, fold.test]), ("semi-parametric", fold.train)):
        one, two = (values(groups == name, base) for name in ("first", "second"))
        G = [L.T @ L + eta * K + 0.2 * U.T @ U for L, U, K, eta in (one, two)]
        across = -0.2 * one[1].T @ two[1]
        system = np.block([[G[0], across], [across.T, G[1]]])
        alpha = np.linalg.lstsq(system, np.r_[one[0].T @ y, two[0].T @ y], rcond=1e-15)[0]
        first, second = np.split(alpha, 2)
        predictions[method] = (one[1] @ first + two[1] @ second) / 2
    for method, predicted in predictions.items():
        task = Task(experiment.name, method, {"data": "made up", "features": features}, 1)
        found = experiment.run_task(task, {"made up": examples})[METRIC]
        expected = shared.scaled_rmse(examples.y[fold.test], mean + deviation * predicted)
        assert found == pytest.approx(expected, rel=1e-5), method


def test_faithful_notes_and_figure():
    values = {(m, s): [v, v + 0.1] for m, v in (("RLSR", 1.0), ("exact", 0.8), ("semi-parametric", 0.9)) for s in "abc"}
    rows = table(values, features="raw").rows + table(values, features="standardised").rows
    experiment = REGISTRY["co-regression"]
    notes = experiment.notes(Results(rows))
    assert [note.count("The thesis: ") for note in notes] == [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    assert notes[0].startswith("exact against RLSR, raw: lower on 3 of 3 sets, rank sum 0, one-sided")
    figure = experiment.figures(Results(rows))[METRIC](False)
    assert [(a.get_xlabel(), a.get_ylabel()) for a in figure.axes[:3]] == [
        ("RLSR", "exact"),
        ("RLSR", "semi-parametric"),
        ("semi-parametric", "exact"),
    ]


# -- strong -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", regression_strong.METHODS)
def test_strong_methods_learn_and_see_no_label_of_the_holdout(method, monkeypatch):
    monkeypatch.setattr(regression_strong, "N_LABELED", 30)
    monkeypatch.setattr(regression_strong, "N_UNLABELED", 60)
    examples = made_up(400)
    experiment = REGISTRY["co-regression-strong"]
    task = Task(experiment.name, method, {"data": "made up"}, 0)
    found = experiment.run_task(task, {"made up": examples})
    guess = examples.y.std() / examples.y.max()  # of the mean
    assert found[METRIC] < (0.8 if "0.1" in method else 0.5) * guess
    fold = shared.inverse_fold(400, 0, 0)
    poisoned = examples.y.copy()
    poisoned[fold.test] = 1e6
    other = experiment.run_task(task, {"made up": shared.Examples(examples.X, poisoned, examples.attribute)})
    assert other.get("lambda_") == found.get("lambda_")
    assert other[METRIC] == pytest.approx(1.0, abs=1e-3)  # predictions did not follow


def test_strong_exact_runs_on_small_sets_only():
    tasks = REGISTRY["co-regression-strong"].tasks(False, 0)
    exact = {task.setting["data"] for task in tasks if task.method == regression_strong.EXACT}
    assert exact == {name for name, n in shared.SETS.items() if n <= regression_strong.MAX_EXACT}
    assert {task.setting["data"] for task in tasks if task.method == "RLSR"} == set(shared.SETS)


def test_the_best_kernel_is_that_of_the_lower_leave_one_out_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    curve, line = np.sin(3 * X[:, 0]), X.sum(axis=1)
    kinds = [regression_strong.BestKernel().fit(X, y).best.views_[0].kernel.kernel for y in (curve, line)]
    assert kinds == ["rbf", "linear"]


# -- donations ----------------------------------------------------------------------------------------------------
def test_every_method_chooses_among_equally_many_values(monkeypatch):
    assert len(donations.VALUES) == len(donations.ETAS)
    for name in ("VALUES", "ETAS"):
        monkeypatch.setattr(donations, name, getattr(donations, name)[::3])
    people = donations.People(made_up(500), 2)
    for method in shared.BY_RULES:
        values = donations.ETAS if method == "RLSR" else donations.VALUES
        found = people.best(method, "standardised", 40, 0)
        errors = [np.mean([people.error(method, v, "standardised", 40, 0, run) for run in (25, 26)]) for v in values]
        assert found == values[int(np.argmin(errors))]
        assert people.chosen[method, "standardised", 40] == found


def test_donations_are_drawn_so_that_more_unlabeled_examples_are_added(monkeypatch):
    seen = []
    monkeypatch.setattr(
        donations.Examples, "hidden", lambda self, a, b: (seen.append((a, b)), (self.X[a], self.y[a]))[1]
    )
    people = donations.People(made_up(500), 2)
    few, many = (people.error("RLSR", 1.0, "raw", m, 0, 3) for m in (50, 150))
    assert few == many
    np.testing.assert_array_equal(seen[0][0], seen[1][0])
    np.testing.assert_array_equal(seen[0][1], seen[1][1][:50])
    assert (len(seen[0][0]), len(seen[1][1])) == (100, 150)


def test_values_at_an_end_of_their_range_are_told():
    head = {"experiment": "e", "features": "raw", "metric": "value", "seconds": 0.0, "repetition": 0}
    chosen = (("RLSR", 200, donations.ETAS[-1]), ("exact", 200, 0.1), ("exact", 0, donations.VALUES[0]))
    rows = [{**head, "method": method, "n_unlabeled": m, "value": value} for method, m, value in chosen]
    assert donations.ends_note(Results(rows)) == ["Values chosen at an end of their range: RLSR, raw, m = 200: 1e+06."]
    assert donations.ends_note(Results(rows[1:])) == []


def test_donations_multiply_the_rule():
    X, y = made_up().X, made_up().y
    rule = RLSR(eta=None, gamma=None, standardize=False).fit(X, y).eta_
    assert donations.TimesRule(10.0, False).fit(X, y).model.eta_ == pytest.approx(10 * rule)


def test_the_full_file_is_used_where_there_is_one(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(donations.Experiment, "run", lambda self, *a, **k: ran.append(type(self)) or [])
    (tmp_path / "kdd98_proxy").mkdir()
    REGISTRY["donations"].run(tmp_path, tmp_path / "out")
    (tmp_path / "kdd98").mkdir()
    REGISTRY["donations"].run(tmp_path, tmp_path / "out")
    assert ran == [donations.Donations, donations.FullDonations]
    full = donations.FullDonations()
    assert full.version != donations.Donations.version  # its results are not mixed with the others
    for figure in full.published:
        assert any(t.method == figure.method and figure.matches(t.setting) for t in full.tasks(False, 0))
    assert "95,412 people, of which a twentieth gave. 100 labeled" in full.description


# -- time ---------------------------------------------------------------------------------------------------------
def test_time_notes_fit_the_degree_at_the_upper_end():
    rows = []
    for method, power in (("RLSR", 1.0), ("exact", 3.0), ("semi-parametric", 1.0)):
        for m in (100, 1000, 2000, 4000):
            seconds = 1e-6 * (3 if method == "semi-parametric" else 1) * m**power if m > 100 else 1.0
            head = {"experiment": "e", "method": method, "n_unlabeled": m, "repetition": 0, "seconds": 0.0}
            rows.append({**head, "metric": "train_seconds", "value": seconds})
    notes = REGISTRY["co-regression-time"].notes(Results(rows))
    assert notes[1].startswith("exact: time grows as m to the power of 3.00 from m = 1000 on")
    assert "takes 3.0 times as long as RLSR at m = 4000" in notes[3]
    figure = REGISTRY["co-regression-time"].figures(Results(rows))["train_seconds"](True)
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"


def test_time_is_measured_for_all_methods():
    for method in shared.BY_RULES:
        assert times._seconds(method, made_up(400), 50, 0, 0) > 0


# -- federated ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", federated_rounds.MODES)
@pytest.mark.parametrize("method", federated_rounds.METHODS)
def test_sites_reach_the_centralised_optimum(mode, method, monkeypatch):
    monkeypatch.setattr(federated_rounds, "N_SHARED", 40)
    monkeypatch.setattr(federated_rounds, "N_LABELED", 15)
    experiment = REGISTRY["federated-rounds"]
    task = Task(experiment.name, method, {"data": "made up", "mode": mode, "n_sites": 3}, 0)
    found = experiment.run_task(task, {"made up": made_up()})
    run = int(found["rounds_run"])
    assert [name for name in found if name.startswith("error_")] == [f"error_{k}" for k in range(1, run + 1)]
    assert found["error_1"] > 1e-3
    assert found[f"error_{run}"] < 1e-6
    reached = int(found["rounds"])
    assert found[f"error_{reached}"] < federated_rounds.GOAL <= found[f"error_{reached - 1}"]


def test_sites_share_attributes_and_labeled_examples_out(monkeypatch):
    monkeypatch.setattr(federated_rounds, "N_SHARED", 40)
    monkeypatch.setattr(federated_rounds, "N_LABELED", 15)
    witness = federated_rounds.make_sites(made_up(), 4, "semiparametric", 0)
    models = [site.model for site in witness.sites.values()]
    assert sum(model.bases_[0].shape[1] for model in models) == 8
    assert len({tuple(model.targets_[:, 0]) for model in models}) == 4
    assert all(model.targets_.shape == (15, 1) for model in models)


def test_rounds_that_were_not_enough_are_told():
    rows = []
    for method, rounds in (("accelerated", [9, 11]), ("jacobi", [61, 61]), ("gauss-seidel", [30, 61])):
        for mode in federated_rounds.MODES:
            head = {"experiment": "e", "method": method, "data": "d", "mode": mode, "n_sites": 2, "seconds": 0.0}
            rows += [{**head, "repetition": k, "metric": "rounds", "value": v} for k, v in enumerate(rounds)]
            rows += [
                {**head, "repetition": k, "metric": f"error_{r}", "value": 10.0 ** -(r * (k + 1))}
                for k in range(2)
                for r in range(1, 4 - k)
            ]
    experiment = REGISTRY["federated-rounds"]
    assert experiment.notes(Results(rows))[0] == (
        "semiparametric, 2 sites, rounds to 1e-06: accelerated 10.0 (most 11); jacobi not reached, 2 of 2 not reached; "
        "gauss-seidel 45.5 (most 61), 1 of 2 not reached."
    )
    figure = experiment.figures(Results(rows))["rounds"](False)
    assert figure.axes[0].get_title(loc="left") == "semiparametric, V = 2"
    # geometric means of 1e-1, 1e-2; 1e-2, 1e-4; 1e-3 and, of the run that has ended, 1e-4 again
    line = figure.axes[0].containers[0].lines[0]
    np.testing.assert_allclose(np.asarray(line.get_ydata(), float), [10**-1.5, 1e-3, 10**-3.5])


def test_methods_of_the_faithful_experiment_take_the_papers_constants():
    learners = [make(None, shared.LAMBDA, standardize=False) for make in shared.BY_RULES.values()]
    assert [type(one) for one in learners] == [RLSR, CoRLSR, CoRLSR]
    for one in learners:
        assert (one.eta, one.gamma, one.standardize, one.kernel) == (None, None, False, "rbf")
    assert [one.disagreement_weight for one in learners[1:]] == [0.1, 0.1]
