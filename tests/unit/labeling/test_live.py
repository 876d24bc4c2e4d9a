"""Every kind of items: read, asked, answered, learned. Formats give back what they were given."""

import mailbox
import tarfile
from contextlib import suppress
from importlib.util import find_spec

import numpy as np
import pytest
from labeling_cases import project_of

from accord import AccordError, Deduplicator, InputError, load
from accord.datasets import people
from accord.exceptions import MissingExtraError
from accord.labeling.formats.files import formats_of, read_labels, write_labels
from accord.labeling.live import pairs, tokens
from accord.labeling.live.kinds import live_model
from accord.labeling.live.pairs import Closure, pairs_of
from accord.labeling.panel import error_of, labels_to_halve
from accord.labeling.project import BETWEEN, KINDS, Project, counted
from accord.labeling.service import open_service
from accord.labeling.sources import Reading, as_iob2, read_project
from accord.labeling.store import Store


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_of_each_kind(kind, tmp_path):
    project, right = project_of(kind, tmp_path)
    service = open_service(project, Store(tmp_path / "labels.sqlite"))
    trainer = service.trainer
    asked = []
    for number in range(min(12, len(project.items) - 3)):
        while trainer.now.version != service.store.version or not trainer.now.questions:
            trainer.step()
        found = service.next("w", "ana")
        if found["key"] is None:
            break
        asked.append(found["key"])
        assert number == 0 or found["model"] or kind != "trees"
        service.answer(found["key"], "ana", right(found["key"]))
    assert len(set(asked)) == len(asked) >= 3  # nothing is asked twice
    while trainer.step():
        pass
    told = service.state("ana")
    assert told["answered"] == len(asked) + len(project.given)
    assert told["behind"] == 0
    assert told["trouble"] == ""
    model = trainer.now.model
    truth = service.store.truth()
    judged = model.judge(truth)  # on what it was trained on
    error, low, high = error_of(judged, service.live.is_share)
    assert low <= error <= high
    assert error < (0.1 if service.live.is_share else 8.0)
    if len(truth) >= 8:
        assert told["panel"]["curve"]
        assert all(point["low"] <= point["error"] <= point["high"] for point in told["panel"]["curve"])
    # another session goes on with what the store has
    service.store.close()
    again = open_service(None, Store(tmp_path / "labels.sqlite"))
    assert again.store.truth() == truth
    assert again.project.keys == project.keys
    # every format gives back what it was given
    for form in formats_of(project):
        if form == "spacy" and find_spec("spacy") is None:
            with pytest.raises(MissingExtraError, match="pip install 'accord"):
                write_labels(project, truth, form)
            continue
        data = write_labels(project, truth, form)
        back, unknown = read_labels(again.project, data, form)
        assert unknown == 0
        assert back == truth, form
        for damaged in (b"\xff\xfe\x00nonsense", b"[1, 2]", b"{}", b"(((", data[: len(data) // 2] + b"}"):
            with suppress(AccordError):  # no other error comes out
                read_labels(again.project, damaged, form)


def test_answers_are_checked(tmp_path):
    project, right = project_of("tokens", tmp_path)
    key = project.keys[0]
    n = len(right(key))
    for wrong, says in ((["O"], f"each of {n} tokens"), (["XX"] * n, "which there is not"), ("O", "label, or null")):
        with pytest.raises(InputError, match=says):
            project.check(key, wrong)
    assert project.check(key, [None] * n) == [None] * n
    with pytest.raises(InputError, match="no item"):
        project.check("../../etc/passwd", ["O"])
    assert project.add_label("MISC") == "MISC"
    with pytest.raises(InputError, match="no blanks"):
        project.add_label("two words")
    classes, _ = project_of("classes", tmp_path)
    with pytest.raises(InputError, match="none of the labels"):
        classes.check(classes.keys[0], "ugly")
    numbers, _ = project_of("numbers", tmp_path)
    for wrong in (float("nan"), "3", True, None):
        with pytest.raises(InputError, match="finite number"):
            numbers.check(numbers.keys[0], wrong)
    trees, _ = project_of("trees", tmp_path)
    with pytest.raises(InputError, match="not those of the sentence"):
        trees.check(trees.keys[0], "(S (N other) (V words))")
    with pytest.raises(InputError):
        trees.check(trees.keys[0], "(S (N")


def test_labels_of_tokens_that_are_not_sure_stay_so(tmp_path):
    project, right = project_of("tokens", tmp_path)
    key = next(k for k in project.keys if any(y != "O" for y in right(k)))
    value = [None if t == 0 else y for t, y in enumerate(right(key))]
    for form in ("conll", "prodigy", "label-studio"):
        assert read_labels(project, write_labels(project, {key: value}, form), form) == ({key: value}, 0)
    assert sum(counted(project, {key: right(key)}).values()) == sum(y[0] == "B" for y in right(key))


def test_the_view_of_neighbours_does_not_see_the_word_itself(tmp_path):
    project, right = project_of("tokens", tmp_path)
    live = live_model(project)
    model = live.learn({key: right(key) for key in project.keys[:10]})
    x = next(x for x in live.tokens(project.keys) if len(x) > 2)
    seen, other = (model.around.view_.transform(tokens._around([y])).matrix() for y in (x, [x[0], "other", *x[2:]]))
    assert (seen[[1]] != other[[1]]).nnz == 0
    assert (seen[[0]] != other[[0]]).nnz > 0


def test_pairs_whose_answer_follows_are_not_asked_and_answers_make_a_model(tmp_path):
    said = {f"a{BETWEEN}b": "same", f"b{BETWEEN}c": "same", f"c{BETWEEN}d": "different", f"e{BETWEEN}f": "unsure"}
    follows = Closure(said)
    assert follows.answer("a", "c") == "same"
    assert follows.answer("a", "d") == "different"
    assert follows.answer("e", "f") is None
    project, right = project_of("pairs", tmp_path)
    live = live_model(project)
    truth, rng = {}, np.random.default_rng(0)
    for _ in range(10):
        model = live.learn(truth)
        question = model.rank([k for k in live.candidates() if k not in truth], 1, rng)[0]
        truth[question.key] = right(question.key)
    assert set(truth.values()) == {"same", "different"}
    made = live.learn(truth).deduplicator()
    records = [item["fields"] for item in project.items]
    assert made.predict(records) == [k // 2 for k in range(20)]
    made.save(tmp_path / "people.accord")
    read = load(tmp_path / "people.accord")
    assert isinstance(read, Deduplicator)
    assert read.predict(records) == made.predict(records)
    p = live.learn(truth).probabilities([live.keys[0]])[0]
    a, b = (records[project.place(one)] for one in live.keys[0].split(BETWEEN))
    assert made.similarity(a, b) == pytest.approx(np.log(p / (1 - p)), abs=1e-3)


def test_reasons_speak_for_what_is_alike_and_against_what_is_not():
    project = Project("pairs")
    for record in people(60, random_state=0)[0]:
        project.add({"fields": record})
    for name, street in [("Alma Reuter", "7 Elm Road"), ("Alma Reuter", "99 Beech Lane"), ("Boris Wenk", "7 Elm Road")]:
        project.add({"fields": {"name": name, "street": street, "born": "1961-05-02"}})
    first, second, third = project.keys[-3:]
    model = live_model(project).learn({})
    for pair, alike, unlike in [((first, second), "name", "street"), ((first, third), "street", "name")]:
        why = dict(model.propose(BETWEEN.join(pair))["why"])
        assert why[alike] > 0 > why[unlike]
        assert why["born"] > 0


def test_answers_correct_a_guess():
    rng = np.random.default_rng(0)
    rows, same, groups = rng.normal(size=(30, 5)), rng.random(30) < 0.5, np.array([1, 2, 2, 3, 3])
    coefficients, bias, scales = pairs.corrected(rows, same.astype(float), -1.0, groups)
    assert scales in pairs.SCALES

    def objective(change: np.ndarray) -> float:
        """By definition: log losses, and how far everything is from the guess."""
        w, b = coefficients + change[1:], bias + change[0]
        loss = sum(np.log1p(np.exp(-(w @ row + b) * (1 if one else -1))) for row, one in zip(rows, same))
        away = np.append(b + 1.0, w - np.eye(5)[0]) / np.array(scales)[[0, 1, 2, 2, 3, 3]]
        return loss + away @ away / 2

    for step in np.vstack([np.eye(6), -np.eye(6)]):
        assert objective(np.zeros(6)) < objective(0.01 * step)
    coefficients, bias, _ = pairs.corrected(np.empty((0, 5)), np.empty(0), -1.0, groups)
    assert (coefficients.tolist(), bias) == ([1.0, 0.0, 0.0, 0.0, 0.0], -1.0)  # the guess


def test_mailboxes_of_all_kinds(tmp_path):
    box, maildir = mailbox.mbox(tmp_path / "in.mbox"), mailbox.Maildir(tmp_path / "Maildir")
    (tmp_path / "folder" / "below").mkdir(parents=True)
    for k in range(8):
        text = f"win money now {k}" if k % 2 else f"see you at the meeting {k}"
        raw = f"From: Ann <a{k}@x.org>\nSubject: about {k}\nMessage-ID: <{k}@x>\n\n{text}\n".encode()
        box.add(raw)
        maildir.add(raw)
        (tmp_path / "folder" / ("below" if k > 3 else ".") / f"{k}.eml").write_bytes(raw)
    box.flush()
    (tmp_path / "no-suffix").write_bytes((tmp_path / "in.mbox").read_bytes())
    with tarfile.open(tmp_path / "mail.tar.xz", "w:xz") as archive:
        archive.add(tmp_path / "folder", "folder")
    for name, n in (
        ("in.mbox", 8),
        ("no-suffix", 8),
        ("Maildir", 8),
        ("folder", 8),
        ("folder/1.eml", 1),
        ("mail.tar.xz", 8),
    ):
        project = read_project([str(tmp_path / name)], Reading())
        assert (project.kind, project.labels, len(project.items)) == ("classes", ["spam", "ham"], n), name
        assert {item["fields"]["subject"] for item in project.items} == {
            f"about {k}" for k in ([1] if n == 1 else range(8))
        }
    is_spam = {
        key: "spam" if "money" in item["fields"]["text"] else "ham" for key, item in zip(project.keys, project.items)
    }
    learned = live_model(project).learn({key: is_spam[key] for key in project.keys[:6]})
    assert [learned.propose(key)["candidates"][0][0] for key in project.keys[6:]] == [
        is_spam[k] for k in project.keys[6:]
    ]


def test_files_of_all_kinds(tmp_path):
    (tmp_path / "a.conll").write_text("Ana B-PER\nleft O\n\nTom _\nslept _\n")
    found = read_project([str(tmp_path / "a.conll")], Reading())
    assert (found.kind, found.labels, found.spans, len(found.given)) == ("tokens", ["PER"], True, 1)
    (tmp_path / "pos.conll").write_text("Ana NNP\nleft VBD\n\nTom NNP\nslept VBD\n")
    assert not read_project([str(tmp_path / "pos.conll")], Reading()).spans
    (tmp_path / "mail.mbox").write_text(
        "From a@b Mon Jan  1 00:00:00 2024\nFrom: A <a@b.org>\nSubject: Hi\n\nbuy now\n"
    )
    mails = read_project([str(tmp_path / "mail.mbox")], Reading())
    assert (mails.kind, mails.labels) == ("classes", ["spam", "ham"])
    assert mails.items[0]["fields"]["subject"] == "Hi"
    (tmp_path / "s.jsonl").write_text('{"text": "Ana left", "spans": [[0, 3, "PER"]]}\n{"text": "Tom slept"}\n')
    assert read_project([str(tmp_path / "s.jsonl")], Reading()).kind == "tokens"
    (tmp_path / "t.csv").write_text("text,label\ngood,yes\nbad,\n")
    table = read_project([str(tmp_path / "t.csv")], Reading())
    assert (table.kind, table.labels, list(table.given.values())) == ("classes", ["yes"], ["yes"])
    paths = {"a/x": ["a"], "a/y": ["a"], "a": []}
    assert read_project([str(tmp_path / "t.csv")], Reading(taxonomy={**paths, "yes": []})).labels == [
        "a/x",
        "a/y",
        "yes",
    ]
    with pytest.raises(InputError, match="not in the taxonomy"):
        read_project([str(tmp_path / "t.csv")], Reading(taxonomy=paths))
    with pytest.raises(InputError, match="--task classes"):
        read_project([str(tmp_path / "t.csv")], Reading("tokens"))
    (tmp_path / "twice.txt").write_text("the same\nthe same\n")
    assert len(set(read_project([str(tmp_path / "twice.txt")], Reading()).keys)) == 2
    assert as_iob2(["I-PER", "I-PER", None, "S-LOC", "E-LOC"]) == ["B-PER", "I-PER", None, "B-LOC", "B-LOC"]


def test_labels_to_halve():
    for power in (0.3, 0.5, 1.0):
        curve = [{"n": n, "error": 2.0 * n**-power} for n in (5, 10, 20, 40)]
        more = labels_to_halve(curve)
        assert 2.0 * (40 + more) ** -power == pytest.approx(curve[-1]["error"] / 2, rel=0.01)
    assert labels_to_halve([{"n": n, "error": 0.3} for n in (5, 10, 20)]) is None
    assert labels_to_halve([{"n": 5, "error": 0.3}]) is None


def test_labels_that_are_wrong_are_found_and_errors_without_labels_are_estimated(tmp_path):
    project, right = project_of("classes", tmp_path)
    service = open_service(project, Store(":memory:"))
    turned = {"good": "bad", "bad": "good"}
    wrong = project.keys[3]
    for key in project.keys[:16]:
        service.answer(key, "ana", turned[right(key)] if key == wrong else right(key))
    while service.trainer.step():
        pass
    panel = service.state("ana")["panel"]
    assert [(one["key"], one["given"], one["proposed"]) for one in panel["suspects"]] == [
        (wrong, turned[right(wrong)], right(wrong))
    ]
    assert 0.0 <= panel["expected"]["low"] <= panel["expected"]["error"] <= panel["expected"]["high"] < 0.5


def test_clusters_are_sorted_and_taken_back_at_once(tmp_path):
    names = [
        "Ann Lee",
        "A. Lee",
        "Anne Lee",
        "Ann Leigh",
        "Bob Kay",
        "B. Kay",
        "Robert Kay",
        "Cy Orr",
        "Di Roe",
        "D. Roe",
    ]
    rows = "".join(f"{name},Street {4 + (name[-1] in 'ye') + (name[-1] == 'r')}\n" for name in names)
    (tmp_path / "people.csv").write_text("name,address\n" + rows)
    service = open_service(read_project([str(tmp_path / "people.csv")], Reading("pairs")), Store(":memory:"))
    project, trainer = service.project, service.trainer
    trainer.step()
    found = service.next_group("w", "ana")["group"]
    assert found["keys"] == service.next_group("w", "ana")["group"]["keys"]  # a reload
    other = service.next_group("w2", "bob")["group"]
    assert other is None or other["keys"] != found["keys"]
    assert 3 <= len(found["keys"]) <= 12
    assert found["groups"] == sorted(found["groups"])
    said = [project.item(f"{key}{BETWEEN}{key}")["a"]["name"].split()[1][:2] for key in found["keys"]]
    groups = [[*dict.fromkeys(said)].index(one) for one in said]
    n = service.answer_group("w", "ana", {"keys": found["keys"], "groups": groups, "token": "a-token-1"})
    truth = service.store.truth()
    by_key = dict(zip(found["keys"], groups))
    assert len(truth) == n > 0
    for pair, value in truth.items():
        a, b = pair.split(BETWEEN)
        assert value == ("same" if by_key[a] == by_key[b] else "different")
        assert project.place(a) < project.place(b)  # as pairs are asked about
    # what follows from the answers is the grouping, also of many records
    for keys in (found["keys"], project.keys):
        kept = {key: k % 3 for k, key in enumerate(keys)}
        follows = Closure(pairs_of(keys, kept))
        assert all(
            follows.answer(a, b) == ("same" if kept[a] == kept[b] else "different")
            for a in keys
            for b in keys
            if a != b
        )
    trainer.step()
    assert service.group(found["keys"])["groups"] == sorted(groups)  # answers hold
    assert [one["value"] for one in service.history("ana")] == [f"{n} answers about pairs"]
    assert len(service.undo("ana")) == n
    assert [(one["action"], bool(one["undone"])) for one in service.history("ana")] == [
        ("undo", True),
        ("answer", True),
    ]
    assert service.store.truth() == {}
    assert service.undo("ana") == []
    keys, twice = found["keys"], [project.keys[0]] * 2
    wrong = [
        (keys, [0]),
        (["x", "y"], [0, 1]),
        (twice, [0, 0]),
        (keys, ["a"] * len(keys)),
        (None, None),
        ("ab", [0, 1]),
    ]
    for bad in ({"keys": keys, "groups": groups} for keys, groups in wrong):
        with pytest.raises(InputError):
            service.answer_group("w", "ana", bad)
