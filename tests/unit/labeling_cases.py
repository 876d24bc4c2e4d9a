"""Small projects of every kind, with the right answers."""

from pathlib import Path

from accord.datasets import embedded_ner
from accord.datasets.trees import as_tree, leaves
from accord.labeling.project import BETWEEN
from accord.labeling.sources import Reading, read_project

_NOUNS = [f"(NP (D {d}) (N {n}))" for d in ("the", "a") for n in ("dog", "cat")]
_VERBS = ["(VP (V barks))", "(VP (V sleeps))", *(f"(VP (V sees) {noun})" for noun in _NOUNS[:2])]
TREES = [f"(S {noun} {verb})" for verb in _VERBS for noun in _NOUNS]
NAMES = ["Ann Lee", "Bob Kay", "Cy Orr", "Di Roe", "Eva Moss", "Jo Ray", "Kim Poe", "Lu Fay", "Max Ott", "Ned Ash"]


def files_of(kind: str, folder: Path) -> tuple[list[str], Reading]:
    """Files of a kind, some of which may have labels."""
    if kind == "tokens":
        X, _ = embedded_ner(30, random_state=0)
        (folder / "text.txt").write_text("".join(" ".join(x) + "\n" for x in X))
        return [str(folder / "text.txt")], Reading(labels=("PER", "LOC"), tokenizer="blanks")
    if kind == "classes":
        texts = [f"{'good fine nice' if k % 2 else 'bad poor awful'} item {k}" for k in range(24)]
        (folder / "reviews.csv").write_text("text\n" + "".join(f"{text}\n" for text in texts))
        return [str(folder / "reviews.csv")], Reading(labels=("good", "bad"))
    if kind == "numbers":
        rows = "".join(f"{k},{k % 5}\n" for k in range(24))
        (folder / "rows.csv").write_text("size,floor\n" + rows)
        return [str(folder / "rows.csv")], Reading("numbers")
    if kind == "trees":
        (folder / "bank.mrg").write_text("\n".join([TREES[0], TREES[7], TREES[9]]) + "\n")
        raw = [" ".join(leaves(as_tree(tree))) for k, tree in enumerate(TREES) if k not in (0, 7, 9)]
        (folder / "raw.txt").write_text("\n".join(raw) + "\n")
        return [str(folder / "bank.mrg"), str(folder / "raw.txt")], Reading("trees")
    rows = "".join(f"{name},Street {k}\n{name[0]}. {name.split()[1]},Street {k}\n" for k, name in enumerate(NAMES))
    (folder / "people.csv").write_text("name,address\n" + rows)
    return [str(folder / "people.csv")], Reading("pairs")


def project_of(kind: str, folder: Path):
    """A project and a function that answers right."""
    project = read_project(*files_of(kind, folder))
    return project, lambda key: right_answer(project, key)


def right_answer(project, key):
    """What somebody who knows would say."""
    item = project.item(key)
    if project.kind == "tokens":
        X, Y = embedded_ner(30, random_state=0)
        labels = Y[[" ".join(x) for x in X].index(item["text"])]
        kinds = {"PER": "PER"}
        return ["O" if y == "O" else f"{y[:2]}{kinds.get(y[2:], 'LOC')}" for y in labels]
    if project.kind == "classes":
        return "good" if "good" in item["text"] else "bad"
    if project.kind == "numbers":
        return 2.0 * float(item["fields"]["size"]) + float(item["fields"]["floor"])
    if project.kind == "trees":
        return next(t for t in TREES if " ".join(leaves(as_tree(t))) == item["text"])
    first, second = (project.items[project.place(part)]["fields"]["name"] for part in key.split(BETWEEN))
    return "same" if first.split()[1] == second.split()[1] else "different"
