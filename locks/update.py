"""Write the lock files anew: every package that an extra needs, pinned, with the checksums of its files.

    python locks/update.py --index URL
    .venv/bin/python locks/update.py --index URL --only docs
    .venv-spacy/bin/python locks/update.py --index URL --only spacy
    .venv-label-studio/bin/python locks/update.py --index URL --installed label-studio

Run it with the Python of a development environment in which all tests pass, and what only other extras need
(``pip install pyarrow onnxruntime tokenizers``) beside it: what is installed there is what is pinned.
``URL`` is a simple index of packages; it is asked for the checksums of all files that Python 3.11 to 3.14 may install,
on any platform. The other two lines are for what has an environment of its own: an extra beside the pinned versions of
the development environment, and a program of which everything that is installed is pinned.
"""

from __future__ import annotations

import argparse
import re
import tomllib
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_LINK = re.compile(r"""href=["'][^"'#]*/(?P<file>[^"'#/]+)#sha256=(?P<hash>[0-9a-f]{64})""")
# Wheels of other interpreters would only make the files longer.
_WANTED = re.compile(r"\.tar\.gz$|\.zip$|-(py3|py2\.py3|cp311|cp312|cp313|cp314|cp3\d+-abi3)-|-cp3\d+-abi3-")


def closure(wanted: list[str]) -> dict[str, str]:
    """The pins of all installed packages that some requirements lead to, for those of the Pythons that need them."""
    per_python = {python: _closure(wanted, python) for python in PYTHONS}
    pins = {}
    for name, version in per_python[PYTHONS[0]].items():
        last = max(python for python in PYTHONS if name in per_python[python])
        pins[name] = f"{name}=={version}" + (f' ; python_version <= "{last}"' if last != PYTHONS[-1] else "")
    return pins


def _closure(wanted: list[str], python: str) -> dict[str, str]:
    """Names and versions for one Python."""
    found: dict[str, str] = {}
    waiting = [(Requirement(text), "") for text in wanted]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate(
            {"extra": extra, "python_version": python, "python_full_version": f"{python}.0"}
        ):
            continue
        name = canonicalize_name(requirement.name)
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            raise SystemExit(f"{name} is not installed, so no version of it can be pinned") from None
        more = [Requirement(text) for text in installed.requires or []]
        for one in ("", *requirement.extras) if name not in found else requirement.extras:
            waiting += [(needed, one) for needed in more]
        found[name] = installed.version
    return found


def hashes(index: str, pin: str) -> list[str]:
    """Checksums of the files of one version."""
    name, version = pin.split(" ")[0].split("==")
    with urllib.request.urlopen(f"{index.rstrip('/')}/{name}/") as reply:
        page = reply.read().decode()
    stem = re.compile(rf"{name.replace('-', '[-_.]')}-{re.escape(version)}(-|\.tar|\.zip)", re.IGNORECASE)
    found = {m["hash"] for m in _LINK.finditer(page) if stem.match(m["file"]) and _WANTED.search(m["file"])}
    if not found:
        raise SystemExit(f"{index} has no files of {name} {version}")
    return sorted(found)


def main() -> None:
    """Write all files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--index", required=True, metavar="URL", help="a simple index of packages")
    parser.add_argument("--only", metavar="EXTRA", help="write the lock of this extra alone")
    parser.add_argument("--installed", metavar="NAME", help="write a lock of all that is installed here, and no other")
    given = parser.parse_args()
    index = given.index
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    build = ["setuptools", "wheel"]
    files: dict[Path, dict[str, str]] = {}
    if given.only is None and given.installed is None:
        files[ROOT / "locks" / "accord.lock"] = closure(project["dependencies"])
    for extra, needed in extras.items():
        own = [text for text in needed if not text.startswith(f"{project['name']}[")]
        named = {one for text in needed if text not in own for one in Requirement(text).extras}
        shared = [text for one in sorted(named) for text in extras[one]]
        path = ROOT / "requirements.lock" if extra == "dev" else ROOT / "locks" / f"{extra}.lock"
        if given.installed is None and given.only in (None, extra):
            files[path] = closure(project["dependencies"] + own + shared + (build if extra in ("dev", "docs") else []))
    if given.installed is not None:
        here = {canonicalize_name(one.name): one.version for one in distributions()}
        files = {ROOT / "locks" / f"{given.installed}.lock": {name: f"{name}=={here[name]}" for name in here}}
    pins = sorted({pin for packages in files.values() for pin in packages.values()})
    with ThreadPoolExecutor(8) as pool:
        known = dict(zip(pins, pool.map(lambda pin: hashes(index, pin), pins)))
    for path, packages in files.items():
        lines = [f"# What {path.stem} needs, pinned with the checksums of its files. Written by locks/update.py."]
        for pin in sorted(packages.values()):
            lines.append(" \\\n    ".join([pin, *(f"--hash=sha256:{one}" for one in known[pin])]))
        path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
