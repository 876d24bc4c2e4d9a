"""Mail in plain Python, as the documentation defines it: words, sketches, features of pairs, sequential decisions.

Imports nothing from Accord. Signatures are compared as dicts of lists.
"""

import math
import re
from itertools import pairwise
from zlib import crc32

FNV, PRIME, ALL = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def mixed(h):
    h = ((h ^ (h >> 33)) * 0xFF51AFD7ED558CCD) & ALL
    h = ((h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53) & ALL
    return ((h ^ (h >> 33)) & 0xFFFFFFFF) or 1


def chained(values):
    h = FNV
    for value in values:
        h = ((h ^ value) * PRIME) & ALL
    return h


def words_of(text):
    """Runs of letters (bytes from 128 included), in small ones; runs with digits separately counted."""
    words, n_numbers, run = [], 0, bytearray()
    for c in text + b" ":
        c = c + 32 if 65 <= c <= 90 else c
        if 97 <= c <= 122 or c >= 128 or 48 <= c <= 57:
            run.append(c)
            continue
        if run and any(48 <= d <= 57 for d in run):
            n_numbers += 1
        elif len(run) > 1:
            words.append(bytes(run))
        run = bytearray()
    return words, n_numbers


def length_127(values):
    norm = math.sqrt(sum(x * x for x in values))
    return [round(x * (127 / norm)) if norm else 0 for x in values]


def sketches_of(text, idf):
    """The sketches of a text, and its words with their counts."""
    words, n_numbers = words_of(text)
    hashes = [mixed(chained(word)) for word in words]
    counts = {}
    for h in hashes:
        counts[h] = counts.get(h, 0) + 1
    weights = [0.0] * 128
    for h, n in counts.items():
        weight = (1 + math.log(n)) * idf[(h >> 4) % len(idf)]
        weights[h % 128] += weight if h >> 31 & 1 else -weight
    letters = [c + 32 if 65 <= c <= 90 else c for c in text]
    letters = [c for c in letters if 97 <= c <= 122 or c >= 128]
    pairs = [0.0] * 128
    for a, b in pairwise(letters):
        pairs[((a * 0x9E3779B1 + b * 0x85EBCA6B) & ALL) >> 7 & 127] += 1
    triples = [mixed(((a * 31 + b) * 31 + c) & ALL) for a, b, c in zip(hashes, hashes[1:], hashes[2:])]
    return {
        "words": length_127(weights), "bigrams": length_127([math.sqrt(x) for x in pairs]),
        "single": bins_of(hashes), "triples": bins_of(triples), "counts": counts, "n_words": len(words),
        "n_numbers": n_numbers,
    }  # fmt: skip


def bins_of(hashes):
    bins = [0] * 64
    for h in hashes:
        value = (h >> 8) % 254 + 1
        bins[h % 64] = min(bins[h % 64] or 999, value)
    return bins


def headers_of(data):
    """Names and values of the headers before the first empty line, unfolded; None if some line is no header."""
    end = data.find(b"\n\n")
    lines = re.sub(rb"\n[ \t]", b" ", data[: end if end >= 0 else len(data)]).split(b"\n")
    found = [re.fullmatch(rb"([!-9;-~]+)[ \t]*:[ \t]*(.*)", line) for line in lines]
    return [(match[1].lower(), match[2]) for match in found] if all(found) else None


def mark(value):
    """0 for nothing, and for nothing else."""
    return (crc32(value) or 1) if value else 0


def shape(value):
    return re.sub(rb"[a-zA-Z\x80-\xff]+", b"a", re.sub(rb"[0-9]+", b"0", value))


def domain(address):
    return address.rpartition(b"@")[2].strip(b" <>") if b"@" in address else b""


def marks_of(m, hashes):
    """The marks of a parsed mail; ``hashes`` are those of its text."""
    sender, reply_to, subject = m.sender.encode(), m.reply_to.encode(), m.subject.lower().encode()
    get = m.headers.get
    number, kind = get(b"message-id", b"")[:200].lower(), get(b"content-type", b"")
    signed = re.search(rb";\s*d=([^;\s]+)", b";" + get(b"dkim-signature", b""))
    zone = re.search(rb"[+-]\d{4}", get(b"date", b""))
    host, path = m.links[0] if m.links else (b"", b"")
    file = m.attachments[0] if m.attachments else None
    before = [
        sender, domain(sender), sender.partition(b"@")[0], m.sender_name.encode(), reply_to, domain(reply_to),
        domain(get(b"return-path", b"").lower()), domain(number), shape(number), subject, shape(subject),
        get(b"x-mailer", b"") or get(b"user-agent", b""), m.content_type.encode(), m.charset.encode(),
        m.encoding.encode(), m.structure.encode(), b",".join(m.header_names),
    ]  # fmt: skip
    after = [
        file.type.encode() if file else b"", file.name.encode() if file else b"",
        get(b"list-id", b"") or get(b"list-unsubscribe", b"")[:40], signed[1].lower() if signed else b"",
        shape(kind.partition(b"boundary")[2][:80]), zone[0] if zone else b"",
    ]  # fmt: skip
    checksum = (file.checksum or 1) if file else 0
    middle = [*hashes, mark(host), mark(path), m.skeleton, checksum]
    return [*map(mark, before), *middle, *map(mark, after)]


def sets_of(m):
    """The bit maps of a parsed mail, as pairs of 64 bits."""
    words = re.findall(rb"[\w\x80-\xff]+", m.subject.lower().encode())
    files = [b"%d" % file.checksum for file in m.attachments]
    out = []
    for items in ([host for host, _ in m.links], [path for _, path in m.links], files, m.header_names, words):
        bits = 0
        for item in items:
            bits |= 1 << (crc32(item) % 128)
        out += [bits % (1 << 64), bits >> 64]
    return out


def numbers_of(m, text):
    """The numbers of a parsed mail before they are scaled, counts as they are; ``text`` is what `sketches_of` says."""
    n = [sum(low <= c <= high for c in m.text) for low, high in ((65, 90), (97, 122), (128, 255), (48, 57), (33, 126))]
    letters, size = n[0] + n[1] + n[2], max(len(m.text), 1)
    get = m.headers.get
    counts = [
        m.n_bytes, m.header_bytes, len(m.header_names), m.header_names.count(b"received"),
        get(b"to", b"").count(b"@") + get(b"cc", b"").count(b"@"), m.n_parts, len(m.text), text["n_words"],
        len(text["counts"]), m.text.count(b"\n"), text["n_numbers"], len(m.links), len({host for host, _ in m.links}),
        m.n_tags, m.n_images, len(m.attachments), sum(file.size for file in m.attachments), len(m.subject),
    ]  # fmt: skip
    shares = [
        n[0] / max(letters, 1), n[3] / size, (n[4] - n[0] - n[1] - n[3]) / size, m.text.count(b"!") / size,
        m.text.count(b"$") / size, n[2] / size, letters / max(text["n_words"], 1),
    ]  # fmt: skip
    return counts, shares


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        previous, row[0] = row[0], i + 1
        for j, y in enumerate(b):
            previous, row[j + 1] = row[j + 1], min(previous + (x != y), row[j] + 1, row[j + 1] + 1)
    return row[-1]


def features_of(a, b):
    """Features of a pair of signatures, each a dict of lists (see the columns of Signatures)."""
    out = [float(x == y and x != 0) for x, y in zip(a["marks"], b["marks"])]
    out += [1 - min(1, abs(x - y)) for x, y in zip(a["numbers"], b["numbers"])]
    for name, threshold in (("words", 0.5), ("bigrams", 0.9), ("single", 0.5), ("triples", 0.5)):
        if name in ("words", "bigrams"):
            value = min(max(sum(x * y for x, y in zip(a[name], b[name])) / 127**2, 0), 1)
        else:
            same = sum(x == y and x != 0 for x, y in zip(a[name], b[name]))
            value = same / max(sum(x != 0 for x in a[name]), sum(y != 0 for y in b[name]), 1)
        out += [value, max(0, value - threshold) / (1 - threshold)]
    for s in range(0, len(a["sets"]), 2):
        x, y = a["sets"][s] | a["sets"][s + 1] << 64, b["sets"][s] | b["sets"][s + 1] << 64
        out.append((x & y).bit_count() / max((x | y).bit_count(), 1))
    p, q = a["subject"], b["subject"]
    out.append(1 - edit_distance(p, q) / max(len(p), len(q)) if p and q else 0.0)
    return out


def sequential_batches(similarity, n, short, window):
    """Table 8.2 over a window: numbers of batches by first appearance, and the margins of the decisions."""
    batches, margins, n_batches = [], [], 0
    for t in range(n):
        sums = {}
        for k in range(max(0, t - window), t):
            if not short[k] and not short[t]:
                sums[batches[k]] = sums.get(batches[k], 0.0) + similarity(t, k)
        best = max(sums, key=lambda batch: (sums[batch], -batch), default=None)
        ranked = sorted([*sums.values(), 0.0])
        margins.append(ranked[-1] - ranked[-2] if len(ranked) > 1 else 1.0)
        if best is not None and sums[best] >= 0:
            batches.append(best)
        else:
            batches.append(n_batches)
            n_batches += 1
    return batches, margins
