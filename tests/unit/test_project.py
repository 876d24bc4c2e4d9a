"""The project's own files agree with each other: the lock, the metadata, the Makefile."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from row_tables import each_row

import accord

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = [
    f"locks/{name}.lock"
    for name in ("accord", "dask", "docs", "encoders", "federated", "mail", "pandas", "parquet", "spacy")
]
# Large, and no test needs them, or it is skipped without them: only in the locks of their extras.
APART = {"onnxruntime": "encoders", "pyarrow": "parquet", "spacy": "spacy", "tokenizers": "encoders"}
SITE = ("build", "myst-parser", "numpydoc", "pydata-sphinx-theme", "sphinx", "sphinx-copybutton", "sphinx-design")
APART |= dict.fromkeys((*SITE, "sphinx-gallery", "twine"), "docs")
PROGRAMS = ["locks/label-studio.lock"]
LOCKS = ["requirements.lock", "benchmarks/requirements-peers.lock", *EXTRAS, *PROGRAMS]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def pins(lock: str) -> dict[str, Requirement]:
    lines = (ROOT / lock).read_text("utf-8").replace(" \\\n", "").splitlines()
    found = [Requirement(line.partition(" --hash")[0]) for line in lines if line and not line.startswith("#")]
    assert len({canonicalize_name(r.name) for r in found}) == len(found), "a package is pinned twice"
    return {canonicalize_name(r.name): r for r in found}


def declared() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"]
    every = PROJECT["dependencies"] + [r for extra in extras.values() for r in extra]
    return [r for r in map(Requirement, every) if r.name != PROJECT["name"]]


@each_row("lock", LOCKS)
def test_lock_pins_one_version_and_names_no_place(lock):
    for requirement in pins(lock).values():
        assert re.fullmatch(r"==[^*,=]+", str(requirement.specifier)), requirement
        assert requirement.url is None, requirement
    assert not re.search(r"https?:|file:|--index|--find-links|^-", (ROOT / lock).read_text("utf-8"), re.MULTILINE)


@each_row("lock", ["requirements.lock", *EXTRAS, *PROGRAMS])
def test_every_pin_has_checksums(lock):
    text = (ROOT / lock).read_text("utf-8")
    entries = [entry for entry in text.replace(" \\\n", " ").splitlines() if not entry.startswith("#")]
    assert len(entries) > 20
    assert all(re.search(r"( +--hash=sha256:[0-9a-f]{64})+$", entry) for entry in entries)


@each_row("extra", [*PROJECT["optional-dependencies"], ""])
def test_every_extra_has_a_lock_of_the_same_versions(extra):
    lock = "requirements.lock" if extra == "dev" else f"locks/{extra or 'accord'}.lock"
    own = PROJECT["optional-dependencies"].get(extra, []) + PROJECT["dependencies"]
    needed = {canonicalize_name(Requirement(text).name) for text in own} - {PROJECT["name"]}
    everything, pinned = pins("requirements.lock"), pins(lock)
    assert needed <= pinned.keys()
    assert not APART.keys() & everything.keys()
    if extra in APART.values():  # what else they need is in no other lock
        pinned = {name: pin for name, pin in pinned.items() if name in everything}
    assert {name: str(pin) for name, pin in pinned.items()} == {name: str(everything[name]) for name in pinned}


@each_row("requirement", declared())
def test_lock_satisfies_what_the_project_declares(requirement):
    lock = f"locks/{APART[requirement.name]}.lock" if requirement.name in APART else "requirements.lock"
    pinned = next(iter(pins(lock)[canonicalize_name(requirement.name)].specifier)).version
    assert requirement.specifier.contains(pinned)


def test_peers_do_not_repin_what_the_main_lock_pins():
    assert not pins(LOCKS[0]).keys() & pins(LOCKS[1]).keys()


TARGETS = [
    "demo", "test", "test-all", "test-bridges", "fuzz", "lint", "bench", "docs", "package", "newcomer", "clean", "help",
]  # fmt: skip


@each_row("target", TARGETS)
def test_make_help_tells_every_promised_target(target):
    assert re.search(rf"^{target}:.*## \w", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_all_files_name_this_version():
    assert f"## [{accord.__version__}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\nversion: {accord.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
