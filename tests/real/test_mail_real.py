"""Real mail: parts and texts like those of the standard library, pruning changes nothing, batches make sense."""

import email
import email.utils
import random

import pytest
from mail_mutations import mutated

from accord.mail.detector import BatchDetector
from accord.mail.message import parse
from accord.mail.sources import iter_mail

SETS = ("spamassassin", "enron_ham_raw_open", "phishing_pot_le40k")


@pytest.fixture(scope="module")
def mails(data_dir):
    folder = data_dir / "email"
    if not all((folder / f"{name}.tar.xz").is_file() for name in SETS):
        pytest.skip("the data folder has no email")
    found = []
    for name in SETS:
        source = iter_mail(folder / f"{name}.tar.xz")
        found += [raw for _, (_, raw) in zip(range(400), source)]
    return found


def structure(part):
    kind = part.get_content_type()
    payload = part.get_payload()
    return f"{kind}({','.join(map(structure, payload))})" if isinstance(payload, list) else kind


def is_sound(part):
    """Nothing the standard library noticed, in any part, and nothing that it decodes in ways of its own."""
    if part.defects or (part.get_content_maintype() == "multipart" and not part.is_multipart()):
        return False
    kind = str(part.get("content-type", "text/plain")).partition(";")[0].strip()
    return kind.count("/") == 1 and all(map(is_sound, part.get_payload() if part.is_multipart() else []))


def test_like_the_standard_library(mails):
    n_compared, different, other_texts = 0, [], []
    for k, raw in enumerate(mails):
        expected = email.message_from_bytes(raw)
        if not is_sound(expected):
            continue
        n_compared += 1
        found = parse(raw)
        if found.structure != structure(expected):
            different.append((k, found.structure, structure(expected)))
        for part in expected.walk():
            if part.get_content_type() == "text/plain" and part.get_content_disposition() != "attachment":
                charset = part.get_content_charset() or "utf-8"
                payload = part.get_payload(decode=True)[:5000]
                try:
                    text = payload.decode(charset)
                except (LookupError, UnicodeDecodeError):
                    continue  # not what it says it is
                if not " ".join(found.body.split()).count(" ".join(text.split())[:2000]):
                    other_texts.append(k)
    assert n_compared > 0.8 * len(mails)
    assert len(different) <= 0.002 * n_compared, different[:5]
    assert len(other_texts) <= 0.005 * n_compared, other_texts[:5]


def test_pruning_changes_nothing(mails):
    order = random.Random(0).sample(mails, len(mails))
    detectors = [BatchDetector(window=400) for _ in range(2)]
    detectors[1]._prune = False
    for raw in order:
        mail = detectors[0].sign(raw)
        a, b = (detector.assign_detailed(mail) for detector in detectors)
        assert (a.batch, a.is_new) == (b.batch, b.is_new)
        assert a.is_new or a.similarity == b.similarity


def test_mutated_real_mail(mails):
    r = random.Random(0)
    detector = BatchDetector(window=100)
    for _ in range(500):
        detector.assign(mutated(r.choice(mails), mails, r))
    assert len(detector) == 100
