"""How kernels are compiled: helpers, which have no way in from Python, are called by kernels alone."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "src" / "accord" / "kernels"


def module_of(path):
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)


def compiled_in(tree):
    """Functions of a module by how they are compiled: {name: "kernel" or "helper"}."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            for decorator in map(ast.unparse, node.decorator_list):
                found[node.name] = "helper" if "helper" in decorator.lower() else "kernel"
    return found


def uses(tree, module, skip=()):
    """Functions of kernel modules that a module names, as (module, name), outside of the functions to skip."""
    names, modules = {}, {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("accord.kernels"):
            for alias in node.names:
                names[alias.asname or alias.name] = (node.module, alias.name)
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for top in tree.body:
        if isinstance(top, ast.FunctionDef) and top.name in skip:
            continue
        for node in ast.walk(top):
            if isinstance(node, ast.Name):
                yield names.get(node.id, (module, node.id))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                yield modules[node.value.id], node.attr


def test_no_helper_is_called_from_python():
    """Numba is not asked for what such a call needs, and it would end the interpreter."""
    trees = {path: ast.parse(path.read_text()) for path in KERNELS.rglob("*.py")}
    compiled = defaultdict(dict, {module_of(path): compiled_in(tree) for path, tree in trees.items()})
    named = set()
    for path, tree in trees.items():
        named |= set(uses(tree, module_of(path), compiled[module_of(path)]))
    for folder in ("src", "tests", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            if path not in trees and "accord.kernels" in (text := path.read_text()):
                named |= set(uses(ast.parse(text), str(path)))
    kinds = {(module, name): compiled[module][name] for module, name in named if name in compiled[module]}
    assert [place for place, kind in kinds.items() if kind == "helper"] == []
    assert {module for module, _ in kinds} >= {"accord.kernels.chains.viterbi", "accord.kernels.features.hashing"}


def test_every_kernel_is_compiled_the_same_way():
    """Kept in the cache, and without the interpreter's lock."""
    decorators = set()
    for path in KERNELS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                decorators |= {ast.unparse(decorator).split(",")[0] for decorator in node.decorator_list}
    assert {d for d in decorators if "njit" in d or d in ("kernel", "helper")} == {
        "kernel", "helper", "njit(**KERNEL", "njit(**HELPER"
    }  # fmt: skip
