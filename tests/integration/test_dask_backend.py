"""Experiments and tuning spread over a Dask cluster by `joblib.parallel_config(backend="dask")`."""

import functools
import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from accord import Deduplicator
from accord.datasets.many_people import many_people
from accord.dedupe import big_tables, disk_index
from accord.evaluation import draw, make_tasks, run_experiment, token_error, tune

distributed = pytest.importorskip("distributed", reason="needs accord-ml[dask]")


def load_blobs():
    rng = np.random.default_rng(7)
    y = rng.integers(3, size=120)
    return rng.normal(size=(120, 4)) + y[:, None], [f"c{v}" for v in y]


def worker():
    """Who runs this: the name of a Dask worker, or the process."""
    try:
        return str(distributed.get_worker().name)
    except ValueError:
        return str(os.getpid())


def classify(folder, task, data):
    """Fit and score; leaves a file named after the worker that did it."""
    (folder / worker()).touch()
    X, Y = data
    parts = draw(Y, task.setting["n_labeled"], n_holdout=40, rng=task.repetition_seed)
    inputs, outputs = parts.training(X, Y)
    test_inputs, test_outputs = parts.test(X, Y)
    model = LogisticRegression(C=task.setting["C"], random_state=task.seed).fit(inputs, outputs)
    time.sleep(0.05)  # long enough for both workers to get some
    return {"token_error": token_error(test_outputs, model.predict(test_inputs))}


# Workers in processes of their own take eight seconds to start; the protocol is the same in threads.
@pytest.fixture(scope="module", params=["threads", pytest.param("processes", marks=pytest.mark.long)])
def client(request, tmp_path_factory):
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=request.param == "processes",
            host="127.0.0.1",
            protocol="tcp",
            dashboard_address=None,
            local_directory=str(tmp_path_factory.mktemp("dask")),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        yield client


def test_experiment_on_two_workers_gives_the_same_results(client, tmp_path):
    tasks = make_tasks("toy", ["lr"], {"n_labeled": [6, 20], "C": [0.1, 10.0]}, repetitions=4)
    local, remote = tmp_path / "local", tmp_path / "remote"
    local.mkdir()
    remote.mkdir()
    expected = run_experiment(tasks, functools.partial(classify, local), load=load_blobs)
    path = tmp_path / "dask.jsonl"
    with joblib.parallel_config(backend="dask"):
        results = run_experiment(tasks, functools.partial(classify, remote), path, load=load_blobs)

    def figures(r):
        return [{name: value for name, value in row.items() if name != "seconds"} for row in r.rows]

    assert figures(results) == figures(expected)
    assert len(path.read_text().splitlines()) == 1 + len(tasks)
    workers = {str(one["name"]) for one in client.scheduler_info()["workers"].values()}
    assert len(workers) == 2
    assert {p.name for p in remote.iterdir()} == workers
    assert {p.name for p in local.iterdir()} == {str(os.getpid())}


def test_tuning_on_two_workers_gives_the_same_table(client):
    X, Y = load_blobs()
    grid = {"C": [0.01, 1.0, 100.0]}
    expected = tune(LogisticRegression(), grid, X, Y, n_repeats=2)
    with joblib.parallel_config(backend="dask"):
        assert tune(LogisticRegression(), grid, X, Y, n_repeats=2).table == expected.table


@pytest.fixture(scope="module")
def people():
    """Records and a model of them."""
    records, ids = next(many_people(150, random_state=1))
    kinds = dict.fromkeys(("name", "street", "city"), "text")
    fields = {**kinds, "born": "date", "zip": "category", "phone": "number"}
    return records, Deduplicator(fields, calibrate=False).fit(records, ids)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(big_tables, "_ROWS", 20)
    monkeypatch.setattr(disk_index, "_PART", 400)


def test_a_big_table_is_searched_and_compared_by_both_workers(client, people, small_blocks, tmp_path):
    records, model = people
    expected = model.predict(records)
    # the blocks of threads, and of workers
    assert model.predict_chunks([records[:90], records[90:]], tmp_path / "local").tolist() == expected
    with joblib.parallel_config(backend="dask"), distributed.get_task_stream(client) as done:
        found = model.predict_chunks([records[:90], records[90:]], tmp_path / "remote", keep=True)
    assert found.tolist() == expected
    assert len(list((tmp_path / "remote").glob("scored-*"))) > 4
    assert not list((tmp_path / "remote").glob("unfinished-*"))
    assert len({one["worker"] for one in done.data}) == 2


@pytest.mark.long
def test_a_worker_that_is_killed_changes_nothing(people, small_blocks, tmp_path):
    records, model = people
    folder = tmp_path / "w"
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            protocol="tcp",
            dashboard_address=None,
            local_directory=str(tmp_path / "dask"),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        one = next(iter(client.run(os.getpid).values()))
        killed = []

        def kill():
            while not list(folder.glob("near-*")):
                time.sleep(0.001)
            os.kill(one, signal.SIGKILL)
            killed.append(one)

        thread = threading.Thread(target=kill)
        thread.start()
        with joblib.parallel_config(backend="dask"):
            found = model.predict_chunks([records], folder)
        thread.join()
    assert killed
    assert found.tolist() == model.predict(records)


@pytest.mark.long
def test_batch_prediction_on_two_workers_gives_the_same_outputs(client):
    from accord import Sequence, StructuredPerceptron
    from accord.datasets import embedded_ner

    X, Y = embedded_ner(700, random_state=0)
    model = StructuredPerceptron(Sequence(constraints="iob2"), max_iter=2, random_state=0).fit(X[:60], Y[:60])
    expected = model.predict(X)
    with joblib.parallel_config(backend="dask"):
        assert list(model.predict(X)) == list(expected)
