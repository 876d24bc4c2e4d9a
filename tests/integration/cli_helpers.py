"""What the tests of the command line share: small data files, and ways to run `accord`."""

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from accord.cli import main
from accord.datasets import embedded_ner, gaussian_classes, taxonomy_documents, write_conll

COMMAND = [sys.executable, "-c", "from accord.cli import main; main(prog_name='accord')"]


def run(*args: object, stdin: str | bytes | None = None) -> Result:
    """Run a command in this process; anything but a clean exit is an error of the test."""
    result = CliRunner().invoke(main, [str(arg) for arg in args], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def ok(*args: object, stdin: str | bytes | None = None) -> str:
    """Standard output of a command that must succeed."""
    result = run(*args, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def process(*args: object, **settings: object) -> subprocess.Popen:
    """Start a command as a process of its own."""
    return subprocess.Popen([*COMMAND, *map(str, args)], **settings)  # type: ignore[call-overload]


def write_sentences(folder: Path) -> None:
    """`train.conll`, `test.conll` and `test.txt`, the sentences of `test.conll` one per line."""
    for name, n, seed in (("train", 80, 0), ("test", 40, 1)):
        X, Y = embedded_ner(n, random_state=seed)
        write_conll(folder / f"{name}.conll", X, Y)
    (folder / "test.txt").write_text("".join(" ".join(x) + "\n" for x in X))


def write_points(path: Path) -> None:
    """A table of three classes with the header a, b, c, kind."""
    X, y = gaussian_classes(60, n_features=3, separation=4.0, random_state=0)
    rows = [",".join(f"{v:.3f}" for v in row) + f",{label}" for row, label in zip(X, y)]
    path.write_text("a,b,c,kind\n" + "\n".join(rows) + "\n")


def write_documents(folder: Path) -> None:
    """`docs.svm` with the classes of `tree.tsv`."""
    X, y, taxonomy = taxonomy_documents(90, share_own=0.9, random_state=0)
    lines = []
    for i, label in enumerate(y):
        row = X[[i]].tocoo()
        lines.append(" ".join([label, *(f"{j + 1}:{v:g}" for j, v in sorted(zip(row.col, row.data)))]))
    (folder / "docs.svm").write_text("\n".join(lines) + "\n")
    edges = [f"{child}\t{parent}\n" for child, parents in taxonomy.items() for parent in parents]
    (folder / "tree.tsv").write_text("".join(edges))
