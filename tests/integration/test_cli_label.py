"""`accord label` and `accord dedupe --ask` without a browser: export, terminal, errors."""

import os

from cli_helpers import ok, run
from labeling_cases import files_of

from accord.labeling.service import open_service
from accord.labeling.sources import read_project
from accord.labeling.store import Store


def test_export_and_what_is_refused(tmp_path):
    (tmp_path / "a.conll").write_text("Ana B-PER\nleft O\n\nTom _\nslept _\n")
    store = tmp_path / "s.sqlite"
    written = ok("label", tmp_path / "a.conll", "--store", store, "--export", "-")
    assert written == "Ana\tB-PER\nleft\tO\n\n"
    assert '"spans": [{"start": 0, "end": 3' in ok("label", "--store", store, "--export", "-", "--format", "prodigy")
    ok("label", "--store", store, "--export", tmp_path / "l.json")  # the format by the name
    assert '"annotations"' in (tmp_path / "l.json").read_text()
    os.chdir(tmp_path)
    for args, says in (
        ((), "Missing argument 'FILE...'"),
        (("none.txt",), "No such file"),
        (("a.conll", "--store", "a.conll"), "would overwrite what is read"),
        (("a.conll", "--pairs"), "--task tokens|trees"),
        (("a.conll", "--store", store, "--terminal"), "--task tokens|trees"),
        (("--store", store, "--terminal"), "need the page"),
        (("--store", store, "--export", "-", "--format", "csv"), "none of conll"),
    ):
        result = run("label", *args)
        assert (result.exit_code, says in result.output) == (2, True), (args, result.output)
    table, _ = files_of("pairs", tmp_path)
    result = run("label", *table, "--pairs", "--store", store)
    assert "labels of the kind tokens" in result.output


def test_ten_answers_in_a_terminal_cluster_a_table(tmp_path):
    (table,), how = files_of("pairs", tmp_path)
    project = read_project([table], how)
    names = {tuple(item["fields"].values()): k // 2 for k, item in enumerate(project.items)}
    # which answers are right is seen from the questions, so they are asked for one after another
    store = f"{table}.labels.sqlite"
    for _ in range(10):
        service = open_service(project, Store(store))
        while service.trainer.now.version != service.store.version:
            service.trainer.step()
        item = service.next("terminal-ana", "ana")["item"]
        same = names[tuple(item["a"].values())] == names[tuple(item["b"].values())]
        service.store.close()
        key = "y" if same else "n"
        args = ("dedupe", table, "--ask", "--terminal", "--annotator", "ana")
        shown = run(*args, "--output", tmp_path / "out.csv", "--model", tmp_path / "m.accord", stdin=f"{key}\nf\n")
        assert shown.exit_code == 0, shown.output
    assert "10 clusters" in shown.output
    rows = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert [row[0] for row in rows] == [str(k // 2) for k in range(20)]
    again = ok("dedupe", "apply", tmp_path / "m.accord", table, "--quiet")
    assert again == (tmp_path / "out.csv").read_text()
    shown = run("dedupe", table, "--ask", "--terminal", "--annotator", "ana", stdin="z\ns\nf\n")
    assert "Taken back" in shown.output
