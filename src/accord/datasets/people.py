"""Made-up people who stand in a table several times, misspelt."""

from __future__ import annotations

import numpy as np

from accord.datasets.generators import RandomState, at_least

_FIRST = "Anna Ben Clara David Eva Felix Greta Hugo Ines Jonas Karla Leo Mia Noah Olga Paul Rosa"
_LAST = "Adler Bauer Conrad Dietz Ebert Fischer Graf Hahn Iversen Jung Keller Lorenz Maier Otto"
_STREETS = "Oak Elm Maple Cedar Birch Walnut Chestnut Willow Poplar Spruce Juniper Hazel Alder"


def people(n: int = 100, random_state: RandomState = None) -> tuple[list[dict[str, str | None]], list[int]]:
    """Records of people, one to three of each, in random order, and who they are.

    The first record of a person is complete. In others the name is misspelt, and the street or the birthday may be
    missing.

    Parameters
    ----------
    n : int
        Number of people.
    random_state : int, Generator or None; an int makes the records repeatable

    Returns
    -------
    records : list of dict
        With the fields name, street and born.
    ids : list of int
        A number for each person.

    Examples
    --------
    >>> records, ids = people(2, random_state=3)
    >>> [record["name"] for record in records], ids
    (['Hugo Iversen', 'oah Bauer', 'Noah Bauer'], [1, 0, 0])
    """
    at_least(0, n=n)
    rng = np.random.default_rng(random_state)
    first, last, streets = _FIRST.split(), _LAST.split(), _STREETS.split()
    records, ids = [], []
    for person in range(n):
        name = f"{rng.choice(first)} {rng.choice(last)}"
        street = f"{rng.integers(1, 200)} {rng.choice(streets)} Street"
        born = f"{rng.integers(1930, 2005)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}"
        for copy in range(int(rng.integers(1, 4))):
            record: dict[str, str | None] = {"name": name, "street": street, "born": born}
            if copy:
                record["name"] = _misspelt(name, rng)
                missing = str(rng.choice(["street", "born", "none"]))
                if missing in record:
                    record[missing] = None
            records.append(record)
            ids.append(person)
    order = rng.permutation(len(ids))
    return [records[i] for i in order], [ids[i] for i in order]


def _misspelt(text: str, rng: np.random.Generator) -> str:
    """One letter left out, doubled or swapped with the next."""
    k = int(rng.integers(len(text) - 1))
    change = rng.integers(3)
    if change == 0:
        return text[:k] + text[k + 1 :]
    if change == 1:
        return text[:k] + text[k] + text[k:]
    return text[:k] + text[k + 1] + text[k] + text[k + 2 :]
