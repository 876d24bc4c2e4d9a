"""No module imports one that imports it, not even inside a function or for a type checker."""

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"


def module_files() -> dict[str, Path]:
    files = {}
    for path in (SOURCE / "accord").rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


def imported(name: str, is_package: bool, tree: ast.AST, known: set[str]) -> set[str]:
    """The modules that a module names in its import statements, wherever they stand.

    ``from package import name`` is the module of that name if there is one, else what the package's own file holds.
    """
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                steps = name.split(".")[: None if is_package and node.level == 1 else is_package - node.level]
                origin = ".".join([*steps, *filter(None, [node.module])])
            found |= {f"{origin}.{a.name}" if f"{origin}.{a.name}" in known else origin for a in node.names}
    return found & known - {name}


def circles(graph: dict[str, set[str]]) -> list[tuple[str, ...]]:
    """Groups of modules that reach each other."""
    reached = {}
    for start in graph:
        reached[start] = seen = set()
        left = [start]
        while left:
            found = graph[left.pop()] - seen
            seen |= found
            left += found
    return sorted({tuple(sorted(b for b in reached[a] if a in reached[b])) for a in graph if a in reached[a]})


def module_graph() -> dict[str, set[str]]:
    files = module_files()
    return {
        name: imported(name, path.name == "__init__.py", ast.parse(path.read_text("utf-8")), set(files))
        for name, path in files.items()
    }


def test_circles_are_found():
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a", "e"}}
    assert circles(graph) == [("a", "b", "c"), ("d", "e")]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_imports_are_found_wherever_they_stand():
    text = """
import p.a as x
from p import b, name
from . import c
from .d import name
from .. import e
if TYPE_CHECKING:
    from p.f import name
def function():
    from p.g import h
"""
    known = {"p", "p.a", "p.b", "p.e", "p.f", "p.g", "p.g.h", "p.q", "p.q.c", "p.q.d", "p.q.z"}
    expected = {"p.a", "p.b", "p", "p.q.c", "p.q.d", "p.e", "p.f", "p.g.h"}
    assert imported("p.q.z", False, ast.parse(text), known) == expected
    assert imported("p.q", True, ast.parse(text), known) == expected


def test_no_module_imports_one_that_imports_it():
    found = circles(module_graph())
    assert not found, "modules that import each other: " + "; ".join(" <-> ".join(group) for group in found)
