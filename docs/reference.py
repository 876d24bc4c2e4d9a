"""What the reference lists: every public name, under a heading. The tests look whether each has an example."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from accord.registry import TABLE

# Names that one imports from accord itself; each stands in the first group that it belongs to.
_GROUPS = {
    "Learners": lambda name, e: e.kind == "learner" or name == "ClusteringSVM",
    "Structures": lambda name, e: e.module.startswith("accord.structures"),
    "Views": lambda name, e: e.module.startswith("accord.views"),
    "Records and mail": lambda name, e: e.module.startswith(("accord.dedupe", "accord.mail")),
    "Labels": lambda name, e: e.module.startswith(("accord.labeling", "accord.learners")),
    "Files, text and errors": lambda name, e: True,
}
_MODULES = {
    "accord.plots": "Pictures",
    "accord.datasets": "Data: generators, readers and writers",
    "accord.evaluation": "Metrics, protocols, tests and reports",
    "accord.federated": "Sites that share no data",
}
# Of some modules only a few names are for everybody.
_NAMES = {
    "accord.federated.flower": ("Sites on a network, over Flower", ["RunSettings", "read_result", "write_app"]),
    "accord.mail.generator": ("Mail with known batches", ["MailGenerator"]),
    "accord.views": ("For features of pairs of your own", ["PairFeatures"]),
    "accord.views.encoders": (
        "Encoders of words and texts",
        ["attach", "find_encoder", "onnx", "sentence_transformer", "spacy_pipeline", "transformer"],
    ),
}


def sections() -> list[tuple[str, str, list[str]]]:
    """Title, module and names of every section."""
    waiting = {name: entry for name, entry in TABLE.items() if entry.public}
    found = []
    for title, belongs in _GROUPS.items():
        names = sorted(name for name, entry in waiting.items() if belongs(name, entry))
        waiting = {name: entry for name, entry in waiting.items() if name not in names}
        found.append((title, "accord", names))
    for module, title in _MODULES.items():
        found.append((f"{title} (``{module}``)", module, sorted(import_module(module).__all__)))
    for module, (title, names) in _NAMES.items():
        found.append((f"{title} (``{module}``)", module, names))
    return found


def write(folder: Path) -> None:
    """Write the page that lists all names; Sphinx makes a page of each."""
    folder.mkdir(exist_ok=True)
    lines = [
        "Reference",
        "=========",
        "",
        "Every public name. Those of the first sections you import from ``accord`` itself.",
        "",
    ]
    for title, module, names in sections():
        lines += [
            title, "-" * len(title), "", f".. currentmodule:: {module}", "",
            ".. autosummary::", "   :toctree: names", "", *(f"   {name}" for name in names), "",
        ]  # fmt: skip
    text = "\n".join(lines) + "\n"
    index = folder / "index.rst"
    if not index.is_file() or index.read_text("utf-8") != text:
        index.write_text(text, "utf-8")
