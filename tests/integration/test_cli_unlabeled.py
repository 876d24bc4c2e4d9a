"""Learning from labeled and unlabeled files on the command line: co-learners, partial labels, reports, Ctrl-C."""

import json
import os
import re
import signal

import numpy as np
import pytest
from cli_helpers import ok, run, write_documents, write_points

import accord
from accord.datasets import embedded_ner, read_conll, write_conll

FAST = ["--learner", "co-perceptron", "--max-iter", 3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """`few.conll` with 12 sentences; 30 others in `many.txt` and, with labels, in `many.conll`."""
    path = tmp_path_factory.mktemp("unlabeled")
    X, Y = embedded_ner(42, random_state=0)
    write_conll(path / "few.conll", X[:12], Y[:12])
    write_conll(path / "many.conll", X[12:], Y[12:])
    (path / "many.txt").write_text("".join(" ".join(x) + "\n" for x in X[12:]))
    return path


def examples(folder):
    X, Y = read_conll(folder / "few.conll")
    more = read_conll(folder / "many.conll")[0]
    return X + more, Y + [None] * len(more)


def same_weights(path, learner):
    loaded = accord.load(path)
    np.testing.assert_array_equal(loaded.weights_.unary, learner.weights_.unary)
    np.testing.assert_array_equal(loaded.weights_.transitions, learner.weights_.transitions)


# -- options ------------------------------------------------------------------------------------------------------
def sequence_learners():
    tokens, labels = accord.TokenFeatures(), accord.Sequence(constraints="iob2")
    narrow = accord.TokenFeatures(window=0)
    yield (
        "co-perceptron",
        ["--unlabeled-weight", "0.1", "--ramp", 2, "--max-iter", 4, "--no-averaged", "--n-views", 3, "--share", "0.5"],
        accord.CoPerceptron(
            labels,
            accord.RandomSplit(tokens, n_views=3, share=0.5),
            unlabeled_weight=0.1,
            ramp=2,
            max_iter=4,
            averaged=False,
            random_state=0,
        ),
    )
    yield (
        "co-perceptron",
        ["--unlabeled-weight", "0.5", "--views", "odd-even", "--window", 0, "--max-iter", 2],
        accord.CoPerceptron(labels, accord.OddEvenSplit(narrow), unlabeled_weight=0.5, max_iter=2, random_state=0),
    )
    yield (
        "co-perceptron",
        ["--unlabeled-weight", "0.5", "--views", "token-surface", "--max-iter", 2],
        accord.CoPerceptron(labels, accord.FeatureGroups(tokens), unlabeled_weight=0.5, max_iter=2, random_state=0),
    )
    yield (
        "co-svm",
        ["--unlabeled-weight", "0.1", "--C", "0.5", "--max-repeats", 3, "--ramp", 2, "--max-iter", 3],
        accord.CoSVM(
            labels,
            accord.RandomSplit(tokens),
            C=0.5,
            unlabeled_weight=0.1,
            max_repeats=3,
            ramp=2,
            max_iter=3,
            random_state=0,
        ),
    )
    yield (
        "gradient-co-svm",
        ["--unlabeled-weight", "0.1", "--C", "0.5", "--ramp", 2, "--max-iter", 6, "--rho", "inf"],
        accord.GradientCoSVM(
            labels,
            accord.RandomSplit(tokens),
            C=0.5,
            unlabeled_weight=0.1,
            ramp=2,
            max_iter=6,
            rho=float("inf"),
            random_state=0,
        ),
    )
    yield (
        "gradient-svm",
        ["--C", "0.5", "--epsilon", "0.1", "--solver", "expansion", "--tol", "0.01", "--max-iter", 20],
        accord.GradientSVM(
            labels, tokens, C=0.5, epsilon=0.1, solver="expansion", tol=0.01, max_iter=20, random_state=0
        ),
    )
    yield (
        "tsvm",
        ["--unlabeled-weight", "0.1", "--tau", "0.2", "--ramp", 2, "--balance", "--max-iter", 20],
        accord.TransductiveSVM(
            labels, tokens, unlabeled_weight=0.1, tau=0.2, ramp=2, balance=True, max_iter=20, random_state=0
        ),
    )
    yield (
        "sum-of-views",
        ["--n-views", 3, "--share", "0.7", "--max-iter", 2],
        accord.SumOfViews(accord.StructuredPerceptron(labels, tokens, max_iter=2, random_state=0), 3, 0.7),
    )
    yield (
        "sum-of-views",
        ["--base-learner", "crf", "--C", "0.5", "--views", "odd-even"],
        accord.SumOfViews(accord.CRF(labels, tokens, C=0.5, random_state=0), views=accord.OddEvenSplit(tokens)),
    )


@pytest.mark.parametrize(
    ("name", "options", "learner"),
    list(sequence_learners()),
    ids=["random", "odd-even", "token-surface", "co-svm", "gradient-co", "gradient", "tsvm", "sum", "sum-of-crfs"],
)
def test_options_reach_the_constructors(folder, name, options, learner):
    path = folder / "m"
    files = ["--labeled", folder / "few.conll", "--unlabeled", folder / "many.txt", "--output", path]
    ok("train", *files, "--learner", name, "--constraints", "iob2", *options)
    learner.fit(*examples(folder))
    same_weights(path, learner)
    assert accord.load(path).get_params()["n_jobs"] == 1


def test_without_a_learner_unlabeled_sentences_mean_the_tagger(folder, tmp_path, monkeypatch):
    few, many, path = tmp_path / "few.conll", tmp_path / "many.conll", tmp_path / "default"
    X, Y = read_conll(folder / "few.conll")  # it compares several learners, so that few sentences must do
    write_conll(few, X[:7], Y[:7])
    write_conll(many, X[7:], Y[7:])
    fit, fitted = accord.Tagger.fit, []

    def watched(self, *data):
        fitted.append((self, data))
        return fit(self, *data)

    monkeypatch.setattr(accord.Tagger, "fit", watched)
    text = ok("train", "--labeled", few, "--unlabeled", many, "-o", path)
    ((learner, data),) = fitted
    expected = accord.Tagger(view=accord.TokenFeatures(), random_state=0)
    assert repr(learner.set_params(n_jobs=None, verbose=0)) == repr(expected)
    assert data == (X, [*Y[:7], *[None] * 5])
    same_weights(path, learner)
    model = accord.load(path)
    assert model.structure_.constraints == "iob2", "seen from the labels"
    assert learner.report_ == model.report_
    assert "\n".join(model.report_) in text

    def stopped(self, *_):
        fitted.append(self.structure)
        raise accord.InputError("that is enough")

    monkeypatch.setattr(accord.Tagger, "fit", stopped)
    assert run("train", few, "--unlabeled", many, "-o", path, "--transition-weight", 2).exit_code == 2
    assert fitted[-1].transition_weight == 2
    assert fitted[-1].constraints is None, "who says something about the structure says it all"


@pytest.mark.parametrize(
    "options",
    [[], ["--unlabeled", "many.txt", "--C", 2], ["--unlabeled", "many.txt", "--distributional"], ["--stream"]],
)
def test_what_the_tagger_does_not_have_means_a_crf(folder, options):
    options = [folder / option if option == "many.txt" else option for option in options]
    ok("train", folder / "few.conll", "-o", folder / "crf", *options)
    assert type(accord.load(folder / "crf")) is accord.CRF


def test_labeled_is_another_name_for_data(folder):
    ok("train", folder / "few.conll", "--model", folder / "a", *FAST)
    ok("train", "--labeled", folder / "few.conll", "-o", folder / "b", *FAST)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    for args in ([], [folder / "few.conll", "--labeled", folder / "few.conll"]):
        result = run("train", *args, "--model", folder / "c")
        assert result.exit_code == 2
        assert "--labeled" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--views", "random"], "--views is for learners of several views (co-perceptron, co-svm, gradient-co-svm,"),
        (["--n-views", 3], "--n-views belongs to random and sum-of-views, but this model has crf"),
        (["--unlabeled-weight", "0.1"], "--unlabeled-weight belongs to hmm and pcfg and co-perceptron and co-svm"),
        (
            ["--base-learner", "svm"],
            "--base-learner is what sum-of-views and type-consistency are made of; crf has none",
        ),
        ([*FAST, "--views", "odd-even", "--n-views", 3], "--n-views is for random views"),
        ([*FAST, "--views", "token-surface", "--feature-columns", "0"], "token-surface splits the features of plain"),
        ([*FAST, "--views", "token-surface", "--canonical"], "token-surface splits the features of plain tokens"),
        ([*FAST, "--distributional", "--feature-columns", "0"], "--distributional needs sentences of plain tokens"),
        (["--learner", "type-consistency", "--feature-columns", "0"], "type-consistency needs sentences of plain"),
        (["--embeddings", "nowhere.vec"], "nowhere.vec: No such file"),
        ([*FAST, "--unlabeled-weight", "-1"], "unlabeled_weight is -1.0; expected a number, 0 or more"),
        ([*FAST, "--unlabeled-weight", "much"], "'much' is not a number or auto"),
        ([*FAST, "--unlabeled", "nowhere.txt"], "nowhere.txt: No such file"),
        ([*FAST, "--unlabeled", os.devnull], f"--unlabeled {os.devnull}: the file is empty"),
        ([*FAST, "--unlabeled", "-", "--unlabeled", "-"], "only one of DATA, --unlabeled, --valid and --grammar"),
    ],
)
def test_what_does_not_fit_is_refused(folder, options, message):
    result = run("train", folder / "few.conll", "--model", folder / "refused", *options)
    assert result.exit_code == 2
    assert message in re.sub(r"\s+", " ", result.stderr)
    assert not (folder / "refused").exists()


# -- unlabeled files ----------------------------------------------------------------------------------------------
def test_unlabeled_text_conll_and_standard_input_are_the_same(folder):
    args = ["train", folder / "few.conll", *FAST, "--unlabeled-weight", "0.1"]
    text = (folder / "many.txt").read_text()
    first, rest = text[: text.index("\n") + 1], text[text.index("\n") + 1 :]
    (folder / "first.txt").write_text(first)
    (folder / "rest.dat").write_text("\n".join(rest.splitlines()) + "\n\n\n")  # blank lines are no sentences
    (folder / "bare.dat").write_text("\n\n".join("\n".join(line.split()) for line in text.splitlines()) + "\n")
    ok(*args, "-o", folder / "text", "--unlabeled", folder / "many.txt")
    expected = (folder / "text").read_bytes()
    for k, (options, stdin) in enumerate(
        [
            (["--unlabeled", folder / "many.conll"], None),  # with labels, which are not looked at
            (["--unlabeled", folder / "bare.dat", "--unlabeled-format", "conll"], None),
            (["--unlabeled", "-"], text),
            (["--unlabeled", folder / "first.txt", "--unlabeled", folder / "rest.dat"], None),
        ]
    ):
        ok(*args, "-o", folder / f"same{k}", *options, stdin=stdin)
        assert (folder / f"same{k}").read_bytes() == expected
    assert len(accord.load(folder / "text").transduction_) == 30


def test_supervised_learners_take_features_from_unlabeled_text(folder):
    out = ok("train", folder / "few.conll", "-o", folder / "p", "--learner", "perceptron", "--unlabeled",
             folder / "many.txt")  # fmt: skip
    assert "StructuredPerceptron: 12 labeled and 30 unlabeled sentences" in out
    assert "unlabeled examples only shape its features" in out
    same_weights(folder / "p", accord.StructuredPerceptron(accord.Sequence(), random_state=0).fit(*examples(folder)))


@pytest.mark.parametrize("learner", ["co-perceptron", "co-svm", "sum-of-views"])
def test_tables_of_classes(tmp_path, learner):
    write_points(tmp_path / "points.csv")
    head, *rows = (tmp_path / "points.csv").read_text().splitlines()
    (tmp_path / "few.csv").write_text("\n".join([head, *rows[:15]]) + "\n")
    bare = [head, *rows[15:]]
    (tmp_path / "many.csv").write_text("".join(line.rpartition(",")[0] + "\n" for line in bare))
    (tmp_path / "labeled.csv").write_text("\n".join(bare) + "\n")
    weight = [] if learner == "sum-of-views" else ["--unlabeled-weight", "0.2"]
    for name in ("many", "labeled"):
        out = ok("train", tmp_path / "few.csv", "-o", tmp_path / name, "--unlabeled", tmp_path / f"{name}.csv",
                 "--learner", learner, *weight)  # fmt: skip
        assert "15 labeled and 45 unlabeled examples" in out
        assert re.search(r"disagree on \d+\.\d\d % of the examples of the unlabeled", out)
    assert (tmp_path / "many").read_bytes() == (tmp_path / "labeled").read_bytes()
    scores = json.loads(ok("evaluate", tmp_path / "many", tmp_path / "points.csv", "--json"))
    assert scores["zero_one_loss"] < 0.5  # two thirds by chance
    names = ok("inspect", tmp_path / "many", "--json")
    assert json.loads(names)["features"]["c0"]["highest"][0][0] in ("a", "b", "c", "bias")


def test_unlabeled_svmlight_brings_new_features(tmp_path):
    write_documents(tmp_path)
    (tmp_path / "more.svm").write_text("1:1 90001:3\nroot/0/0 2:1\n")
    args = ["--learner", "co-perceptron", "--unlabeled-weight", "0.1", "--taxonomy", tmp_path / "tree.tsv"]
    out = ok("train", tmp_path / "docs.svm", "-o", tmp_path / "m", "--unlabeled", tmp_path / "more.svm", *args)
    assert "90 labeled and 2 unlabeled examples" in out
    assert accord.load(tmp_path / "m").view_.n_dims_ == 90_002  # and a bias
    assert len(ok("predict", tmp_path / "m", tmp_path / "more.svm").splitlines()) == 2


def test_a_table_with_words_has_several_views_too(tmp_path):
    rows = [f"{k % 3},{'red' if k % 2 else 'blue'},{'round' if k % 2 else 'flat'}" for k in range(20)]
    feel = ["warm" if k % 2 else "cold" for k in range(20)]
    table = "".join(f"{row},{y}\n" for row, y in zip(rows, feel))
    (tmp_path / "w.csv").write_text("n,colour,shape,feel\n" + table)
    (tmp_path / "u.csv").write_text("n,colour,shape\n" + "\n".join(rows) + "\n")
    ok("train", tmp_path / "w.csv", "-o", tmp_path / "m", *FAST, "--unlabeled", tmp_path / "u.csv", "--share", "0.7")
    model = accord.load(tmp_path / "m")
    assert isinstance(model.view_.view_, accord.DictFeatures)
    assert ok("predict", tmp_path / "m", tmp_path / "u.csv").splitlines() == feel


@pytest.mark.parametrize("learner", [["--learner", "perceptron"], FAST, [*FAST, "--views", "odd-even"]])
def test_features_of_words(folder, learner):
    (folder / "vectors.txt").write_text("the 0.5 1.0\nin 1.0 -0.5\n. 0.1 0.1\n")
    (folder / "clusters.txt").write_text("0110\tthe\t7\n010\tin\t3\n11\t.\t9\n")
    words = {"distributional": [], "canonical": [], "embeddings": [folder / "vectors.txt"]}
    (folder / "words.txt").write_text("the\n. Ana\n")
    words |= {"clusters": [folder / "clusters.txt"], "word_lists": [f"{folder / 'words.txt'}:some"]}
    flags = [part for name, value in words.items() for part in (f"--{name.replace('_', '-')}", *value)]
    ok("train", folder / "few.conll", "-o", folder / "d", "--unlabeled", folder / "many.txt", *flags, *learner)
    model = accord.load(folder / "d")
    names = model.view_.feature_names(np.arange(model.view_.n_dims_))
    for part in ("tokens", *words):
        weights = model.weights_.unary[[name.startswith(f"{part}/") for name in names]]
        assert np.any(weights != 0), part
    assert len(ok("predict", folder / "d", stdin="Ana left .\n").splitlines()) == 4


def test_several_word_lists_say_what_other_names_are_like(folder):
    for name, words in {"people": "Ana\n", "places": "Rome\n"}.items():
        (folder / f"{name}.txt").write_text(words)
    lists = [part for name in ("people", "places") for part in ("--word-lists", folder / f"{name}.txt")]
    (folder / "clusters.txt").write_text("0110\tthe\t7\n010\tin\t3\n")
    ok(
        "train",
        folder / "few.conll",
        "-o",
        folder / "d",
        *lists,
        "--clusters",
        folder / "clusters.txt",
        "--learner",
        "crf",
    )
    (likeness,) = [view for view in accord.load(folder / "d").view_.views_ if isinstance(view, accord.ListLikeness)]
    assert likeness.names_ == ["people", "places"]
    assert len(likeness.view_.views_) == 2


def test_word_lists_need_files_and_words(folder):
    (folder / "blank.txt").write_text("\n")
    said = "the file has no words; expected a word or a phrase on every line"
    for lists, model, message in (
        (f"{folder / 'none.txt'}:towns", "d", "none.txt"), (folder / "blank.txt", "d", said),
        (folder / "blank.txt", "blank.txt", "would overwrite what is read"),
    ):  # fmt: skip
        found = run("train", folder / "few.conll", "-o", folder / model, "--word-lists", lists)
        assert found.exit_code != 0
        assert message in found.stderr


def test_type_consistency(folder):
    args = ["--learner", "type-consistency", "--constraints", "iob2", "--keys", "word,suffix3", "--C", "0.5"]
    files = ["--labeled", folder / "few.conll", "--unlabeled", folder / "many.txt", "-o", folder / "t"]
    out = ok("train", *files, *args)
    base = accord.CRF(accord.Sequence(constraints="iob2"), accord.TokenFeatures(), C=0.5, random_state=0)
    expected = accord.TypeConsistency(base, keys=["word", "suffix3"], random_state=0).fit(*examples(folder))
    same_weights(folder / "t", expected)
    assert f'evidence from unlabeled sentences: {expected.strength_:g} (chosen by "auto")' in out
    for entry in expected.auto_report_:
        assert entry["candidate"] in out
    ok("train", *files, "--learner", "type-consistency", "--base-learner", "perceptron", "--canonical", "--max-iter", 3)
    found = json.loads(ok("inspect", folder / "t", "--json"))
    assert found["parameters"]["StructuredPerceptron"]["max_iter"] == 3
    assert found["parameters"]["CanonicalFeatures"]["n_classes"] > 0  # kinds of words, too


# -- partial labels -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mark", ["?", "_"])
@pytest.mark.parametrize("learner", ["crf", "co-perceptron"])
def test_unknown_labels(folder, mark, learner):
    X, Y = read_conll(folder / "few.conll")
    shown = [[mark if (i + t) % 3 == 0 else label for t, label in enumerate(y)] for i, y in enumerate(Y)]
    shown[0] = [mark] * len(shown[0])
    write_conll(folder / "partial.conll", X, shown)
    out = ok("train", folder / "partial.conll", "-o", folder / "m", "--unknown-label", mark, "--learner", learner)
    assert f"11 labeled ({sum(mark in y for y in shown) - 1} of them partly) and 1 unlabeled sentence" in out
    cls = {"crf": accord.CRF, "co-perceptron": accord.CoPerceptron}[learner]
    Y = [[None if label == mark else label for label in y] for y in shown]
    expected = cls(accord.Sequence(), accord.TokenFeatures(), random_state=0).fit(X, Y)
    if learner == "crf":
        same_weights(folder / "m", expected)
    assert mark not in accord.load(folder / "m").structure_.labels_
    # the model knows the mark: such tokens do not count when it is measured
    scores = json.loads(ok("evaluate", folder / "m", folder / "partial.conll", "--json"))
    assert scores["n_examples"] == 11
    assert scores["n_tokens"] == sum(label is not None for y in Y for label in y)
    right = accord.load(folder / "m").score(X, Y)
    assert scores["token_error"] == pytest.approx(1 - right)
    assert "span_f1" not in scores
    assert mark not in scores["labels"]


def test_without_the_option_a_question_mark_is_a_label(folder):
    (folder / "q.conll").write_text("who ?\nsleeps O\n")
    ok("train", folder / "q.conll", "-o", folder / "m", "--learner", "perceptron")
    assert accord.load(folder / "m").structure_.labels_ == ["?", "O"]


def test_unknown_classes_are_unlabeled(tmp_path):
    (tmp_path / "t.txt").write_text("spam\tbuy pills\nham\tsee you\n?\tbuy you\n" * 4)
    out = ok("train", tmp_path / "t.txt", "--task", "multiclass", "-o", tmp_path / "m", "--unknown-label", "?")
    assert "8 labeled and 4 unlabeled examples" in out
    assert accord.load(tmp_path / "m").structure_.labels_ == ["ham", "spam"]


def test_unknown_labels_in_a_stream(folder):
    (folder / "s.conll").write_text("a X\nb ?\n\nc Y\n\nd ?\n")
    args = ["--learner", "perceptron", "--stream", "--batch-size", 2, "--unknown-label", "?"]
    out = ok("train", folder / "s.conll", "-o", folder / "m", *args)
    assert "2 labeled and 1 unlabeled sentence" in out
    assert accord.load(folder / "m").structure_.labels_ == ["X", "Y"]


# -- the report ---------------------------------------------------------------------------------------------------
def test_the_report_tells_what_auto_decided_and_why(folder):
    args = ["train", folder / "few.conll", "-o", folder / "auto", "--unlabeled", folder / "many.txt", *FAST]
    out = ok(*args)
    model = accord.load(folder / "auto")
    assert "CoPerceptron: 12 labeled and 30 unlabeled sentences" in out
    assert f'weight of an unlabeled example: {model.unlabeled_weight_:g} (chosen by "auto")' in out
    assert len(model.auto_report_) > 2
    for entry in model.auto_report_:
        line = " ".join(f"{100 * rate:.1f}" for rate in entry["fold_errors"])
        assert line in out
        assert entry["why"] in out
    chosen = next(entry for entry in model.auto_report_ if entry["chosen"])
    assert f"> {chosen['candidate']}" in out
    assert ok(*args, "--quiet") == ""


def test_the_report_tells_the_disagreement(folder):
    args = ["train", folder / "few.conll", "-o", folder / "m", "--unlabeled", folder / "many.txt", *FAST]
    out = ok(*args, "--unlabeled-weight", "0.1")
    model = accord.load(folder / "m")
    rate = model.disagreement(read_conll(folder / "many.conll")[0])
    assert rate > 0
    assert f"the views disagree on {100 * rate:.2f} % of the tokens of the unlabeled examples" in out
    assert "weight of an unlabeled example: 0.1\n" in out
    assert "2 views: random1 (" in out


# -- inspect ------------------------------------------------------------------------------------------------------
def test_inspect_shows_the_views(folder):
    files = ["--labeled", folder / "few.conll", "--unlabeled", folder / "many.txt", "-o", folder / "v"]
    ok("train", *files, *FAST, "--n-views", 3, "--unlabeled-weight", "0.1")
    model = accord.load(folder / "v")
    found = json.loads(ok("inspect", folder / "v", folder / "many.txt", "--json"))
    assert [view["name"] for view in found["views"]] == ["random1", "random2", "random3"]
    for view, weights in zip(found["views"], model.view_weights_):
        assert view["features"] == np.count_nonzero(np.abs(weights.unary).sum(axis=1))
    rate = model.disagreement(read_conll(folder / "many.conll")[0])
    assert found["disagreement"] == {"data": str(folder / "many.txt"), "rate": rate, "of": "tokens"}
    assert found["parameters"]["RandomSplit"] == {"n_views": 3, "share": None}
    assert found["parameters"]["TokenFeatures"]["window"] == 1
    text = ok("inspect", folder / "v", "-", stdin=(folder / "many.txt").read_text())
    assert "Views (3; the model is their sum)" in text
    assert f"They disagree on {100 * rate:.2f} % of the tokens of -." in text


def test_inspect_a_sum_of_views(folder):
    ok("train", folder / "few.conll", "-o", folder / "s", "--learner", "sum-of-views", "--n-views", 4)
    found = json.loads(ok("inspect", folder / "s", "--json"))
    assert len(found["views"]) == 4
    assert found["parameters"]["SumOfViews"]["n_views"] == 4
    assert found["parameters"]["StructuredPerceptron"]["max_iter"] == 20


def test_inspect_when_auto_has_taken_one_view(folder):
    (folder / "two.conll").write_text("Ana PER\nleft O\n")  # nothing to compare on
    ok("train", folder / "two.conll", "-o", folder / "one", *FAST, "--unlabeled", folder / "many.txt")
    found = json.loads(ok("inspect", folder / "one", "--json"))
    assert [view["name"] for view in found["views"]] == ["all features"]
    result = run("inspect", folder / "one", folder / "many.txt")
    assert result.exit_code == 2
    assert "this CoPerceptron has one view" in result.stderr


def test_a_model_of_one_view_cannot_disagree(folder):
    ok("train", folder / "few.conll", "-o", folder / "p", "--learner", "perceptron")
    assert json.loads(ok("inspect", folder / "p", "--json"))["views"] is None
    result = run("inspect", folder / "p", folder / "many.txt")
    assert result.exit_code == 2
    assert "this StructuredPerceptron has one view" in result.stderr


@pytest.fixture(autouse=True)
def keyboard():
    """Ctrl-C is heard, also where the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# -- Ctrl-C -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("learner", ["co-perceptron", "co-svm"])
def test_ctrl_c_keeps_what_was_learned_so_far(folder, monkeypatch, learner):
    """Ctrl-C in the third pass: the model of the two before is written."""
    from accord.structures.chains.consensus import ChainConsensusProblem

    name = {"co-perceptron": "co_perceptron_epoch", "co-svm": "visit_unlabeled"}[learner]
    visit, passes = getattr(ChainConsensusProblem, name), []

    def interrupted(self, *args):
        if len(passes) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        passes.append(1)
        return visit(self, *args)

    monkeypatch.setattr(ChainConsensusProblem, name, interrupted)
    path = folder / f"{learner}-interrupted"
    args = ["--learner", learner, "--unlabeled", folder / "many.txt", "--unlabeled-weight", "0.1"]
    result = run("train", folder / "few.conll", "-o", path, *args)
    assert result.exit_code == 130
    assert f"accord: interrupted; {path} has what was learned so far\n" in result.stderr
    assert "interrupted after 2 passes" in result.stderr
    assert accord.load(path).n_iter_ == 2
    assert ok("predict", path, folder / "many.txt")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("learner", ["gradient-svm", "tsvm", "gradient-co-svm"])
def test_ctrl_c_keeps_the_smooth_machine_of_the_rounds_so_far(folder, monkeypatch, learner):
    from accord.solvers import transduction

    visit, rounds = transduction._round, []

    def interrupted(*args):
        if len(rounds) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        rounds.append(1)
        return visit(*args)

    monkeypatch.setattr(transduction, "_round", interrupted)
    path = folder / f"{learner}-interrupted"
    weight = [] if learner == "gradient-svm" else ["--unlabeled-weight", "0.1"]
    args = ["--learner", learner, "--unlabeled", folder / "many.txt", *weight]
    result = run("train", folder / "few.conll", "-o", path, *args)
    assert result.exit_code == 130
    assert f"accord: interrupted; {path} has what was learned so far\n" in result.stderr
    assert accord.load(path).n_iter_ == 2
    assert ok("predict", path, folder / "many.txt")


def test_ctrl_c_while_auto_is_choosing_keeps_nothing(folder, monkeypatch):
    from accord.structures.chains.consensus import ChainConsensusProblem

    monkeypatch.setattr(ChainConsensusProblem, "co_perceptron_epoch", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    result = run("train", folder / "few.conll", "-o", folder / "never", "--unlabeled", folder / "many.txt", *FAST)
    assert result.exit_code == 130
    assert f"the model is lost, and {folder / 'never'} was not written" in result.stderr
    assert not (folder / "never").exists()


def test_ctrl_c_is_heard_by_learners_that_keep_nothing(folder, monkeypatch):
    monkeypatch.setattr(accord.CRF, "fit", lambda self, X, Y: os.kill(os.getpid(), signal.SIGINT))
    result = run("train", folder / "few.conll", "-o", folder / "never")
    assert result.exit_code == 130
    assert "the model is lost" in result.stderr
    assert not (folder / "never").exists()
