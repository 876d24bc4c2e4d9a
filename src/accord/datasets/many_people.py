"""Made-up people for tables of any size: any part of the table can be made without the rest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from accord.datasets.generators import at_least

Cells = dict[str, "str | None"]
_FIRST, _BEGIN, _MIDDLE, _END, _STREET = (
    parts.split()
    for parts in (
        "Anna Ben Clara David Eva Felix Greta Hugo Ines Jonas Karla Leo Mia Noah Olga Paul Rosa Simon Thea Ulla Viktor "
        "Wanda Xaver Yara Zeno Alma Bruno Cora Dora Emil Frida Georg Hanna Igor Jana Klaus Lena Max Nora Otto Petra "
        "Ralf Sina Tom Uwe Vera Wim Ada Bela Carl Dina Enno Finja Gero Heike Ida Jens Katja Lars Marta Nils Oskar Pia",
        "Al Bau Con Die Eb Fi Gra Ha I Ju Kel Lo Mai Ot Pe Ri Sa Ta Ul Vo We Zi Bre Dro Fle Gru Kra Sto Tra Schu",
        "ber der fen gel hau ken lin man nes pol rin sen tel wer zen bach dor fel gar hol ke len mer now pe ram",
        "er mann sen ow ski stein berg hoff dorf ke i bach meier ner ling",
        "street road lane avenue way square",
    )
)
_ERRORS = 3  # kinds of spelling errors


def many_people(
    n_records: int, random_state: int = 0, chunk: int = 50_000, first: int = 0
) -> Iterator[tuple[list[Cells], list[int]]]:
    """Records of people and who they are, chunk by chunk, for tables of millions.

    Most people have one to three records, a few have dozens; they stand far apart. The first record of a person is as
    it should be, others have spelling errors, initials, swapped names and birthdays, and missing cells. Of one in
    twelve people somebody of the same name lives at the same address.

    Parameters
    ----------
    n_records : int
        Number of records.
    random_state : int
        Makes another table.
    chunk : int
        Records that are made at a time.
    first : int
        Begin with this record; what it is does not depend on that.

    Examples
    --------
    >>> records, ids = next(many_people(1000))
    >>> len(records), len(set(ids)), sorted(records[0])
    (1000, 648, ['born', 'city', 'name', 'phone', 'street', 'zip'])
    """
    at_least(0, n_records=n_records, first=first)
    at_least(1, chunk=chunk)
    ends = _ends_of_people(n_records, random_state)
    step = _coprime(n_records)
    for begin in range(first, n_records, chunk):
        place = np.arange(begin, min(begin + chunk, n_records), dtype=np.uint64)
        record = (place * np.uint64(step) % np.uint64(n_records)).astype(np.int64)  # scattered
        person = np.searchsorted(ends, record, side="right")
        copy = record - np.where(person > 0, ends[person - 1], 0)
        yield _records(person, record, copy > 0, random_state), person.tolist()


def _draw(numbers: np.ndarray, what: int, random_state: int) -> np.ndarray:
    """Numbers between 0 and 1 that depend on what they are for alone."""
    seed = (what * 0xD1342543DE82EF95 + (random_state + 1) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    out = numbers.astype(np.uint64) + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 0x9E3779B97F4A7C15), (29, 1)):
        out = (out ^ (out >> np.uint64(shift))) * np.uint64(factor)
    return (out >> np.uint64(11)).astype(np.float64) / float(1 << 53)


def _ends_of_people(n_records: int, random_state: int) -> np.ndarray:
    """Where the records of every person end: sizes with a long tail, two on the average."""
    u = _draw(np.arange(max(n_records, 1)), 0, random_state)
    sizes = np.minimum((u ** (-1 / 2.2)).astype(np.int64), 60)
    return np.cumsum(sizes)


def _coprime(n: int) -> int:
    step = int(0.618 * n) | 1
    while np.gcd(step, max(n, 1)) != 1:
        step += 2
    return step


def _records(person: np.ndarray, record: np.ndarray, wrong: np.ndarray, seed: int) -> list[Cells]:
    def own(what: int) -> np.ndarray:
        return _draw(person, what, seed)

    home = np.where(own(1) < 1 / 12, np.maximum(person - 1, 0), person)  # who the address is shared with

    def shared(what: int, n: int, skew: float = 1.0) -> np.ndarray:
        return (_draw(home, what, seed) ** skew * n).astype(np.int64)

    first = (own(2) ** 1.5 * len(_FIRST)).astype(np.int64).tolist()
    last = [shared(3 + k, len(parts), 1.5).tolist() for k, parts in enumerate((_BEGIN, _MIDDLE, _END))]
    streets = [shared(6 + k, len(parts)).tolist() for k, parts in enumerate((_BEGIN, _END, _STREET))]
    house, city = (shared(9, 150, 1.5) + 1).tolist(), shared(10, len(_BEGIN) * len(_MIDDLE), 2.0).tolist()
    area, phone = shared(11, 40).tolist(), shared(12, 900_000_000).tolist()
    days = np.datetime64("1930-01-01") + (own(13) * 29000).astype(np.int64)
    luck = [_draw(record, 20 + k, seed).tolist() for k in range(8)]
    out: list[Cells] = []
    for k, (bad, born) in enumerate(zip(wrong.tolist(), np.datetime_as_string(days).tolist())):
        a, b, c, d, e, f, g, h = (one[k] for one in luck)
        names = [_FIRST[first[k]], _BEGIN[last[0][k]] + _MIDDLE[last[1][k]] + _END[last[2][k]]]
        street = f"{house[k]} {_BEGIN[streets[0][k]]}{_END[streets[1][k]]} {_STREET[streets[2][k]]}"
        town = _BEGIN[city[k] % len(_BEGIN)] + _MIDDLE[city[k] // len(_BEGIN)] + "ton"
        cells: Cells = {
            "name": " ".join(names), "born": born, "street": street, "zip": f"{10000 + 97 * city[k] + area[k]}",
            "city": town, "phone": f"0{100_000_000 + phone[k]}",
        }  # fmt: skip
        if bad:
            if a < 0.1:
                names[0] = names[0][0] + "."
            cells["name"] = ", ".join(names[::-1]) if 0.1 <= a < 0.2 else " ".join(names)
            if b < 0.5:
                cells["name"] = _misspelt(str(cells["name"]), b / 0.5)
            if c < 0.15:
                cells["street"] = None
            elif c < 0.4:
                cells["street"] = _misspelt(street, (c - 0.15) / 0.25)
            if d < 0.15:
                cells["born"] = None
            elif d < 0.2:
                cells["born"] = f"{born[:5]}{born[8:]}-{born[5:7]}" if int(born[8:]) <= 12 else born
            elif d < 0.25:
                cells["born"] = f"{born[:9]}{(int(born[9]) + 1) % 10 or 1}"
            if e < 0.3:
                cells["phone"] = None
            elif e < 0.4:
                cells["phone"] = _misspelt(str(cells["phone"]), (e - 0.3) / 0.1)
            if f < 0.1:
                cells["zip"] = None
            if g < 0.1:
                cells["city"] = None
            elif g < 0.2:
                cells["city"] = _misspelt(town, (g - 0.1) / 0.1)
        elif h < 0.3:
            cells[("born", "street", "phone")[int(h * 10)]] = None
        out.append(cells)
    return out


def _misspelt(text: str, luck: float) -> str:
    """One character left out, doubled, or swapped with the next, chosen by a number between 0 and 1."""
    place = luck * (len(text) - 1) * _ERRORS
    k, change = int(place) // _ERRORS, int(place) % _ERRORS
    if change == 0:
        return text[:k] + text[k + 1 :]
    if change == 1:
        return text[:k] + text[k] + text[k:]
    return text[:k] + text[k + 1] + text[k] + text[k + 2 :]
