"""The batch detector: windows that move on, state that comes back, threads, crashes, memory."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from row_tables import each_row

import accord
from accord.exceptions import InputError, ModelFileError
from accord.mail.detector import BatchDetector
from accord.mail.features import NAMES, MailPairs
from accord.mail.generator import MailGenerator
from accord.mail.model import Similarity, as_json, default_similarity, from_json
from accord.mail.signature import flat_idf
from accord.mail.spam import CollectiveSpamFilter
from accord.persistence import read_model, write_model

OFFER = (
    b"From: %s@%s.example\nSubject: offer\n\nWe are accepting your mortgage application, fill out http://x.example/%d"
)


@pytest.fixture(scope="module")
def mails():
    return list(MailGenerator(random_state=8, batch_size=6).stream(300))


@pytest.fixture(scope="module")
def signatures(mails):
    detector = BatchDetector()
    return [detector.sign(mail.raw) for mail in mails]


def test_batches_of_generated_mail(mails):
    """With the model that comes along, nearly all pairs of a batch are found and nearly no others."""
    detector = BatchDetector()
    found = np.array([detector.assign(mail.raw) for mail in mails])
    true = np.array([mail.batch for mail in mails])
    same_found, same_true = found[:, None] == found, true[:, None] == true
    np.fill_diagonal(same_found, False)
    np.fill_diagonal(same_true, False)
    both = (same_found & same_true).sum()
    assert both > 0.9 * same_true.sum()
    assert both > 0.9 * same_found.sum()


def test_decisions_are_detailed():
    detector = BatchDetector()
    first = detector.assign_detailed(OFFER % (b"ann", b"a", 1))
    assert (first.batch, first.size, first.is_new, first.short, first.similarity) == ("b1", 1, True, False, -np.inf)
    second = detector.assign_detailed(OFFER % (b"bob", b"b", 2))
    assert (second.batch, second.size, second.is_new) == ("b1", 2, False)
    assert second.similarity >= 0
    assert second.statistics.same_subject
    assert not second.statistics.same_sender
    assert second.statistics.counts.sum() == 2 * first.statistics.counts.sum()
    third = detector.assign_detailed(b"From: eve@c.example\n\nShall we have lunch on Thursday after the meeting?")
    assert (third.batch, third.size, third.is_new) == ("b2", 1, True)
    assert third.similarity < 0
    assert (len(detector), detector.n_batches) == (3, 2)
    assert list(detector.statistics()) == ["b1", "b2"]


def test_short_mail_stays_alone():
    detector = BatchDetector()
    answers = [detector.assign_detailed(b"From: a@b.c\n\nThanks!") for _ in range(3)]
    assert [a.batch for a in answers] == ["b1", "b2", "b3"]
    assert all(a.short and a.is_new for a in answers)
    linked = [detector.assign_detailed(b"From: a@b.c\n\nThanks! http://x.example/1") for _ in range(2)]
    assert not any(a.short for a in linked)
    assert detector.explain(b"\n\nThanks!").short
    assert not BatchDetector(min_words=0).assign_detailed(b"\n\nThanks!").short


def test_batches_keep_id_and_size_while_members_leave():
    detector = BatchDetector(window=3)
    answers = [detector.assign_detailed(OFFER % (b"ann", b"a", k)) for k in range(10)]
    assert {a.batch for a in answers} == {"b1"}
    assert [a.size for a in answers] == list(range(1, 11))
    assert len(detector) == 3
    for k in range(3):  # other mail pushes the batch out of the window, and it is forgotten
        detector.assign(b"From: eve@c.example\n\nShall we have lunch on Thursday %s after the meeting?" % (b"x" * k))
    assert "b1" not in detector.statistics()
    assert detector.assign_detailed(OFFER % (b"ann", b"a", 1)).is_new


def test_age():
    detector = BatchDetector(max_age=60.0)
    assert detector.assign(OFFER % (b"ann", b"a", 1), received=1000.0) == "b1"
    assert detector.assign(OFFER % (b"ann", b"a", 2), received=1050.0) == "b1"
    assert len(detector) == 2
    assert detector.assign(OFFER % (b"ann", b"a", 3), received=1100.0) == "b1"  # the second one is still there
    assert len(detector) == 2
    assert detector.assign(OFFER % (b"ann", b"a", 4), received=2000.0) == "b2"
    assert (len(detector), detector.n_batches) == (1, 1)


@pytest.mark.parametrize("n_before", [0, 1, 20, 50, 70])
def test_state_comes_back(signatures, tmp_path, n_before):
    """Restored in the middle, a detector decides as if nothing had happened."""
    detector = BatchDetector(window=50, max_age=1e6)
    for k, mail in enumerate(signatures[:n_before]):
        detector.assign(mail, received=float(k))
    detector.save(tmp_path / "state")
    copies = [BatchDetector.restore(tmp_path / "state"), pickle.loads(pickle.dumps(detector))]
    for k, mail in enumerate(signatures[n_before : n_before + 60]):
        expected = detector.assign_detailed(mail, received=float(n_before + k))
        for one in copies:
            found = one.assign_detailed(mail, received=float(n_before + k))
            assert (found.batch, found.size, found.similarity) == (expected.batch, expected.size, expected.similarity)
            for a, b in zip(found.statistics, expected.statistics):
                np.testing.assert_array_equal(a, b)


def test_a_common_frame_is_not_enough():
    """Items of different feeds share headers, host and the words around them; copies of one share more."""
    item = (
        b"From: feeds@reader.example\nTo: ann@a.example\nSubject: %s\nContent-Type: text/plain\n\n"
        b"URL: http://www.reader.example/click/%d/\nDate: Tuesday morning\n\n%s\n"
    )
    news = [
        (b"Police pay damages to journalist", b"Reporter wins libel case"),
        (b"Ugliest truck of the world", b"Some guy"),
        (b"Squirrel tunes in and drops out", b"No comment"),
        (b"Kernel released", b"Many drivers"),
    ]
    detector = BatchDetector()
    found = [detector.assign_detailed(item % (subject, k, text)) for k, (subject, text) in enumerate(news)]
    assert len({one.batch for one in found}) == len(news)
    again = item % (news[1][0], 99, b"Other words")
    assert detector.explain(again).joins
    assert detector.assign(again) == found[1].batch
    other = item % (b"Weather", 100, b"Rain")
    found = detector.explain(other)
    assert found.similarity > 0  # the frame alone would have joined it
    assert not found.joins
    assert detector.assign_detailed(other).is_new


@pytest.mark.skipif(os.name != "posix", reason="files have no modes")
def test_only_the_owner_reads_a_state(tmp_path):
    path = tmp_path / "state"
    path.write_bytes(b"")
    path.chmod(0o644)  # as earlier versions left it
    BatchDetector(window=2).save(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_damaged_state(signatures, tmp_path):
    detector = BatchDetector(window=20)
    for mail in signatures[:30]:
        detector.assign(mail)
    path = tmp_path / "state"
    detector.save(path)
    content = path.read_bytes()
    for cut in (0, 10, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(ModelFileError):
            BatchDetector.restore(path)
    CollectiveSpamFilter().fit([b"\n\nbuy pills", b"\n\nlunch"], [True, False]).save(path)
    with pytest.raises(ModelFileError, match="not the state"):
        BatchDetector.restore(path)


@pytest.mark.slow
def test_a_kill_leaves_a_complete_state(tmp_path):
    """A process that does nothing but write checkpoints is killed at work; the state can be read."""
    program = (
        "import sys\nfrom accord.mail.detector import BatchDetector\nfrom accord.mail.generator import MailGenerator\n"
        "detector = BatchDetector(window=500)\n"
        "for k, mail in enumerate(MailGenerator(1).stream(10**9)):\n"
        "    detector.assign(mail.raw)\n    detector.checkpoint(sys.argv[1])\n    print(k, flush=True)\n"
    )
    path = tmp_path / "state"
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, env=os.environ | {"PYTHONWARNINGS": ""}
    )
    for _ in range(3):  # it is at work
        process.stdout.readline()
    time.sleep(0.014)
    process.send_signal(signal.SIGKILL)
    reported = process.stdout.read().split()
    process.wait()
    process.stdout.close()
    # numbers start at 0; at most the mail that was being assigned and reported is ahead
    assert len(BatchDetector.restore(path)) >= (int(reported[-1]) + 1 if reported else 3)


def test_threads(signatures):
    detector = BatchDetector(window=50)
    answers = []

    def work(part):
        for mail in part:
            answers.append(detector.assign_detailed(mail))

    threads = [threading.Thread(target=work, args=(signatures[k::4],)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == len(signatures)
    assert len(detector) == 50
    serials = {int(a.batch[1:]) for a in answers}
    assert serials == set(range(1, max(serials) + 1))


def test_explanations(signatures):
    detector = BatchDetector()
    for mail in signatures[:200]:
        detector.assign(mail)
    joined = 0
    for mail in signatures[200:220]:
        n = len(detector)
        told = detector.explain(mail)
        assert len(detector) == n
        decided = detector.assign_detailed(mail)
        assert told.joins != decided.is_new
        if told.joins:
            joined += 1
            assert told.batch == decided.batch
        assert told.similarity == pytest.approx(decided.similarity if told.joins else told.similarity, abs=1e-4)
        assert sum(told.contributions.values()) == pytest.approx(told.similarity)
        assert set(told.contributions) <= {*NAMES, "bias"}
    assert 0 < joined < 20
    assert BatchDetector().explain(signatures[0]).batch is None


def test_learned_model(mails):
    """A model of one's own: ClusteringSVM over MailPairs."""
    sets = [[m.raw for m in mails[k : k + 30]] for k in (0, 30)]
    partitions = [[m.batch for m in mails[k : k + 30]] for k in (0, 30)]
    model = accord.ClusteringSVM(pair_features=MailPairs()).fit(sets, partitions)
    detector = BatchDetector(model, min_words=0)
    found = [detector.assign(raw) for raw in sets[0]]
    numbers = {batch: k for k, batch in enumerate(dict.fromkeys(found))}
    assert [numbers[batch] for batch in found] == list(model.predict(sets[:1])[0])


def test_default_model_is_what_the_file_says():
    similarity = default_similarity()
    again = from_json(as_json(similarity))
    np.testing.assert_allclose(again.weights, similarity.weights)
    np.testing.assert_allclose(again.idf, similarity.idf)
    content = as_json(similarity)
    del content["weights"]["same sender"]
    with pytest.raises(ModelFileError, match="same sender"):
        from_json(content)


def test_memory_does_not_grow(signatures):
    """Whatever has passed through, only the window and its batches are kept."""
    detector = BatchDetector(window=20)
    for mail in signatures:
        detector.assign(mail)
    window = detector._window
    assert len(window.free) + len(np.unique(window.places[window.places >= 0])) == 20
    assert sum(words.size > 0 for words, _ in window.words) <= detector.n_batches
    assert all(words.size <= 1024 for words, _ in window.words)


def test_another_model_on_the_way(signatures):
    """What is kept of a window for a first look is made for a model, and anew for the next one."""
    numbers = np.array([name.startswith("close ") for name in NAMES], float)
    detector = BatchDetector(Similarity(numbers, -22.0, flat_idf()), min_words=0)
    for mail in signatures[:100]:
        detector.assign(mail)
    detector.similarity = Similarity(-numbers, 18.0, flat_idf())  # mails that differ are alike
    plain = copy.deepcopy(detector)
    plain._prune = False
    found = [[each.assign(mail) for mail in signatures[100:160]] for each in (detector, plain)]
    assert found[0] == found[1]
    assert len(set(found[0])) < 60


def test_ties_go_to_the_oldest_batch():
    """With no weights every sum is zero, which joins."""
    detector = BatchDetector(Similarity(np.zeros(len(NAMES)), -1.0, flat_idf()))
    for k in range(3):
        detector.assign(OFFER % (b"ann", b"a", k))
    assert detector.n_batches == 3
    detector.similarity = Similarity(np.zeros(len(NAMES)), 0.0, flat_idf())
    assert detector.assign(OFFER % (b"ann", b"a", 9)) == "b1"


@each_row(
    ("arguments", "message"),
    [
        ({"window": 0}, "window is 0; expected a whole number from 1 to 10,000,000"),
        ({"window": 2.5}, "window is 2.5"),
        ({"window": 10**12}, "window is 1000000000000"),
        ({"max_age": -1}, "max_age is -1; expected a positive number"),
        ({"max_age": "x"}, "max_age is 'x'; expected a positive number"),
        ({"prefix": "a\r\nX-Evil: 1"}, "prefix is 'a.*; expected a string of at most 40 printable ASCII"),
        ({"prefix": "B\u00fcro-"}, "prefix"),
        ({"prefix": "a b"}, "prefix"),
        ({"prefix": "b" * 41}, "prefix"),
        ({"prefix": 5}, "prefix is 5"),
        ({"min_words": -1}, "min_words is -1"),
        ({"model": "x"}, "model is a str; expected a fitted ClusteringSVM"),
    ],
)
def test_bad_settings(arguments, message):
    with pytest.raises(InputError, match=message):
        BatchDetector(**arguments)


def test_a_state_with_a_bad_prefix_is_refused(tmp_path):
    detector = BatchDetector()
    detector.save(tmp_path / "state")
    metadata, arrays = read_model(tmp_path / "state")
    metadata["settings"]["prefix"] = detector.prefix = "a\r\nX-Evil: 1"
    write_model(tmp_path / "state", metadata, arrays)
    with pytest.raises(ModelFileError, match=r"prefix is 'a.*; expected a string"):
        BatchDetector.restore(tmp_path / "state")
    with pytest.raises(InputError, match=r"cannot be saved: .*prefix is 'a"):
        detector.save(tmp_path / "state")


def test_bad_pairs():
    with pytest.raises(InputError, match=r"sets\[0\]\[1\] is a int; expected the bytes of a mail"):
        MailPairs().fit([[b"x", 3]])
    with pytest.raises(InputError, match="not fitted"):
        MailPairs().pairs([b"x", b"y"])


def test_bad_spam_filters():
    with pytest.raises(InputError, match="labels has 1 entries but messages has 2"):
        CollectiveSpamFilter().fit([b"x", b"y"], [True])
    with pytest.raises(InputError, match="must have spam"):
        CollectiveSpamFilter().fit([b"x", b"y"], [True, True])
    with pytest.raises(InputError, match="counts is 'sqrt'"):
        CollectiveSpamFilter(counts="sqrt").fit([b"x", b"y"], [True, False])
    with pytest.raises(InputError, match="power of two"):
        CollectiveSpamFilter(n_buckets=1000).fit([b"x", b"y"], [True, False])
    with pytest.raises(InputError, match="not fitted"):
        CollectiveSpamFilter().decision(None)
    fitted = CollectiveSpamFilter().fit([b"\n\nbuy pills", bytearray(b"\n\nlunch")], np.array([1.0, 0.0]))
    with pytest.raises(InputError, match="batch is a str"):
        fitted.decision("b1")


@each_row(
    ("arguments", "message"),
    [
        (([b"x", 1], [True, False]), r"messages\[1\] is a int; expected the bytes"),
        ((b"xy", [True, False]), "messages is a bytes; expected a list"),
        (([b"x", b"y"], None), "labels is None; expected a list of booleans"),
        (([b"x", b"y"], ["spam", "ham"]), r"labels\[0\] is 'spam'; expected a boolean \(or 0 or 1\)"),
        (([b"x", b"y"], [0, float("nan")]), r"labels\[1\] is nan"),
        (([b"x", b"y"], [0, 2]), r"labels\[1\] is 2"),
        (([b"x", b"y"], [0, 1], ["a", ["b"]]), r"batches\[1\] is \['b'\]; expected an id"),
    ],
)
def test_bad_training_mail(arguments, message):
    with pytest.raises(InputError, match=message):
        CollectiveSpamFilter().fit(*arguments)


@each_row("C", [-1, 0, float("nan"), "1", True])
def test_bad_weight_of_errors(C):
    with pytest.raises(InputError, match=r"C is .*; expected a positive number"):
        CollectiveSpamFilter(C=C).fit([b"x", b"y"], [True, False])
