"""Made-up people with misspelt duplicates, for tests of de-duplication."""

import re

import numpy as np

FIRST = re.findall("[a-z]+", "anna ben clara david eva felix greta hugo ines jonas karla leo mia noah olga paul rosa")
LAST = re.findall("[a-z]+", "adler bauer conrad dietz ebert fischer graf hahn iversen jung keller lorenz maier otto")
STREETS = re.findall("[a-z]+", "oak elm maple cedar birch walnut chestnut willow poplar spruce juniper hazel alder")


def misspelt(text: str, rng: np.random.Generator) -> str:
    """One letter left out, doubled or swapped with the next."""
    k = int(rng.integers(len(text) - 1))
    change = rng.integers(3)
    if change == 0:
        return text[:k] + text[k + 1 :]
    if change == 1:
        return text[:k] + text[k] + text[k:]
    return text[:k] + text[k + 1] + text[k] + text[k + 2 :]


def people(n: int, seed: int = 0) -> tuple[list[dict[str, object]], list[int]]:
    """Records of `n` people, one to three of each, in random order, and who they are."""
    rng = np.random.default_rng(seed)
    records, ids = [], []
    for person in range(n):
        name = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
        street = f"{rng.integers(1, 200)} {rng.choice(STREETS)} street"
        born = f"{rng.integers(1930, 2005)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}"
        for copy in range(int(rng.integers(1, 4))):
            record = {"name": name, "street": street, "born": born}
            if copy:
                record["name"] = misspelt(name, rng)
                missing = rng.choice(["street", "born", "none"])
                record[str(missing)] = None
                record.pop("none", None)
            records.append(record)
            ids.append(person)
    order = rng.permutation(len(ids))
    return [records[i] for i in order], [ids[i] for i in order]
