"""Numbers on the command line: rlsr and co-rlsr on CSV, svmlight and text; reports, scores, errors with lines."""

import json
import re

import numpy as np
import pytest
from cli_helpers import ok, run
from sklearn.metrics import mean_absolute_error, r2_score

import accord
from accord.cli.data.layout import Layout
from accord.cli.data.reading import batches
from accord.cli.tasks import REGRESSION
from accord.datasets import read_csv, read_svmlight

N_LABELED, N_HIDDEN, N_MORE, N_TEST = 30, 5, 60, 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """`few.csv` (some cells of the target are empty), `more.csv` without the target, `test.csv`; `few.svm`; a model."""
    path = tmp_path_factory.mktemp("regression")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_LABELED + N_HIDDEN + N_MORE + N_TEST, 4)).round(3)
    y = (10 + 3 * np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3]).round(3)
    cells = [",".join(map(str, row)) for row in X.tolist()]
    known = [f"{row},{target}" for row, target in zip(cells, y.tolist())]
    few = known[:N_LABELED] + [f"{row}," for row in cells[N_LABELED : N_LABELED + N_HIDDEN]]
    (path / "few.csv").write_text("\n".join(["a,b,c,d,price", *few]) + "\n")
    (path / "more.csv").write_text("\n".join(["a,b,c,d", *cells[N_LABELED + N_HIDDEN : -N_TEST]]) + "\n")
    (path / "test.csv").write_text("\n".join(["a,b,c,d,price", *known[-N_TEST:]]) + "\n")
    pairs = [" ".join(f"{k}:{v}" for k, v in enumerate(row, 1)) for row in X[: N_LABELED + N_HIDDEN].tolist()]
    targets = [*(f"{target} " for target in y[:N_LABELED].tolist()), *[""] * N_HIDDEN]
    (path / "few.svm").write_text("".join(f"{target}{row}\n" for target, row in zip(targets, pairs)))
    files = [path / "few.csv", "--unlabeled", path / "more.csv"]
    ok("train", "--learner", "co-rlsr", *files, "--lambda", 0.05, "--output", path / "co.accord")
    ok("train", "--learner", "rlsr", path / "few.csv", "--output", path / "one.accord")
    return path


def examples(folder):
    table, more = read_csv(folder / "few.csv"), read_csv(folder / "more.csv", label_column=None)
    y = [None if cell is None else float(cell) for cell in table.y]
    return np.vstack([table.X, more.X]), y + [None] * N_MORE


def numbers(*args, stdin=None):
    return np.array(ok(*args, stdin=stdin).splitlines(), dtype=float)


# -- training -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "learner"),
    [
        (["rlsr"], accord.RLSR()),
        (
            ["rlsr", "--kernel", "poly", "--degree", 3, "--coef0", 2, "--gamma", 0.1, "--eta", 0.5, "--no-standardize"],
            accord.RLSR(kernel="poly", degree=3, coef0=2.0, gamma=0.1, eta=0.5, standardize=False),
        ),
        (["co-rlsr"], accord.CoRLSR(accord.RandomSplit(), random_state=0)),
        (
            ["co-rlsr", "--lambda", 0.1, "--mode", "exact", "--gamma", "none", "--eta", "none", "--random-state", 3],
            accord.CoRLSR(
                accord.RandomSplit(), disagreement_weight=0.1, mode="exact", gamma=None, eta=None, random_state=3
            ),
        ),
        (
            ["co-rlsr", "--disagreement-weight", 0.1, "--views", "odd-even", "--eta", "0.1,0.5", "--kernel", "linear"],
            accord.CoRLSR(accord.OddEvenSplit(), disagreement_weight=0.1, eta=[0.1, 0.5], kernel="linear"),
        ),
        (
            ["co-rlsr", "--lambda", 0.1, "--n-views", 3, "--share", 0.8, "--n-jobs", 2],
            accord.CoRLSR(accord.RandomSplit(n_views=3, share=0.8), disagreement_weight=0.1, random_state=0),
        ),
    ],
    ids=["rlsr", "rlsr-options", "auto", "exact", "odd-even", "three-views"],
)
def test_options_reach_the_constructors(folder, options, learner):
    ok("train", folder / "few.csv", "--unlabeled", folder / "more.csv", "-o", folder / "m", "--learner", *options)
    learner.fit(*examples(folder))
    loaded = accord.load(folder / "m")
    assert type(loaded) is type(learner)
    assert len(loaded.coefficients_) == len(learner.coefficients_)
    for found, expected in zip(loaded.coefficients_, learner.coefficients_):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)  # other threads of BLAS round otherwise


def test_svmlight(folder):
    ok("train", folder / "few.svm", "--learner", "co-rlsr", "--lambda", 0.1, "-o", folder / "s")
    X, y = read_svmlight(folder / "few.svm")
    learner = accord.CoRLSR(disagreement_weight=0.1, random_state=0).fit(
        X, [None if t is None else float(t) for t in y]
    )
    np.testing.assert_allclose(numbers("predict", folder / "s", folder / "few.svm"), learner.predict(X))
    # a new file may have features that training did not see
    assert len(ok("predict", folder / "s", "--format", "svmlight", stdin="1:1 900:3\n2:1\n").split()) == 2


def test_an_unknown_label_is_no_target(folder, tmp_path):
    (tmp_path / "q.csv").write_text(re.sub(r",$", ",?", (folder / "few.csv").read_text(), flags=re.MULTILINE))
    ok("train", tmp_path / "q.csv", "--unknown-label", "?", "--learner", "rlsr", "-o", tmp_path / "m")
    assert accord.load(tmp_path / "m").labeled_.tolist() == list(range(N_LABELED))


def test_a_table_with_words(tmp_path):
    rows = [f"{k},{'red' if k % 2 else 'blue'},{k + 10 * (k % 2)}" for k in range(30)]
    (tmp_path / "w.csv").write_text("n,colour,price\n" + "\n".join(rows) + "\n")
    for learner in (["rlsr", "--no-standardize"], ["co-rlsr"]):
        report = ok("train", tmp_path / "w.csv", "--learner", *learner, "-o", tmp_path / "m")
        assert ("not standardised" in report) == (learner == ["co-rlsr"])
        found = numbers("predict", tmp_path / "m", stdin="colour,n\nblue,8\nred,9\n")
        np.testing.assert_allclose(found, [8, 19], atol=0.5)
    assert accord.load(tmp_path / "m").fallback_  # neither colour nor n tells the price alone


def test_text(tmp_path):
    (tmp_path / "t.txt").write_text("4\tgood film\n1\tbad film\n4.5\tgood book\n1.5\tbad book\n" * 3)
    ok("train", tmp_path / "t.txt", "--learner", "rlsr", "--kernel", "linear", "-o", tmp_path / "m")
    good, bad = numbers("predict", tmp_path / "m", stdin="good paper\nbad paper\n")
    assert bad < 2 < 3.5 < good


# -- the report ---------------------------------------------------------------------------------------------------
def test_report_of_auto(folder):
    files = [folder / "few.csv", "--unlabeled", folder / "more.csv", "-o", folder / "m"]
    report = ok("train", "--learner", "co-rlsr", *files)
    model = accord.load(folder / "m")
    assert f"CoRLSR: {N_LABELED} labeled and {N_HIDDEN + N_MORE} unlabeled examples" in report
    assert f'disagreement: {model.weight_:.6g} (chosen by "auto")' in report
    assert f"leave-one-out rmse: {model.loo_rmse_:.6g}" in report
    for gamma, eta in zip(model.gammas_, model.etas_):
        assert re.search(rf"{gamma:.6g} +│ +{eta:.6g} ", report)
    for entry in model.auto_report_:
        mark = ">" if entry["chosen"] else " "
        assert re.search(rf"{mark} {entry['candidate']} .*{entry['lambda_']:.6g} +│ +{entry['loo_rmse']:.6g} ", report)
    assert next(entry["why"] for entry in model.auto_report_ if entry["chosen"]) in report
    inspected = ok("inspect", folder / "m")
    assert [line for line in report.splitlines() if "│" in line and line not in inspected] == []
    assert json.loads(ok("inspect", folder / "m", "--json"))["auto"] == model.auto_report_
    assert ok("train", "--learner", "co-rlsr", *files, "--quiet") == ""


def test_report_of_given_values(folder):
    files = [folder / "few.csv", "--unlabeled", folder / "more.csv", "-o", folder / "m"]
    report = ok("train", "--learner", "co-rlsr", "--lambda", 0.05, *files)
    assert "disagreement: 0.05\n" in report
    assert "candidate" not in report
    distance = accord.load(folder / "m").disagreement(examples(folder)[0][N_LABELED:])
    assert f"the views differ by {distance:.6g} from their mean" in report
    report = ok("train", "--learner", "rlsr", *files)
    assert "RLSR learns from labels alone" in report
    assert "lambda" not in report
    report = ok("train", "--learner", "rlsr", folder / "few.csv", "-o", folder / "m", "--valid", folder / "test.csv")
    assert "mean absolute error" in report


# -- using a model ------------------------------------------------------------------------------------------------
def test_predictions_are_numbers_by_line(folder):
    table = read_csv(folder / "test.csv")
    expected = accord.load(folder / "co.accord").predict(table.X)
    args = ["predict", folder / "co.accord", folder / "test.csv"]
    for size in (7, 4096):
        np.testing.assert_allclose(numbers(*args, "--chunk-size", size), expected, rtol=1e-9)
    assert json.loads(ok(*args, "--output-format", "json").splitlines()[0]) == {"label": pytest.approx(expected[0])}
    assert numbers("predict", folder / "co.accord", folder / "more.csv").size == N_MORE
    for option, message in ((["--k-best", 2], "predicts numbers"), (["--marginals"], "has no probabilities")):
        result = run(*args, *option)
        assert result.exit_code == 2
        assert message in result.stderr


def test_scores(folder):
    table = read_csv(folder / "test.csv")
    true, predicted = np.array(table.y, dtype=float), accord.load(folder / "co.accord").predict(table.X)
    text = ok("evaluate", folder / "co.accord", folder / "test.csv", "--json")
    found = json.loads(text)
    assert found["n_examples"] == N_TEST
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((true - predicted) ** 2)))
    assert found["mean_absolute_error"] == pytest.approx(mean_absolute_error(true, predicted))
    assert found["r2"] == pytest.approx(r2_score(true, predicted))
    table = ok("evaluate", folder / "co.accord", "-", stdin=(folder / "test.csv").read_text())
    for name, value in zip(("rmse", "mean absolute error", "R²"), list(found.values())[1:]):
        assert re.search(rf"{name} +│ +{value:.6g} ", table)
    args = ["evaluate", folder / "co.accord", "-", "--json"]
    assert ok(*args, stdin=(folder / "test.csv").read_text() + "1,2,3,4,\n") == text  # rows without a target
    assert "no labels to score against" in run(*args, stdin="a,b,c,d,price\n1,2,3,4,\n").stderr
    assert json.loads(ok(*args, stdin="a,b,c,d,price\n1,2,3,4,5\n"))["r2"] is None


def test_scores_of_a_file_of_predictions(folder):
    expected = ok("evaluate", folder / "co.accord", folder / "test.csv", "--json")
    ok("predict", folder / "co.accord", folder / "test.csv", "--output", folder / "p.txt")
    args = ["evaluate", "--predictions", folder / "p.txt", folder / "test.csv", "--numbers"]
    assert ok(*args, "--json") == expected
    (folder / "p.txt").write_text("1\nmuch\n" * (N_TEST // 2))
    assert f"{folder / 'p.txt'}, line 2: 'much' is not a finite number" in run(*args).stderr
    (folder / "p.txt").write_text("1\n")
    assert f"has 1 numbers but {folder / 'test.csv'} has {N_TEST} examples" in run(*args).stderr


def test_inspect(folder):
    model = accord.load(folder / "co.accord")
    found = json.loads(ok("inspect", folder / "co.accord", folder / "more.csv", "--json"))
    assert (found["kind"], found["kernel"]) == ("CoRLSR", "rbf")
    rows = zip(["random1", "random2"], [2, 2], [N_LABELED, N_LABELED], model.gammas_, model.etas_)
    assert [tuple(view.values()) for view in found["views"]] == list(rows)
    assert found["training"] == {"lambda": 0.05, "fallback": False, "loo_rmse": model.loo_rmse_}
    assert set(found["parameters"]) == {"CoRLSR", "RandomSplit", "ArrayFeatures"}
    X = read_csv(folder / "more.csv", label_column=None).X
    assert found["disagreement"]["rms"] == pytest.approx(model.disagreement(X))
    text = ok("inspect", folder / "co.accord", folder / "more.csv")
    assert f"They differ by {model.disagreement(X):.6g}" in text
    assert re.search(rf"lambda +0\.05\n +fallback +no\n +loo_rmse +{model.loo_rmse_:.6g}\n", text)
    result = run("inspect", folder / "one.accord", folder / "more.csv")
    assert result.exit_code == 2
    assert "this RLSR has one view" in result.stderr


def test_linear_kernels_have_no_gamma_and_a_constant_is_no_column(folder):
    ok("train", folder / "few.csv", "--learner", "co-rlsr", "--kernel", "linear", "--lambda", 0, "-o", folder / "m")
    views = json.loads(ok("inspect", folder / "m", "--json"))["views"]
    assert [(view["columns"], view["gamma"]) for view in views] == [(2, None)] * 2


def test_models_saved_from_python(folder):
    X, y = examples(folder)
    two = {"left": accord.Select([0, 1]), "right": accord.Select([2, 3])}
    model = accord.CoRLSR(two, disagreement_weight=0.1).fit(X, y)
    model.save(folder / "select")
    found = numbers("predict", folder / "select", folder / "more.csv")
    np.testing.assert_allclose(found, model.predict(X[-N_MORE:]))
    test = read_csv(folder / "test.csv")
    scores = json.loads(ok("evaluate", folder / "select", folder / "test.csv", "--json"))
    assert scores["r2"] == pytest.approx(model.score(test.X, np.array(test.y, dtype=float)))
    labeled = np.array(y[:N_LABELED])
    accord.RLSR().fit(X[:N_LABELED], np.column_stack([labeled, -labeled])).save(folder / "double")
    first, second = map(float, ok("predict", folder / "double", stdin="a,b,c,d\n1,2,3,4\n").strip().split("\t"))
    assert first == pytest.approx(-second)
    assert "predicts 2 numbers" in run("evaluate", folder / "double", folder / "test.csv").stderr


# -- mistakes -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("text", ["cheap", "nan", "inf", "1_000", "2,5"])
def test_a_target_that_is_no_number_is_found_by_its_line(text, folder, tmp_path):
    rows = [f"{k};{k * k};{k}" for k in range(8)]
    rows[4] = f"4;16;{text}"
    # a blank line is no row, and a row may take several lines
    data = "\n".join(['a;b;"the\nprice"', *rows[:2], "", *rows[2:]]) + "\n"
    (tmp_path / "bad.csv").write_text(data)
    message = f"line 8: the target '{text}' is not a finite number"
    for source, name in ((tmp_path / "bad.csv", "bad.csv"), ("-", "<stdin>")):
        result = run("train", source, "--learner", "co-rlsr", "-o", tmp_path / "m", stdin=data)
        assert result.exit_code == 2
        assert f"{name}, {message}" in result.stderr
        assert result.stderr.count("\n") == 1
    assert not (tmp_path / "m").exists()
    bad = (folder / "test.csv").read_text().splitlines()
    bad[11] = f'1,2,3,4,"{text}"'
    result = run("evaluate", folder / "one.accord", "-", stdin="\n".join(bad))
    assert f"<stdin>, line 12: the target '{text}' is not" in result.stderr


def test_lines_of_svmlight_and_text(tmp_path):
    (tmp_path / "bad.svm").write_text("# numbers\n\n1 1:2\n1:3\nx 1:4\n")
    (tmp_path / "bad.txt").write_text("1\tgood\n\tno target\nmuch\tbad\n")
    for name, line in (("bad.svm", 5), ("bad.txt", 3)):
        result = run("train", tmp_path / name, "--learner", "rlsr", "-o", tmp_path / "m")
        assert result.exit_code == 2
        assert f"{name}, line {line}: the target " in result.stderr


def test_targets_in_later_batches_have_their_lines(folder):
    lines = (folder / "test.csv").read_text().splitlines()
    lines[15] = "1,2,3,4,dear"
    (folder / "later.csv").write_text("\n".join(lines))
    layout = Layout(REGRESSION, format="csv")
    with pytest.raises(accord.FormatError, match=r"later\.csv, line 16: the target 'dear'"):
        list(batches(layout, str(folder / "later.csv"), size=4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["rlsr", "--lambda", "0.1"], "--disagreement-weight belongs to co-rlsr, but this model has rlsr"),
        (["rlsr", "--views", "random"], "--views is for learners of several views"),
        (["co-rlsr", "--method", "nystroem"], "--method belongs to kernel, but this model has co-rlsr, random"),
        (["co-rlsr", "--lambda", "-1"], 'disagreement_weight is -1.0; expected a number, 0 or more, or "auto"'),
        (["co-rlsr", "--lambda", "none"], "'none' is not a number or auto"),
        (["co-rlsr", "--eta", "much"], "'much' is not a number (or several: 0.1,0.5), auto or none"),
        (["co-rlsr", "--eta", "1,2,3"], "eta has 3 values but there are 2 views"),
        (["co-rlsr", "--views", "odd-even", "--n-views", "3"], "--n-views is for random views"),
        (["co-rlsr", "--views", "token-surface"], "use random or odd-even or independent"),
        (
            ["co-rlsr", "--task", "multiclass"],
            "is for the task regression; it does not go with --task multiclass",
        ),
        (
            ["co-rlsr", "--taxonomy", "few.csv"],
            "is for the task taxonomy; it does not go with --learner co-rlsr",
        ),
        (["co-rlsr", "--stream"], "--stream works with the learners perceptron and crf"),
        (["co-rlsr", "--format", "conll"], "numbers are read from text, csv, jsonl, parquet, svmlight files"),
        (["svm", "--kernel", "rbf", "--gamma", "auto"], "--gamma auto is for rlsr and co-rlsr; give svm a number"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    result = run("train", "few.csv", "-o", tmp_path / "m", "--learner", *options)
    assert result.exit_code == 2
    assert message in re.sub(r"\s+", " ", result.stderr)
    assert not (tmp_path / "m").exists()
