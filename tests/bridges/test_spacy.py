"""Accord inside of the real spaCy: a component of blank pipelines, and documents out and in."""

import pytest
import spacy
from spacy.tokens import Doc, DocBin

from accord import CRF, InputError, MultiClass, Sequence, StructuredPerceptron
from accord.datasets import embedded_ner
from accord.datasets.label_spans import extract_spans
from accord.labeling.formats.files import read_labels, write_labels
from accord.labeling.sources import Reading, read_project

X, Y = embedded_ner(60, random_state=0)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "names.accord"
    CRF(Sequence(constraints="iob2")).fit(X, Y).save(path)
    return path


def docs_of(nlp, sentences):
    return [Doc(nlp.vocab, words=words) for words in sentences]


def spans(doc):
    return [(span.label_, span.start, span.end) for span in doc.ents]


def test_entities_and_scores_are_on_the_document(tagger):
    nlp = spacy.blank("en")
    nlp.add_pipe("accord", config={"model": str(tagger)})
    model = nlp.get_pipe("accord").model
    doc = nlp(Doc(nlp.vocab, words=X[0]))
    wanted = extract_spans(model.predict([X[0]])[0])
    assert spans(doc) == wanted != []
    (marginals,) = model.predict_marginals([X[0]])
    labels, (y,) = list(model.structure_.labels_), model.predict([X[0]])
    by_hand = [min(marginals[t, labels.index(y[t])] for t in range(a, b)) for _, a, b in wanted]
    assert [ent._.accord_score for ent in doc.ents] == pytest.approx(by_hand)
    assert doc.spans["accord"].attrs["scores"] == pytest.approx(by_hand)
    assert doc[0:1]._.accord_score is None or spans(doc)[0][1:] == (0, 1)
    # one by one, or many at a time, over two processes
    some = X[:7]
    wanted = [extract_spans(y) for y in model.predict(some)]
    assert [spans(d) for d in nlp.pipe(docs_of(nlp, some), batch_size=3)] == wanted
    assert [spans(d) for d in nlp.pipe(docs_of(nlp, some), n_process=2)] == wanted
    # a text with blanks, lines and nothing
    assert nlp("").ents == ()
    assert nlp("  \n ").ents == ()
    text = " ".join(X[0][:3]) + "\n\n  " + " ".join(X[0][3:])
    assert all(not token.is_space for ent in nlp(text).ents for token in (ent[0], ent[-1]))


def test_sentences_are_tagged_one_by_one_and_others_entities_stay(tagger):
    nlp = spacy.blank("en")
    nlp.add_pipe("accord", config={"model": str(tagger)})
    model = nlp.get_pipe("accord").model
    words = [*X[0], *X[1]]
    starts = [k in (0, len(X[0])) for k in range(len(words))]
    doc = nlp(Doc(nlp.vocab, words=words, sent_starts=starts))
    first, second = (extract_spans(y) for y in model.predict(X[:2]))
    assert spans(doc) == [*first, *((kind, a + len(X[0]), b + len(X[0])) for kind, a, b in second)]
    known = Doc(nlp.vocab, words=X[0], ents=["B-OTHER", *["I-OTHER"] * (len(X[0]) - 1)])
    assert [kind for kind, _, _ in spans(nlp(known))] == ["OTHER"]


@pytest.mark.parametrize("way", ["disk", "bytes"])
def test_a_pipeline_takes_its_model_along(tagger, tmp_path, way):
    nlp = spacy.blank("en")
    moved = tmp_path / "moved.accord"
    moved.write_bytes(tagger.read_bytes())
    nlp.add_pipe("accord", config={"model": str(moved)})
    before = [(spans(d), d.spans["accord"].attrs["scores"]) for d in nlp.pipe(docs_of(nlp, X[:5]))]
    if way == "disk":
        nlp.to_disk(tmp_path / "pipeline")
        moved.unlink()
        again = spacy.load(tmp_path / "pipeline")
    else:
        data = nlp.to_bytes()
        moved.unlink()
        again = spacy.blank("en")
        again.add_pipe("accord", config={"model": str(moved)})
        again.from_bytes(data)
    after = [(spans(d), d.spans["accord"].attrs["scores"]) for d in again.pipe(docs_of(again, X[:5]))]
    assert after == before
    doc = again(Doc(again.vocab, words=X[0]))
    other = Doc(again.vocab).from_bytes(doc.to_bytes())
    assert (spans(other), other.spans["accord"].attrs) == (spans(doc), doc.spans["accord"].attrs)
    assert [ent._.accord_score for ent in other.ents] == [ent._.accord_score for ent in doc.ents]


def test_classes_tags_and_what_is_no_model(tmp_path):
    texts, labels = ["good wine", "good food", "bad wine", "bad list"], ["yes", "yes", "no", "no"]
    CRF(MultiClass()).fit(texts, labels).save(tmp_path / "c.accord")
    cases = [["UP" if word[:1].isupper() else "low" for word in x] for x in X]
    StructuredPerceptron(Sequence()).fit(X, cases).save(tmp_path / "p.accord")
    nlp = spacy.blank("en")
    nlp.add_pipe("accord", name="classes", config={"model": str(tmp_path / "c.accord")})
    nlp.add_pipe("accord", name="tags", config={"model": str(tmp_path / "p.accord")})
    doc = nlp("good list")
    assert doc.cats["yes"] > 0.5
    assert sum(doc.cats.values()) == pytest.approx(1.0)
    assert {token.tag_ for token in doc} <= {"UP", "low"}
    assert doc.ents == ()
    missing = spacy.blank("en")
    missing.add_pipe("accord", config={"model": "typo.accord"})
    with pytest.raises(InputError, match="there is no file 'typo"):
        missing("text")
    none = spacy.blank("en")
    none.add_pipe("accord")
    with pytest.raises(InputError, match="give its path"):
        none("text")


def test_labels_go_to_a_docbin_and_come_back(tmp_path):
    (tmp_path / "text.txt").write_text("".join(" ".join(x) + "\n" for x in X[:20]))
    kinds = sorted({label[2:] for y in Y[:20] for label in y if label != "O"})
    project = read_project([str(tmp_path / "text.txt")], Reading(labels=kinds, tokenizer="blanks"))
    truth = dict(zip(project.keys, map(list, Y[:20])))
    first = project.keys[0]
    truth[first] = [None, *truth[first][1:]] if not truth[first][1].startswith("I-") else truth[first]
    data = write_labels(project, truth, "spacy")
    back, unknown = read_labels(project, data, "spacy")
    assert (back, unknown) == (truth, 0)
    # spaCy reads it as its own, and what spaCy writes is read here
    nlp = spacy.blank("en")
    docs = list(DocBin().from_bytes(data).get_docs(nlp.vocab))
    assert [[t.text for t in doc] for doc in docs] == X[:20]
    assert spans(docs[1]) == extract_spans(Y[1])
    assert docs[0].text == " ".join(X[0])
    own = DocBin(docs=[Doc(nlp.vocab, words=x, ents=y) for x, y in zip(X[:20], Y[:20])], store_user_data=True)
    again, unknown = read_labels(project, own.to_bytes(), "spacy")
    assert (again, unknown) == (dict(zip(project.keys, map(list, Y[:20]))), 0)
