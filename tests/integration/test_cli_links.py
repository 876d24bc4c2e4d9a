"""Links between rows, and encoders, on the command line: trained with, saved, inspected, predicted with new ones."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
from cli_helpers import ok, run

import accord

FOOD, TRAVEL = ["red wine", "wine and cheese", "cheese or bread"], ["fast train", "train or bus", "slow bus line"]


def write_papers(folder):
    """Two topics of four rows each; those without a label share no word with others, but have links."""
    rows = [(f"f{k}", text, "food") for k, text in enumerate(FOOD)]
    rows += [(f"t{k}", text, "travel") for k, text in enumerate(TRAVEL)]
    rows += [("f3", "alpha beta gamma", ""), ("t3", "delta epsilon zeta", "")]
    (folder / "papers.csv").write_text("id,text,topic\n" + "".join(",".join(row) + "\n" for row in rows))
    links = [(a + str(i), a + str(j)) for a in "ft" for i in range(4) for j in range(i)]
    (folder / "links.csv").write_text("citing,cited\n" + "".join(f"{a},{b}\n" for a, b in links))


def test_rows_are_classified_by_their_links(tmp_path):
    write_papers(tmp_path)
    papers, links, model = tmp_path / "papers.csv", tmp_path / "links.csv", tmp_path / "m.accord"
    plan = ok("train", papers, "--links", links, "--dry-run")
    assert "names of rows" in plan
    assert "LinkedFeatures" in plan
    done = run("train", papers, "--links", links, "-o", model)
    assert done.exit_code == 0, done.output
    assert "free text: text (words, tf-idf)" in done.output
    assert ok("predict", model, papers).split() == ["food"] * 3 + ["travel"] * 3 + ["food", "travel"]

    # new rows, of which only links tell, in a file of their own; they also have links with each other
    (tmp_path / "new.csv").write_text("id,text\nn1,eta\nn2,theta\nn3,iota\n")
    (tmp_path / "more.tsv").write_text("n1\tt0\nn1\tt1\nn2\tf1\nn2\tf2\nn3\tn2\n")
    assert ok("predict", model, tmp_path / "new.csv", "--links", tmp_path / "more.tsv").split() == [
        "travel", "food", "food",
    ]  # fmt: skip
    (tmp_path / "truth.csv").write_text("id,text,topic\nn1,eta,travel\nn2,theta,food\n")
    scores = json.loads(ok("evaluate", model, tmp_path / "truth.csv", "--links", tmp_path / "more.tsv", "--json"))
    assert scores["zero_one_loss"] == 0.0
    found = json.loads(ok("inspect", model, "--json"))
    assert (found["view"], found["sizes"]["nodes"], found["sizes"]["links"]) == ("LinkedFeatures", 10, 13)


def test_rows_may_bring_their_links(tmp_path):
    rows = [{"id": k, "text": text, "cites": "", "label": "food"} for k, text in enumerate(FOOD)]
    rows += [{"id": 10 + k, "text": text, "cites": "", "label": "travel"} for k, text in enumerate(TRAVEL)]
    rows += [{"id": 7, "text": "alpha", "cites": "0, 1, 2"}, {"id": 17, "text": "beta", "cites": "10 11 12"}]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = ("--node-column", "id", "--link-column", "cites")
    model = tmp_path / "m.accord"
    ok("train", tmp_path / "p.jsonl", "--task", "multiclass", *columns, "-o", model)
    (tmp_path / "new.jsonl").write_text('{"id": 99, "text": "gamma", "cites": "17 12"}\n')
    assert ok("predict", model, tmp_path / "new.jsonl").split() == ["travel"]


def test_links_that_join_nothing_are_refused(tmp_path):
    write_papers(tmp_path)
    papers, links, model = tmp_path / "papers.csv", tmp_path / "links.csv", tmp_path / "m.accord"
    (tmp_path / "other.csv").write_text("x,y\ny,z\n")
    (tmp_path / "bad.csv").write_text("f0,f1,1\nf1,f2,-3\n")
    (tmp_path / "s.conll").write_text("Rome B-LOC\n\n")
    (tmp_path / "only.csv").write_text("id,topic\nf0,food\nf1,travel\n")
    ok("train", papers, "-o", model)
    for args, message in (
        ((papers, "--links", tmp_path / "other.csv"), "no column of"),
        ((papers, "--links", tmp_path / "other.csv", "--node-column", "id"), "edges has no node of X"),
        ((papers, "--links", tmp_path / "bad.csv"), "bad.csv, line 2"),
        ((papers, "--links", tmp_path / "no.csv"), "no.csv"),
        ((papers, "--links", links, "--node-column", "name"), "name"),
        ((papers, "--link-column", "text"), "say by --node-column"),
        ((tmp_path / "s.conll", "--links", links), "rows of a table"),
        ((papers, "--links", links, "--learner", "crf", "--stream"), "leave --stream out"),
        ((tmp_path / "only.csv", "--links", links), "no columns but names"),
        (("-", "--links", links, "--format", "csv"), "--node-column"),
    ):
        refused = run("train", *args, "-o", tmp_path / "no.accord", stdin="id,topic\n")
        assert refused.exit_code == 2, (args, refused.output)
        assert message in refused.output, (args, refused.output)
    refused = run("predict", model, papers, "--links", links)
    assert "trained without links" in refused.output


# -- encoders ---------------------------------------------------------------------------------------------------------
class Doc(list):
    def __init__(self, vocab, words):
        super().__init__(SimpleNamespace(vector=[float(word[0] in "AEIOU"), len(word), 1.0]) for word in words)


@pytest.fixture
def spacy(monkeypatch):
    """A stand-in for the library."""
    library, tokens = ModuleType("spacy"), ModuleType("spacy.tokens")
    vocab = SimpleNamespace(vectors_length=3)

    def pipe(docs):
        return [Doc(vocab, doc.split()) if isinstance(doc, str) else doc for doc in docs]

    library.load = lambda name: SimpleNamespace(vocab=vocab, pipe=pipe, meta={"name": name, "lang": "x", "version": 1})
    tokens.Doc = Doc
    monkeypatch.setitem(sys.modules, "spacy", library)
    monkeypatch.setitem(sys.modules, "spacy.tokens", tokens)


def test_an_encoder_is_given_to_train_and_to_predict(tmp_path, spacy):
    pairs = [("Ana PER", "left O"), ("Rome LOC", "burns O"), ("Eva PER", "sleeps O"), ("Paris LOC", "is O")]
    (tmp_path / "few.conll").write_text("\n\n".join(map("\n".join, pairs)) + "\n")
    (tmp_path / "many.txt").write_text("Ina left\nOslo burns\n" * 4)
    few, model, cache = tmp_path / "few.conll", tmp_path / "m.accord", tmp_path / "vectors"
    encoder = ("--encoder", "spacy:tiny", "--encoder-cache", cache)
    ok("train", few, *encoder, "-o", model)
    assert any(cache.iterdir())
    found = json.loads(ok("inspect", model, "--json"))
    assert found["parameters"]["EncoderFeatures"]["name"] == "spacy:x_tiny-1"
    assert ok("predict", model, *encoder, stdin="Ina left\n").split()[1] == "PER"
    refused = run("predict", model, stdin="Ina left\n")
    assert refused.exit_code == 2
    assert "encoder 'spacy:x_tiny-1'; give it by --encoder" in refused.output
    done = run("train", few, "--unlabeled", tmp_path / "many.txt", *encoder, "-o", model)
    assert "Tagger" in done.output
    assert list(accord.load(model).vectors) == ["encoder"]  # held-out labels say whether it is used
    assert "is not there; expected a folder" in run("train", few, "--encoder", "minilm", "-o", model).output


def test_texts_have_vectors_beside_their_words(tmp_path, spacy):
    write_papers(tmp_path)
    papers, model = tmp_path / "papers.csv", tmp_path / "m.accord"
    ok("train", papers, "--links", tmp_path / "links.csv", "--encoder", "spacy:tiny", "-o", model)
    found = json.loads(ok("inspect", model, "--json"))
    assert {"LinkedFeatures", "TextFeatures", "EncoderFeatures"} <= found["parameters"].keys()
    assert ok("predict", model, papers, "--encoder", "spacy:tiny").split()[:2] == ["food", "food"]
    (tmp_path / "n.csv").write_text("a,b,kind\n1,2,x\n2,1,y\n")
    refused = run("train", tmp_path / "n.csv", "--encoder", "spacy:tiny", "-o", model)
    assert "--encoder is for words and texts" in refused.output


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_text("")
    write_papers(tmp_path)
    for module in ("onnxruntime", "spacy"):
        monkeypatch.setitem(sys.modules, module, None)
    for encoder in (tmp_path, tmp_path / "model.onnx", "spacy:tiny"):
        refused = run("train", tmp_path / "papers.csv", "--encoder", encoder, "-o", tmp_path / "m.accord")
        assert refused.exit_code == 2
        assert "'accord-ml[encoders]'" in refused.output
