"""Small projects of every kind, with the right answers."""

from pathlib import Path

from accord.datasets import embedded_ner, write_conll
from accord.labeling.project import BETWEEN
from accord.labeling.sources import Reading, read_project

TREES = [
    "(S (NP (D the) (N dog)) (VP (V barks)))",
    "(S (NP (D a) (N cat)) (VP (V sleeps)))",
    "(S (NP (D the) (N cat)) (VP (V sees) (NP (D a) (N dog))))",
    "(S (NP (N dogs)) (VP (V bark)))",
    "(S (NP (D the) (N dog)) (VP (V sees) (NP (D the) (N cat))))",
    "(S (NP (D a) (N dog)) (VP (V sleeps)))",
]
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
        (folder / "bank.mrg").write_text("\n".join(TREES[:3]) + "\n")
        (folder / "raw.txt").write_text("dogs bark\nthe dog sees the cat\na dog sleeps\n")
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
        from accord.datasets.trees import as_tree, leaves

        return next(t for t in TREES if " ".join(leaves(as_tree(t))) == item["text"])
    first, second = (project.items[project.place(part)]["fields"]["name"] for part in key.split(BETWEEN))
    return "same" if first.split()[1] == second.split()[1] else "different"


def write_answers(path: Path) -> None:
    """Labeled sentences as CoNLL columns."""
    write_conll(path, *embedded_ner(5, random_state=0))
