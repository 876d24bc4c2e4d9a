"""How many small faults the tests notice.

    python tests/mutation.py list
    python tests/mutation.py run --output build/mutants.jsonl
    python tests/mutation.py run --output build/before.jsonl --tests ../before/tests

A mutant is the source with one fault: a comparison flipped, plus for minus, a number one too large, ``not`` dropped,
the least for the largest, True for False, a statement left out. Places are drawn by a seed from all functions of
``kernels``, ``solvers`` and ``structures``, so the same mutants can be tried on two versions of the tests. Each runs
the tests that concern its folder, up to the first failure; what fails, crashes or takes far too long is killed. One
line of JSON per mutant; a run that was stopped goes on where it ended.

As a plugin of pytest (``-p mutation``) this file keeps hypothesis from making a failing example smaller.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("kernels", "solvers", "structures")

COMPARE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
COMPARE |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add}
EXTREMES = {"min": "max", "minimum": "maximum", "argmin": "argmax"}
EXTREMES |= {b: a for a, b in EXTREMES.items()}

# The tests that concern a folder, those that find faults soonest first.
LEARNERS = ["tests/unit/learners", "tests/contract/test_copies.py", "tests/contract/test_predictions.py"]
TESTS = {
    "kernels/chains": ["tests/oracle", "tests/solver", *LEARNERS],
    "kernels/trees": ["tests/oracle", "tests/solver", "tests/unit/learners"],
    "kernels/partitions": ["tests/oracle", "tests/solver", "tests/unit/learners/test_clustering.py"],
    "kernels/features": ["tests/oracle", "tests/unit/views"],
    "kernels/records": ["tests/oracle", "tests/unit/dedupe"],
    "kernels/mail": ["tests/oracle", "tests/unit/mail", "tests/property/test_mail_fuzz.py"],
    "kernels": ["tests/solver", "tests/unit/learners"],
    "solvers": ["tests/solver", *LEARNERS],
    "structures": ["tests/unit/structures", "tests/oracle", "tests/solver", *LEARNERS],
}


@dataclass(frozen=True)
class Mutant:
    """One fault: the text between two offsets of a file becomes another."""

    path: str
    start: int
    end: int
    line: int
    kind: str
    text: str
    instead: str

    def apply(self, source: bytes) -> bytes:
        """The file with the fault."""
        return source[: self.start] + self.instead.encode() + source[self.end :]

    def describe(self) -> str:
        """One line for people."""
        text = " ".join(self.text.split())
        return f"{self.path}:{self.line} (byte {self.start}) {self.kind}: {text[:60]} -> {self.instead[:60]}"


def faults(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What can be wrong at one node: kind and text."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARE:
            yield "comparison", ast.unparse(ast.Compare(node.left, [COMPARE[type(op)]()], node.comparators))
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            yield "sign", ast.unparse(ast.BinOp(node.left, ARITHMETIC[type(op)](), node.right))
        case ast.AugAssign(op=op):
            if type(op) in ARITHMETIC:
                yield "sign", ast.unparse(ast.AugAssign(node.target, ARITHMETIC[type(op)](), node.value))
            yield "statement", "pass"
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]) | ast.Expr(value=ast.Call()):
            yield "statement", "pass"
        case ast.Constant(value=bool(value)):
            yield "truth", str(not value)
        case ast.Constant(value=int(value)):
            yield "number", str(value + 1)
        case ast.UnaryOp(op=ast.Not()):
            yield "negation", f"({ast.unparse(node.operand)})"
        case ast.Name(id=name) if name in EXTREMES:
            yield "extreme", EXTREMES[name]
        case ast.Attribute(attr=name) if name in EXTREMES:
            yield "extreme", f"{ast.unparse(node.value)}.{EXTREMES[name]}"


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function whose faults a test can see: no annotations, decorators or error messages."""
    yield node
    if isinstance(node, (ast.Raise, ast.Assert)):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from parts(child)


def mutants_of(path: Path, root: Path) -> Iterator[Mutant]:
    """All mutants of one file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen = set()
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in parts(function):
            for kind, instead in faults(node):
                start = starts[node.lineno - 1] + node.col_offset
                end = starts[node.end_lineno - 1] + node.end_col_offset
                text = source[start:end].decode()
                found = Mutant(path.relative_to(root).as_posix(), start, end, node.lineno, kind, text, instead)
                if found not in seen:  # a function inside another is walked twice
                    seen.add(found)
                    yield found


def folder_of(mutant: Mutant) -> str:
    """The key of TESTS that concerns a mutant."""
    parent = Path(mutant.path).relative_to("src/accord").parent
    return next(str(p) for p in (parent, *parent.parents) if str(p) in TESTS)


def sample(root: Path, count: int, seed: int) -> list[Mutant]:
    """Draw mutants: each kind of fault alike, among all places where it can be made."""
    by_kind: dict[str, list[Mutant]] = {}
    for path in sorted(path for room in ROOMS for path in (root / "src" / "accord" / room).rglob("*.py")):
        for mutant in mutants_of(path, root):
            by_kind.setdefault(mutant.kind, []).append(mutant)
    draw = random.Random(seed)
    for mutants in by_kind.values():
        draw.shuffle(mutants)
    turns = zip_longest(*by_kind.values())
    return [mutant for turn in turns for mutant in turn if mutant is not None][:count]


# -- running ----------------------------------------------------------------------------------------------------------


def copy_tree(root: Path, tests: Path, target: Path) -> None:
    """The source, tests and what tests read, with the times of the files, which compiled kernels are known by."""
    leave = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder, name in ((root / "src", "src"), (root / "docs", "docs"), (tests, "tests")):
        shutil.rmtree(target / name, ignore_errors=True)
        shutil.copytree(folder, target / name, ignore=leave)
    for name in ("pyproject.toml", "README.md", "Makefile"):
        shutil.copy2(root / name, target)
    shutil.copy2(__file__, target / "tests")


def users_of(path: Path, package: Path) -> set[Path]:
    """Modules below a package that import a module of it, directly or not, and the module itself."""
    imports = {}
    for one in package.rglob("*.py"):
        tree = ast.parse(one.read_bytes())
        names = {f"{n.module}.{a.name}" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
        imports[one] = {name for full in names for name in (full, full.rpartition(".")[0])}
    found: set[Path] = set()
    new = {path}
    while new:
        found |= new
        dotted = {".".join(one.relative_to(package.parents[1]).with_suffix("").parts) for one in new}
        new = {one for one, names in imports.items() if names & dotted} - found
    return found


def kernels_for(mutant: Mutant, tree: Path) -> Path:
    """A folder of compiled kernels without those that a fault concerns, which Numba would go on using."""
    compiled, package = tree / "kernels", tree / "src" / "accord" / "kernels"
    if not (tree / mutant.path).is_relative_to(package):
        return compiled
    mutated = tree / "mutated kernels"
    shutil.rmtree(mutated, ignore_errors=True)
    shutil.copytree(compiled, mutated, copy_function=os.link)
    for path in users_of(tree / mutant.path, package):
        for stored in mutated.glob(f"{path.parent.name}_*/{path.stem}.*"):
            stored.unlink()
    return mutated


def run_tests(tree: Path, kernels: Path, tests: list[str], seconds: int) -> tuple[str, float, str]:
    """Run tests up to the first failure: "survived", "killed" or "timeout", CPU seconds, and the test that failed."""

    def limit() -> None:
        os.nice(10)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))

    environment = os.environ | {
        "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree / 'tests'}",
        "HYPOTHESIS_PROFILE": "mutation",
        "NUMBA_CACHE_DIR": str(kernels),
        "PYTEST_XDIST_WORKER": "mutation",  # conftest.py leaves the folder of kernels to whoever starts a worker
    }
    environment.pop("ACCORD_DATA", None)
    names = [name for name in tests if (tree / name.partition("::")[0]).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "mutation", "-m", "not slow"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*command, *names], cwd=tree, env=environment, preexec_fn=limit, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode in (4, 5):
        raise SystemExit(f"pytest ran no tests:\n{done.stdout}{done.stderr}")
    if done.returncode == 0:
        return "survived", spent, ""
    failed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return ("timeout" if spent > seconds - 2 else "killed"), spent, failed[0] if failed else done.stdout[-200:]


def run(options: argparse.Namespace, mutants: list[Mutant]) -> None:
    """Try every mutant that is not in the file of results yet."""
    tree, output = options.folder.resolve(), options.output
    tree.mkdir(parents=True, exist_ok=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    (tree / "kernels").mkdir(exist_ok=True)
    copy_tree(ROOT, options.tests.resolve(), tree)
    done = read_results(output)
    first = read_results(options.first) if options.first else {}
    if not options.unchecked:
        everything = list(dict.fromkeys(name for names in TESTS.values() for name in names))
        if run_tests(tree, tree / "kernels", everything, 10**6)[0] != "survived":
            raise SystemExit("the tests fail without any fault")
    for mutant in mutants:
        if mutant.describe() in done:
            continue
        path = tree / mutant.path
        source, status = path.read_bytes(), path.stat()
        path.write_bytes(mutant.apply(source))
        try:
            known = first.get(mutant.describe(), {}).get("by", "").partition("::")[0]
            tests = [known, *TESTS[folder_of(mutant)]] if known else TESTS[folder_of(mutant)]
            outcome, spent, by = run_tests(tree, kernels_for(mutant, tree), tests, options.seconds)
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        with open(output, "a") as lines:
            entry = {"mutant": mutant.describe(), "outcome": outcome, "seconds": round(spent), "by": by}
            lines.write(json.dumps(entry) + "\n")
        sys.stdout.write(f"{outcome:8} {spent:4.0f} s  {mutant.describe()}\n")
        sys.stdout.flush()
    counts = Counter(result["outcome"] for result in read_results(output).values())
    sys.stdout.write(f"{counts.total() - counts['survived']} of {counts.total()} killed\n")


def read_results(path: Path) -> dict[str, dict[str, str]]:
    """Results by mutant."""
    if not path.exists():
        return {}
    return {entry["mutant"]: entry for entry in map(json.loads, path.read_text("utf-8").splitlines())}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["list", "run"])
    parser.add_argument("--count", type=int, default=50, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", type=Path, default=ROOT / "tests", help="folder of tests, e.g. of another version")
    parser.add_argument("--seconds", type=int, default=600, help="CPU time of one run")
    parser.add_argument("--output", type=Path, help="JSON lines; mutants in it already are not run again")
    parser.add_argument("--first", type=Path, help="results of another run: what killed a mutant there is tried first")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation", help="where the copy is made")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a fault before")
    options = parser.parse_args()
    mutants = sample(ROOT, options.count, options.seed)
    if options.action == "list":
        sys.stdout.writelines(f"{mutant.describe()}\n" for mutant in mutants)
        return
    if options.output is None:
        parser.error("--output: where to write the results")
    run(options, mutants)


if __name__ == "__main__":
    main()
else:  # a plugin of pytest
    import hypothesis

    quick = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutation", deadline=None, derandomize=True, database=None, phases=quick)
