"""Generated mail with known batches: what tools that send spam do [thesis, Table 8.1], and the mail around it.

A *campaign* is a template: sentences with choices, of which some are settled once for the campaign and the others anew
for every copy; names, amounts, obfuscated words, padding, varying subjects, senders and links; a look (plain text,
HTML or both, charset, encoding, mailer). *Newsletters* are copies with a personal greeting and link; the next issue of
the same newsletter is another batch. *Ham* is written once; mailing lists frame it alike, and it may quote another
ham, but that does not make it a batch. All text is made up for this purpose (``generator_texts.json``): ``[a|b]`` is a
choice, ``<name>`` a slot.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from zlib import crc32

from accord.exceptions import InputError
from accord.mail.generator_bytes import Look, obfuscate, wrap
from accord.mail.generator_words import Words

MAX_BATCH_SIZE = 1_000_000_000
_START = 1_150_000_000.0  # generated mail is of June 2006


class GeneratedMail(NamedTuple):
    """A mail and the truth about it."""

    raw: bytes
    batch: str
    is_spam: bool
    received: float


@dataclass
class _Sender:
    """A source of mails of one batch; what varies from copy to copy is left open."""

    batch: str
    is_spam: bool
    remaining: int
    look: Look
    subjects: list[str]
    body: list[str]
    address: str  # "" : another one for every copy
    name: str
    fixed: dict[str, str] = field(default_factory=dict)  # slots settled for the batch
    link_hosts: list[str] = field(default_factory=list)
    obfuscation: float = 0.0
    padding: int = 0
    drop: float = 0.0  # chance that a sentence is left out


@dataclass
class _Periodical:
    """Who sends newsletters, issue after issue."""

    company: str
    domain: str
    look: Look
    n_sections: int


class MailGenerator:
    """A stream of mail of which the batches are known.

    Parameters
    ----------
    random_state : int, default 0
        The same number gives the same stream.
    spam, newsletters : float, default 0.66 and 0.17
        Shares of spam and of newsletters; the rest is individual mail.
    batch_size : float, default 17.7
        Mean number of mails per batch.
    active : int, default 8
        Campaigns that send at the same time.

    Examples
    --------
    >>> mails = list(MailGenerator(random_state=1).stream(100))
    >>> len(mails), mails[0].raw.startswith(b"Received: ")
    (100, True)
    """

    def __init__(
        self,
        random_state: int = 0,
        spam: float = 0.66,
        newsletters: float = 0.17,
        batch_size: float = 17.7,
        active: int = 8,
    ) -> None:
        if not (spam >= 0 and newsletters >= 0 and spam + newsletters <= 1):
            raise InputError(f"spam={spam} and newsletters={newsletters} must be shares that add up to at most 1")
        if not 1 <= batch_size <= MAX_BATCH_SIZE or active < 1:
            raise InputError(
                f"batch_size={batch_size} and active={active} must be at least 1, batch_size at most {MAX_BATCH_SIZE:,}"
            )
        self.spam, self.newsletters, self.batch_size, self.active = spam, newsletters, batch_size, active
        self._random = random.Random(random_state)
        self._words = Words(self._random)
        self._texts = self._words.texts
        self._numbers = {"spam": 0, "newsletter": 0, "ham": 0}
        self._campaigns: list[_Sender] = []
        self._papers: list[_Sender] = []
        self._periodicals: list[_Periodical] = []
        self._colleagues = [self._words.person() for _ in range(40)]
        self._domains = [self._words.domain() for _ in range(8)]
        self._lists = [self._words.domain() for _ in range(4)]
        self._recent: list[tuple[str, str]] = []  # individual mails, to be quoted
        self._now = _START

    def stream(self, n_messages: int) -> Iterator[GeneratedMail]:
        """Yield so many mails, batches interleaved."""
        for _ in range(n_messages):
            yield self._next()

    # -- senders --------------------------------------------------------------------------------------------------
    def _next(self) -> GeneratedMail:
        self._now += self._random.expovariate(1.0)
        draw = self._random.random()
        if draw >= self.spam + self.newsletters:
            return self._ham()
        is_spam = draw < self.spam
        active = self._campaigns if is_spam else self._papers
        while len(active) < (self.active if is_spam else max(1, self.active // 2)):
            active.append(self._campaign() if is_spam else self._newsletter())
        sender = self._random.choice(active)
        sender.remaining -= 1
        if sender.remaining <= 0:
            active.remove(sender)
        return self._copy_of(sender)

    def _number(self, kind: str) -> str:
        self._numbers[kind] += 1
        return f"{kind}-{self._numbers[kind]}"

    def _remaining(self) -> int:
        return 1 + int(self._random.expovariate(1 / max(self.batch_size - 1, 1e-9)))

    def _campaign(self) -> _Sender:
        r = self._random
        subjects, sentences, calls = self._texts["topics"][r.choice(sorted(self._texts["topics"]))].values()
        body = [self._words.settle(s, 0.6) for s in r.sample(sentences, r.randint(3, len(sentences)))]
        greetings = r.sample(self._texts["greetings"], r.randint(1, 3))
        body.insert(0, "[" + "|".join(greetings) + "]")
        body += [
            self._words.settle(r.choice(calls), 0.8),
            r.choice(self._texts["closings"]),
            r.choice([*self._texts["positions"], ""]),
        ]
        varies = r.random() < 0.7
        person = self._words.person()
        fixed = {"company": self._words.company(), "ticker": "".join(r.choices("ABCDEFGHKLMNPRST", k=4))}
        for slot in ("amount", "small", "percent", "count", "code", "agent"):
            if r.random() < 0.4:
                fixed[slot] = self._words.fill(f"<{slot}>")
        return _Sender(
            self._number("spam"), True, self._remaining(), self._look(), r.sample(subjects, r.randint(1, 2)), body,
            "" if varies else self._address(person, self._words.domain()), "" if varies else person, fixed,
            [self._words.domain() for _ in range(r.choice([1, 1, 1, 2, 4]))], r.choice([0, 0, 0.02, 0.06]),
            r.choice([0, 0, 0, 8, 25]), r.choice([0, 0, 0.1]),
        )  # fmt: skip

    def _newsletter(self) -> _Sender:
        """An issue of a periodical; two issues of one have sender, look and frame in common, but are not one batch."""
        r = self._random
        if not self._periodicals or r.random() < 0.4:
            periodical = _Periodical(self._words.company(), self._words.domain(), self._look(), r.choice([1, 1, 5]))
            periodical.look.varies = False
            self._periodicals = [*self._periodicals[-5:], periodical]
        periodical = r.choice(self._periodicals)
        company, domain = periodical.company, periodical.domain
        body = ["Dear <name>,", f"{company} brings you news and views since 1987, edited by {domain}:"]
        for _ in range(r.randint(1, periodical.n_sections)):
            body.append(self._words.fill(self._words.settle("[" + self._texts["news_headings"] + "]", 1.0)).upper())
            for _ in range(r.randint(1, 4)):
                body.append(self._words.fill(self._words.settle(r.choice(self._texts["news_sentences"]), 1.0)))
        body += [f"{company} News", "Unsubscribe: <link>"]
        subject = self._words.fill(f"{company} [News|Letter|Weekly|Digest]: <odd> and <odd>")
        look = replace(periodical.look)
        look.extra = [f"List-Id: <news.{domain}>", f"List-Unsubscribe: <http://{domain}/leave>", "Precedence: bulk"]
        name = f"{company} News"
        return _Sender(
            self._number("newsletter"), False, self._remaining(), look, [subject], body, f"news@{domain}", name, {},
            [domain],
        )  # fmt: skip

    def _look(self) -> Look:
        r = self._random
        kind = r.choice(["plain", "plain", "html", "both"])
        charset = r.choice(["us-ascii", "utf-8", "iso-8859-1", "windows-1252"])
        encoding = r.choice(["7bit", "7bit", "quoted-printable", "base64"])
        attachment = self._attachment("image/gif") if r.random() < 0.1 else None
        mailer = r.choice(self._texts["mailers"])
        return Look(kind, charset, encoding, mailer, [], r.randint(1, 3), attachment, r.random() < 0.4)

    def _attachment(self, kind: str) -> tuple[str, str, bytes]:
        r = self._random
        return kind, f"{r.choice(self._texts['odd_words'])}.{kind[-3:]}", r.randbytes(r.randint(200, 4000))

    # -- mails ----------------------------------------------------------------------------------------------------
    def _copy_of(self, sender: _Sender) -> GeneratedMail:
        r = self._random
        recipient = self._words.person()
        slots = dict(sender.fixed, name=recipient.split()[0], link=self._link(sender))
        lines = [line for line in sender.body if line and r.random() >= sender.drop]
        body = [obfuscate(self._words.fill(line, slots), sender.obfuscation, r) for line in lines]
        if sender.padding:
            body.append(" ".join(r.choices(self._texts["odd_words"], k=r.randint(1, sender.padding))))
        subject = self._words.fill(r.choice(sender.subjects), slots)
        name = sender.name or self._words.person()
        address = sender.address or self._address(name, self._words.domain())
        look = sender.look
        if look.varies:
            other = self._look()
            look = replace(look, charset=other.charset, encoding=other.encoding, mailer=other.mailer, hops=other.hops)
        raw = wrap(name, address, [recipient], subject, body, look, self._now, r)
        return GeneratedMail(raw, sender.batch, sender.is_spam, self._now)

    def _ham(self) -> GeneratedMail:
        r = self._random
        writer, reader = r.sample(self._colleagues, 2)
        lines = [self._words.fill(r.choice(self._texts["ham_sentences"])) for _ in range(r.randint(1, 7))]
        subject = self._words.fill(r.choice(self._texts["ham_subjects"]))
        text = "\n".join(lines)
        if self._recent and r.random() < 0.25:
            subject, quoted = r.choice(self._recent)
            subject = subject if subject.startswith("Re: ") else f"Re: {subject}"
            lines += ["", f"{reader} wrote:", *(f"> {line}" for line in quoted.split("\n"))]
        self._recent = [*self._recent[-30:], (subject, text)]
        greeting = r.choice([f"Hi {reader.split()[0]},", f"{reader.split()[0]},", "Hello,", "Dear all,"])
        closing = r.choice(["Cheers,", "Regards,", "Best,", "--", "Thanks,"])
        look = self._look()
        look.kind = r.choice(["plain", "plain", "plain", look.kind])
        look.attachment = self._attachment("application/pdf") if r.random() < 0.1 else None
        domain = self._domains[crc32(writer.encode()) % len(self._domains)]
        body = [greeting, *lines, closing, r.choice([writer, writer.split()[0]])]
        if r.random() < 0.5:
            subject = self._by_list(r.choice(self._lists), subject, body, look)
        readers = [reader, *r.sample(self._colleagues, r.choice([0, 0, 0, 1, 3]))]
        raw = wrap(writer, self._address(writer, domain), readers, subject, body, look, self._now, r)
        return GeneratedMail(raw, self._number("ham"), False, self._now)

    def _by_list(self, domain: str, subject: str, body: list[str], look: Look) -> str:
        """Send a mail by a mailing list, which adds the same headers and last lines to all. Returns the subject."""
        name = domain.partition(".")[0]
        look.hops += 3
        look.extra = [
            f"Sender: {name}-admin@{domain}", f"List-Id: <{name}.{domain}>", "Precedence: list",
            f"Return-Path: <{name}-admin@{domain}>", f"List-Unsubscribe: <http://{domain}/lists/{name}>",
        ]  # fmt: skip
        body += ["", "_" * 40, f"{name} mailing list", f"http://{domain}/lists/{name}"]
        return subject if crc32(domain.encode()) % 2 else f"[{name}] {subject}"

    def _address(self, person: str, domain: str) -> str:
        first, _, last = person.lower().partition(" ")
        tail = "" if domain in self._domains else str(self._random.randrange(100))
        return f"{first}.{last}{tail}@{domain}"

    def _link(self, sender: _Sender) -> str:
        r = self._random
        host = r.choice(sender.link_hosts)
        path = "".join(r.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=r.randint(4, 10)))
        return f"http://www.{host}/" + (path if crc32(sender.batch.encode()) % 3 else "apply/")
