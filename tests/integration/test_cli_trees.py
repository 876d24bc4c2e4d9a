"""Training parsers, parsing, scoring and inspecting from the command line."""

import gzip
import json
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from cli_helpers import ok, run

import accord
from accord import PCFG, TokenFeatures, Tree
from accord.datasets import grammar_sentences, read_trees, write_trees
from accord.datasets.trees import bracketed, clean, leaves, tags
from accord.evaluation import COLLINS, bracket_scores, draw_text
from accord.exceptions import NoParseWarning
from accord.views.default import names_only

WSJ = "( (S (NP-SBJ-1 (DT The) (NN dog)) (VP (VBD left) (NP (-NONE- *T*-1))) (. .)) )\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Treebanks `train.mrg`, `few.mrg`, `test.mrg`; `test.txt` of sentences, `tagged.txt` with tags; a parser."""
    path = tmp_path_factory.mktemp("trees")
    for name, n, seed in (("train", 50, 0), ("few", 20, 0), ("test", 20, 1)):
        X, Y = grammar_sentences(n, max_depth=6, random_state=seed)
        write_trees(Y, path / f"{name}.mrg")
    (path / "test.txt").write_text("".join(" ".join(x) + "\n" for x in X))
    pairs = [zip(leaves(y), tags(y)) for y in Y]
    (path / "tagged.txt").write_text("".join(" ".join(f"{w}/{t}" for w, t in p) + "\n" for p in pairs))
    ok("train", path / "train.mrg", "--model", path / "pcfg.accord", "--learner", "pcfg")
    return path


def treebank(folder, name="train"):
    trees = read_trees(folder / f"{name}.mrg")
    return [leaves(tree) for tree in trees], trees


def quiet(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoParseWarning)
        return function(*args)


def predictions(folder, model="pcfg.accord"):
    return quiet(accord.load(folder / model).predict, treebank(folder, "test")[0])


def lines(trees):
    return "".join(bracketed(tree) + "\n" for tree in trees)


# -- train --------------------------------------------------------------------------------------------------------
SMALL = ["--affixes", "2", "--window", "0"]
VIEW = TokenFeatures(window=0, affixes=(2,))


@pytest.mark.parametrize(
    ("options", "learner"),
    [
        (
            ["--learner", "perceptron", "--max-iter", "3", "--horizontal", "none", "--vertical", "2", *SMALL],
            accord.StructuredPerceptron(Tree(horizontal=None, vertical=2), VIEW, max_iter=3, random_state=0),
        ),
        (
            ["--learner", "svm", "--loss", "zero-one", "--rescaling", "slack", "--norm", "2", "--tol", "0.1", *SMALL],
            accord.StructuredSVM(
                Tree(loss="zero-one"), VIEW, rescaling="slack", norm=2, tol=0.1, random_state=0
            ),
        ),
        (
            ["--task", "tree", "--span-features", "none", "--rare", "2", "--tol", "1e-2", *SMALL],
            accord.CRF(Tree(span_features=None, rare=2), VIEW, tol=1e-2, random_state=0),
        ),
        (["--learner", "pcfg", "--smoothing", "0.5"], PCFG(Tree(), smoothing=0.5)),
    ],
    ids=["perceptron", "svm", "crf", "pcfg"],
)  # fmt: skip
def test_options_reach_the_constructors(folder, options, learner):
    assert ok("train", folder / "few.mrg", "--model", folder / "m", *options) == ""
    learner.fit(*treebank(folder, "few"))
    np.testing.assert_array_equal(accord.load(folder / "m").weights_.flat(), learner.weights_.flat())


def test_given_tags(folder):
    options = ["--terminals", "tags", "--learner", "perceptron", "--max-iter", "3"]
    ok("train", folder / "train.mrg", "--model", folder / "tags.accord", *options)
    trees = read_trees(folder / "train.mrg")
    pairs = [list(zip(leaves(tree), tags(tree))) for tree in trees]
    model = accord.StructuredPerceptron(Tree(terminals="tags"), names_only(1), max_iter=3, random_state=0)
    model.fit(pairs, trees)
    np.testing.assert_array_equal(accord.load(folder / "tags.accord").weights_.flat(), model.weights_.flat())
    found = ok("predict", folder / "tags.accord", folder / "tagged.txt")
    assert found == ok("predict", folder / "tags.accord", folder / "test.mrg")
    assert [tags(t) for t in map(_tree, found.splitlines())] == [tags(t) for t in read_trees(folder / "test.mrg")]
    # tags alone stand for their words; the last slash counts
    assert ok("predict", folder / "tags.accord", stdin="PRP VBD\n") == "(S (NP (PRP PRP)) (VP (VBD VBD)))\n"
    assert "(PRP 1/2)" in ok("predict", folder / "tags.accord", stdin="1/2/PRP slept/VBD\n")
    result = run("predict", folder / "tags.accord", stdin="she/PRP slept/VBD\nshe/ slept/VBD\n")
    assert result.exit_code == 2
    assert "<stdin>, line 2: 'she/' is no word with its tag; expected word/TAG" in result.stderr


def _tree(text):
    return accord.datasets.trees.as_tree(text)


def test_standard_input_gzip_and_a_file_give_the_same_model(folder):
    text = (folder / "train.mrg").read_bytes()
    (folder / "train.mrg.gz").write_bytes(gzip.compress(text))
    ok("train", folder / "train.mrg.gz", "--model", folder / "gz", "--learner", "pcfg")
    ok("train", "-", "--task", "tree", "--model", folder / "stdin", "--learner", "pcfg", stdin=text)
    for name in ("gz", "stdin"):
        assert (folder / name).read_bytes() == (folder / "pcfg.accord").read_bytes()


def test_clean_and_max_length(tmp_path):
    short = "( (S (NP (NN Ana)) (VP (VBD left))) )\n"
    (tmp_path / "t.mrg").write_text(WSJ + short * 2)
    ok("train", tmp_path / "t.mrg", "--clean", "--learner", "pcfg", "-o", tmp_path / "m")
    model = accord.load(tmp_path / "m")
    assert model.structure_.grammar_.root == "TOP"
    assert model.structure_.labels_ == ["NP", "S", "VP"]
    # the model remembers to clean the trees that it is compared with
    scores = json.loads(ok("evaluate", tmp_path / "m", tmp_path / "t.mrg", "--json"))
    assert (scores["n_tokens"], scores["bracket_f1"]) == (8, 1.0)
    ok("train", tmp_path / "t.mrg", "--learner", "pcfg", "-o", tmp_path / "m", "--max-length", 2)
    assert accord.load(tmp_path / "m").structure_.labels_ == ["NP", "S", "VP"]
    assert "-NONE-" not in accord.load(tmp_path / "m").structure_.grammar_.tags
    result = run("train", tmp_path / "t.mrg", "--learner", "pcfg", "-o", tmp_path / "m", "--max-length", 1)
    assert "t.mrg has no trees of at most 1 words (--max-length)" in result.stderr


def test_a_further_treebank_gives_rules(folder, tmp_path):
    (tmp_path / "one.mrg").write_text("(S (NP (PRP she)) (VP (VBD slept)))\n")
    args = ["train", tmp_path / "one.mrg", "--learner", "pcfg", "-o", tmp_path / "m"]
    ok(*args)
    assert "no parse for 1 of 1 sentences" in run("predict", tmp_path / "m", stdin="the dog left\n").stderr
    ok(*args, "--grammar", folder / "train.mrg")
    result = run("predict", tmp_path / "m", "-q", stdin="the dog left\n")
    assert (result.stdout, result.stderr) == ("(S (NP (DT the) (NN dog)) (VP (VBD left)))\n", "")


@pytest.mark.parametrize("learner", ["pcfg", "co-perceptron", "co-svm", "tsvm", "gradient-co-svm"])
def test_unlabeled_sentences(folder, learner):
    options = ["--learner", learner, "--unlabeled-weight", "0.1", "--max-iter", "3"]
    options += [] if learner == "pcfg" else SMALL
    found = []
    for name in ("test.txt", "test.mrg"):
        result = run("train", folder / "few.mrg", "--unlabeled", folder / name, "-o", folder / "m", *options)
        assert result.exit_code == 0, result.output
        assert "20 labeled and 20 unlabeled sentences" in result.stdout
        assert "weight of an unlabeled example: 0.1" in result.stdout
        if learner not in ("pcfg", "tsvm"):
            assert "of the constituents of the unlabeled examples" in result.stdout
        found.append(accord.load(folder / "m"))
    assert [len(model.transduction_) for model in found] == [20, 20]
    np.testing.assert_array_equal(found[0].weights_.flat(), found[1].weights_.flat())


def test_sum_of_views(folder):
    ok("train", folder / "train.mrg", "--learner", "sum-of-views", "--n-views", 2, "-o", folder / "sum", *SMALL)
    assert accord.load(folder / "sum").n_views_ == 2
    assert "disagree on" in ok("inspect", folder / "sum", folder / "test.txt")


def test_valid_prints_scores(folder):
    out = ok(
        "train", folder / "train.mrg", "-o", folder / "m", "--learner", "pcfg", "--valid", folder / "test.mrg"
    )  # fmt: skip
    assert "exact match" in out
    assert "20 sentences" in out


# -- bad input ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        ([], "(S (N a) (V b))\n(S (N a)\n\n(V b)\n", "<stdin>, line 2: the tree that begins here never ends"),
        ([], "(S (N a) (V b)))\n", "<stdin>, line 1: a closing bracket without an opening one"),
        ([], "(S (N a) (V b))\nwords\n", "<stdin>, line 2: 'words' outside of brackets"),
        ([], "(S (N a) b)\n", "<stdin>, line 1: "),
        ([], "(S (N))\n", "<stdin>, line 1: "),
        ([], b"(S (N \xff))\n", "line 1: byte 0xff is not valid utf-8"),
        ([], "", "- has no trees"),
        (["--clean"], "((S (-NONE- *)))\n", "- has no trees"),
        (["--horizontal", "-1"], "", "'-1' is not a number, 0 or more, or none"),
        (["--span-features", "all"], "", "'all' is not one of label, symbol, rule and none"),
        (["--loss", "macro-f1"], "(S (N a))\n", "loss is 'macro-f1'; expected "),
        (["--learner", "hmm"], "", "--learner hmm does not learn trees; use one of perceptron, svm, crf, pcfg"),
        (["--learner", "pcfg", "--window", "2"], "", "--window belongs to tokens and dicts, but this model has pcfg"),
        (["--learner", "pcfg", "--distributional"], "", "--distributional adds features, and pcfg has none"),
        (["--stream"], "", "--stream is not for trees"),
        (["--format", "conll"], "", "trees are read from treebank, text files, not from conll"),
        (["--format", "text"], "", "plain text has no trees to learn from"),
        (["--unknown-label", "X"], "", "trees have none"),
        (["--solver", "frank-wolfe", "--learner", "svm"], "(S (N a))\n", "frank-wolfe"),
        (["--taxonomy", "t.tsv"], "", "--taxonomy is for the task taxonomy; it does not go with --task tree"),
    ],
)  # fmt: skip
def test_bad_training_data_and_options_end_in_one_line(args, stdin, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.tsv").write_text("a\tb\n")
    learner = [] if "--learner" in args or "--stream" in args else ["--learner", "perceptron"]
    result = run("train", "-", "--task", "tree", "-o", "m", *learner, *args, stdin=stdin)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("option", [["--learner", "pcfg"], ["--grammar", "g.mrg"]])
def test_options_of_trees_with_another_task(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.mrg").write_text("(S (N a))\n")
    result = run("train", "-", "--task", "sequence", "-o", "m", *option, stdin="a O\n")
    assert result.exit_code == 2
    assert f"Error: {' '.join(option)} is for the task tree; it does not go with --task sequence" in (
        result.stderr.replace("--grammar", "--grammar g.mrg")
    )


def test_an_empty_grammar(folder, tmp_path):
    (tmp_path / "empty.mrg").write_text("# nothing\n")
    result = run("train", folder / "train.mrg", "--grammar", tmp_path / "empty.mrg", "-o", tmp_path / "m")
    assert result.exit_code == 2
    assert "empty.mrg: the file has no trees" in result.stderr


def test_trees_without_a_common_start_symbol(tmp_path):
    """Every symbol that a tree of the treebank has at the top may be there."""
    text = "(S (N a) (V b))\n(FRAG (N a))\n((X (N a) (N a)))\n"
    ok("train", "-", "--task", "tree", "--learner", "pcfg", "-o", tmp_path / "m", stdin=text)
    out = ok("predict", tmp_path / "m", stdin="a b\na\na a\n")
    assert out == text.replace("((", "( (") or out == text
    assert "Symbols at the top" in ok("inspect", tmp_path / "m")


# -- predict ------------------------------------------------------------------------------------------------------
def test_brackets_read_back(folder):
    expected = predictions(folder)
    assert ok("predict", folder / "pcfg.accord", folder / "test.txt") == lines(expected)
    ok("predict", folder / "pcfg.accord", folder / "test.mrg", "--chunk-size", 3, "-o", folder / "out.trees")
    assert read_trees(folder / "out.trees") == expected
    text = (folder / "test.txt").read_text()
    assert ok("predict", folder / "pcfg.accord", "-", "--n-jobs", 2, stdin=text) == lines(expected)


def test_empty_lines_stay_empty(folder):
    out = ok("predict", folder / "pcfg.accord", stdin="\nshe slept\n\n\nhe left\n")
    assert [line.count("(") for line in out.split("\n")] == [0, 5, 0, 0, 5, 0]
    assert ok("predict", folder / "pcfg.accord", stdin="\n") == "\n"
    assert ok("predict", folder / "pcfg.accord", stdin="") == ""
    assert ok("predict", folder / "pcfg.accord", "--output-format", "text", stdin="\n") == "\n"


def test_sentences_without_a_parse_are_counted_and_named(folder):
    text = "the dog slept\nslept slept\n\nthe dog left\nnear near\n"
    for size in (1, 2, 100):
        result = run("predict", folder / "pcfg.accord", "--chunk-size", size, "-q", stdin=text)
        assert result.exit_code == 0
        assert "no parse for 2 of 5 sentences (sentences 2, 5)" in result.stderr
        assert result.stderr.count("\n") == 1
        trees = result.stdout.split("\n")
        assert [leaves(_tree(t)) for t in (trees[1], trees[4])] == [["slept", "slept"], ["near", "near"]]
    many = run("predict", folder / "pcfg.accord", stdin="slept slept\n" * 12)
    assert "12 of 12 sentences (sentences 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...)" in many.stderr


def test_long_sentences_and_unknown_words(folder):
    long = "she saw the dog" + " in the garden" * 40
    (tree,) = ok("predict", folder / "pcfg.accord", stdin=long).splitlines()
    assert leaves(_tree(tree)) == long.split()
    words = "the Žofie (  東京"
    result = run("predict", folder / "pcfg.accord", "--tokenizer", "blanks", stdin=words.encode())
    assert result.exit_code == 0
    assert leaves(_tree(result.stdout)) == ["the", "Žofie", "-LRB-", "東京"]


def test_drawings(folder):
    out = ok("predict", folder / "pcfg.accord", "--output-format", "text", stdin="she slept\n")
    assert out == draw_text("(S (NP (PRP she)) (VP (VBD slept)))") + "\n\n"


def test_pictures(folder, tmp_path):
    out = ok("predict", folder / "pcfg.accord", "--output-format", "svg", stdin="\nshe slept\n")
    assert ET.fromstring(out).tag.endswith("svg")
    result = run("predict", folder / "pcfg.accord", "--output-format", "svg", stdin="she slept\nhe left\n")
    assert result.exit_code == 2
    assert "standard output takes one picture; give a folder" in result.stderr
    args = ["predict", folder / "pcfg.accord", "--output-format", "svg", "-o", tmp_path / "new" / "pictures"]
    assert ok(*args, stdin="she slept\n\nhe left\n") == ""
    found = sorted(path.name for path in (tmp_path / "new" / "pictures").iterdir())
    assert found == ["0001.svg", "0003.svg"]
    assert "left" in (tmp_path / "new" / "pictures" / "0003.svg").read_text()


def test_k_best(folder):
    sentence = "she saw the dog in the garden"
    expected = accord.load(folder / "pcfg.accord").predict_k_best([sentence.split()], 3)[0]
    assert len(expected) > 1
    out = ok("predict", folder / "pcfg.accord", "--k-best", 3, stdin=sentence + "\n\n")
    assert out == "".join(f"{score:.6g}\t{bracketed(tree)}\n" for tree, score in expected) + "\n\n"
    found = json.loads(ok("predict", folder / "pcfg.accord", "--k-best", 3, "--output-format", "json", stdin=sentence))
    assert [(k["tree"], k["score"]) for k in found["k_best"]] == [(tree, pytest.approx(s)) for tree, s in expected]
    drawn = ok("predict", folder / "pcfg.accord", "--k-best", 2, "--output-format", "text", stdin=sentence)
    assert drawn.startswith(f"# 1 {expected[0][1]:.6g}\n")
    assert f"\n# 2 {expected[1][1]:.6g}\n" in drawn
    result = run("predict", folder / "pcfg.accord", "--k-best", 3, stdin="slept slept\n")
    assert result.stdout.startswith("-inf\t(S ")
    assert "no parse for 1 of 1" in result.stderr


def test_marginals(folder):
    sentence = "she saw the dog in the garden"
    (expected,) = accord.load(folder / "pcfg.accord").predict_marginals([sentence.split()])
    args = ["predict", folder / "pcfg.accord", "--marginals"]
    found = json.loads(ok(*args, "--output-format", "json", stdin=sentence))
    assert {tuple(c): p for *c, p in found["marginals"]} == {c: pytest.approx(p, abs=1e-6) for c, p in expected.items()}
    result = run(*args, stdin=sentence)
    assert result.exit_code == 2
    assert "--output-format json" in result.stderr


@pytest.mark.parametrize("name", ["conll"])
def test_formats_of_other_outputs(folder, name, tmp_path):
    result = run("predict", folder / "pcfg.accord", "--output-format", name, stdin="she slept\n")
    assert result.exit_code == 2
    assert "a PCFG of trees writes brackets, text, svg, json, not conll" in result.stderr
    ok("train", "-", "-o", tmp_path / "tagger", "--learner", "perceptron", stdin="a X\nb Y\n")
    result = run("predict", tmp_path / "tagger", "--output-format", "svg", stdin="a\n")
    assert result.exit_code == 2
    assert "writes conll, text, json, not svg" in result.stderr


# -- evaluate and inspect -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("scoring", ["papers", "collins"])
def test_figures_are_those_of_the_library(folder, scoring):
    gold = read_trees(folder / "test.mrg")
    options = {"options": COLLINS} if scoring == "collins" else {}
    expected = bracket_scores(gold, predictions(folder), **options)
    args = ["--scoring", scoring, "--json"]
    text = ok("evaluate", folder / "pcfg.accord", folder / "test.mrg", *args)
    found = json.loads(text)
    for name in ("precision", "recall", "exact", "tag_accuracy", "mean_crossing", "no_crossing"):
        assert found[name] == getattr(expected, name)
    assert (found["bracket_f1"], found["n_examples"]) == (expected.f1, 20)
    assert (found["n_true"], found["n_pred"], found["n_correct"]) == expected.totals
    ok("predict", folder / "pcfg.accord", folder / "test.txt", "-o", folder / "found.trees")
    assert ok("evaluate", "--predictions", folder / "found.trees", folder / "test.mrg", *args) == text
    table = ok("evaluate", folder / "pcfg.accord", folder / "test.mrg", "--scoring", scoring)
    assert f"{100 * expected.f1:.2f} %" in table


def test_wrong_files_of_predictions(folder, tmp_path):
    (tmp_path / "one.trees").write_text("(S (N a))\n")
    result = run("evaluate", "--predictions", tmp_path / "one.trees", folder / "test.mrg")
    assert result.exit_code == 2
    assert "one.trees has 1 trees but" in result.stderr
    (tmp_path / "two.trees").write_text("(S (N b))\n")
    result = run("evaluate", "--predictions", tmp_path / "one.trees", tmp_path / "two.trees")
    assert "sentence 1 has other tokens than the labeled data" in result.stderr


def test_evaluation_without_trees(folder, tmp_path):
    result = run("evaluate", folder / "pcfg.accord", "-", stdin="")
    assert result.exit_code == 2
    assert "no labels to score against" in result.stderr
    result = run("evaluate", folder / "pcfg.accord", folder / "test.txt")
    assert result.exit_code == 2
    assert "no labels to score against" in result.stderr


def test_inspect(folder):
    model = accord.load(folder / "pcfg.accord")
    found = json.loads(ok("inspect", folder / "pcfg.accord", "--json", "--top", 3))
    g = model.structure_.grammar_
    assert found["sizes"]["rules"] == len(g.rules)
    assert found["sizes"]["tags"] == len(g.tags)
    assert found["labels"] == model.structure_.labels_
    assert found["starts"] == {"S": 50}
    assert len(found["rules"]["highest"]) == len(found["rules"]["lowest"]) == 3
    weights = model.structure_.split_transitions(model.weights_.transitions)[0]
    name, weight, count = found["rules"]["lowest"][0]
    p = int(np.argmin(weights))
    assert (name, weight, count) == (g.rule_name(p), weights[p], g.rule_counts[p])
    table = ok("inspect", folder / "pcfg.accord")
    assert "Strongest rules" in table
    assert found["rules"]["highest"][0][0] in table


def test_inspect_features(folder):
    ok("train", folder / "train.mrg", "--learner", "perceptron", "-o", folder / "perceptron", *SMALL)
    found = json.loads(ok("inspect", folder / "perceptron", "--json", "--top", 4))
    where, name, weight = found["features"]["highest"][0]
    model = accord.load(folder / "perceptron")
    assert weight == model.weights_.unary.max()
    assert where.split(" of ")[0] in ("first", "last", "split") or where.startswith("tag ")
    assert name in model.view_.feature_names(range(model.view_.n_dims_))
    assert "Strongest features" in ok("inspect", folder / "perceptron")


def test_clean_is_that_of_the_library(tmp_path):
    (tmp_path / "t.mrg").write_text(WSJ)
    ok("train", tmp_path / "t.mrg", "--clean", "--learner", "pcfg", "-o", tmp_path / "m")
    assert ok("predict", tmp_path / "m", tmp_path / "t.mrg") == lines(
        [clean(t) for t in read_trees(tmp_path / "t.mrg")]
    )
