"""Accord beside the real Label Studio, which is started here with SQLite on the loopback interface.

The environment variable LABEL_STUDIO names its program (default: .venv-label-studio/bin/label-studio).
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from accord.datasets import embedded_ner
from accord.labeling.formats.files import read_labels, write_labels
from accord.labeling.formats.spans import spans_of
from accord.labeling.project import Project, text_item, words_item

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("LABEL_STUDIO", str(ROOT / ".venv-label-studio" / "bin" / "label-studio"))
KEY = "0123456789abcdef0123456789abcdef01234567"
SECONDS = 900  # for it to make its tables, on a busy machine
NER = (
    '<View><Labels name="kind" toName="sentence"><Label value="PER"/><Label value="LOC"/></Labels>'
    '<Text name="sentence" value="$text"/></View>'
)
CHOICES = (
    '<View><Text name="review" value="$text"/><Choices name="mood" toName="review" choice="single">'
    '<Choice value="good"/><Choice value="bad"/></Choices></View>'
)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def ended(process):
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)


@pytest.fixture(scope="module")
def label_studio(tmp_path_factory):
    """Its API."""
    folder, port = tmp_path_factory.mktemp("label-studio"), free_port()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DJANGO"))}
    settings = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder), "USE_DEFAULT_BANNED_SUBNETS": "false", "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false", "DJANGO_DB": "sqlite", "WEBHOOK_TIMEOUT": "30",
    }  # fmt: skip
    log = (folder / "log.txt").open("wb")
    process = subprocess.Popen(
        [PROGRAM, "start", "--no-browser", "--port", str(port), "--internal-host", "127.0.0.1", "--data-dir", folder,
         "--username", "ana@example.org", "--password", "a-long-password-17", "--user-token", KEY,
         "--enable-legacy-api-token"],
        env={**kept, **settings}, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    client = httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Token {KEY}"}, timeout=120)
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and process.poll() is None:
            try:
                if client.get("/health").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.5)
        else:
            raise AssertionError((folder / "log.txt").read_text()[-3000:])
        yield client
    finally:
        client.close()
        ended(process)
        log.close()


@pytest.fixture(scope="module")
def backend(label_studio, tmp_path_factory):
    """The address that `accord label-studio` prints."""
    program = [sys.executable, "-c", "from accord.cli import main; main(prog_name='accord')"]
    folder, where = str(tmp_path_factory.mktemp("accord") / "folder"), str(label_studio.base_url)
    process = subprocess.Popen(
        [*program, "label-studio", "--port", "0", "--folder", folder, "--url", where],
        env={**os.environ, "LABEL_STUDIO_API_KEY": KEY}, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        yield next(found.group() for line in process.stderr if (found := re.search(r"http://\S+", line)))
    finally:
        ended(process)
        process.stderr.close()


def asked(client, method, path, **given):
    response = client.request(method, path, **given)
    assert response.status_code < 300, (path, response.status_code, response.text[:2000])
    return response.json() if response.content else None


def project_with(client, config, texts):
    """A project, and its tasks by text."""
    number = asked(client, "POST", "/api/projects", json={"title": "a test", "label_config": config})["id"]
    asked(client, "POST", f"/api/projects/{number}/import", json=[{"text": text} for text in texts])
    tasks = asked(client, "GET", "/api/tasks", params={"project": number, "page_size": 500, "fields": "all"})["tasks"]
    return number, {task["data"]["text"]: task["id"] for task in tasks}


def connect(client, number, address):
    made = asked(client, "POST", "/api/ml", json={"url": address, "project": number, "title": "Accord"})
    found = asked(client, "GET", f"/api/ml/{made['id']}")
    assert found["state"] == "CO", found  # connected
    return made["id"]


def predictions(client, number, task):
    """All predictions of a task, the newest last; a new one is asked for if there is a new model."""
    asked(client, "POST", "/api/dm/actions", params={"id": "retrieve_tasks_predictions", "project": number},
          json={"selectedItems": {"all": False, "included": [task]}})  # fmt: skip
    found = asked(client, "GET", "/api/predictions", params={"task": task, "project": number})
    return sorted(found, key=lambda one: one["id"])


def until(check, seconds=300):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (found := check()) is not None:
            return found
        time.sleep(0.3)
    raise AssertionError("it did not come to this in time")


def told(backend, number):
    projects = httpx.get(f"{backend}/health").json()["projects"]
    return next((one for name, one in projects.items() if name.split(".")[0] == str(number)), None)


def trained(backend, number, n):
    """Until the model has learned from n annotated tasks."""
    return until(lambda: one if (one := told(backend, number)) and one["annotated"] == n
                 and re.search(rf"from {n} ", one["model"] or "") else None)  # fmt: skip


def test_classes(label_studio, backend, tmp_path):
    good, bad = [f"a fine and lovely day {k}" for k in range(4)], [f"what an awful mess {k}" for k in range(4)]
    number, tasks = project_with(label_studio, CHOICES, [*good, *bad])
    connect(label_studio, number, backend)
    assert predictions(label_studio, number, tasks[good[3]]) == []  # there is no model yet
    for text, label in [(good[0], "good"), (bad[0], "bad"), (good[1], "good"), (bad[1], "bad")]:
        result = [{"from_name": "mood", "to_name": "review", "type": "choices", "value": {"choices": [label]}}]
        asked(label_studio, "POST", f"/api/tasks/{tasks[text]}/annotations", json={"result": result})
    trained(backend, number, 4)  # by events alone
    first = predictions(label_studio, number, tasks[good[3]])[-1]
    assert first["result"][0]["value"] == {"choices": ["good"]}
    assert 0.5 < first["score"] <= 1.0
    assert predictions(label_studio, number, tasks[bad[3]])[-1]["result"][0]["value"] == {"choices": ["bad"]}
    # annotations that are changed change the predictions
    exported = asked(label_studio, "GET", f"/api/projects/{number}/export", params={"exportType": "JSON"})
    for task in exported:
        for one in task["annotations"]:
            (result,) = one["result"]
            turned = "bad" if result["value"]["choices"] == ["good"] else "good"
            asked(label_studio, "PATCH", f"/api/annotations/{one['id']}",
                  json={"result": [{**result, "value": {"choices": [turned]}}]})  # fmt: skip

    def changed():
        latest = predictions(label_studio, number, tasks[good[3]])[-1]
        return latest if latest["result"][0]["value"] == {"choices": ["bad"]} else None

    assert until(changed)["model_version"] != first["model_version"]
    # and one that is deleted is forgotten
    asked(label_studio, "DELETE", f"/api/annotations/{exported[0]['annotations'][0]['id']}")
    trained(backend, number, 3)
    # what Label Studio exports is read, and what is written is imported
    project = Project("classes", labels=["good", "bad"])
    for text in (*good, *bad):
        project.add({"text": text})
    data = asked(label_studio, "GET", f"/api/projects/{number}/export", params={"exportType": "JSON"})
    found, unknown = read_labels(project, json.dumps(data).encode(), "label-studio")
    assert (len(found), unknown) == (3, 0)
    truth = {key: "good" if "fine" in project.item(key)["text"] else "bad" for key in project.keys}
    assert_imported(label_studio, CHOICES.replace("mood", "label").replace("review", "text"), project, truth)


def assert_imported(client, config, project, truth):
    """Label Studio takes what is exported here, shows it as annotations, and exports the same again."""
    number = asked(client, "POST", "/api/projects", json={"title": "imported", "label_config": config})["id"]
    written = json.loads(write_labels(project, truth, "label-studio"))
    asked(client, "POST", f"/api/projects/{number}/import", json=written)
    back = asked(client, "GET", f"/api/projects/{number}/export", params={"exportType": "JSON"})
    assert len(back) == len(truth)
    assert read_labels(project, json.dumps(back).encode(), "label-studio") == (truth, 0)


def test_entities(label_studio, backend):
    X, Y = embedded_ner(40, random_state=0)
    kinds = {"PER": "PER"}
    Y = [["O" if y == "O" else f"{y[:2]}{kinds.get(y[2:], 'LOC')}" for y in labels] for labels in Y]
    project = Project("tokens", labels=["PER", "LOC"])
    texts = [" ".join(x) for x in X]
    given = dict(zip(texts, Y))
    number, tasks = project_with(label_studio, NER, dict.fromkeys(texts))
    # annotations from before the connection are learned when a training is started
    n = 0
    for text in list(given)[:30]:
        item = words_item(text.split())
        result = [
            {"from_name": "kind", "to_name": "sentence", "type": "labels",
             "value": {"start": s.start, "end": s.end, "text": text[s.start : s.end], "labels": [s.label]}}
            for s in spans_of(item, given[text], True)
        ]  # fmt: skip
        asked(label_studio, "POST", f"/api/tasks/{tasks[text]}/annotations", json={"result": result})
        n += 1
    backend_id = connect(label_studio, number, backend)
    assert told(backend, number)["annotated"] == 0
    asked(label_studio, "POST", f"/api/ml/{backend_id}/train", json={})
    assert trained(backend, number, n)["trouble"] == ""
    right = total = 0
    for text in list(given)[30:]:
        prediction = predictions(label_studio, number, tasks[text])[-1]
        assert 0.0 < prediction["score"] <= 1.0
        found = {(r["value"]["start"], r["value"]["end"], r["value"]["labels"][0]) for r in prediction["result"]}
        assert all(text[r["value"]["start"] : r["value"]["end"]] == r["value"]["text"] for r in prediction["result"])
        wanted = {(s.start, s.end, s.label) for s in spans_of(words_item(text.split()), given[text], True)}
        right, total = right + len(found & wanted), total + len(found | wanted)
    assert right > 0.6 * total, (right, total)
    # files, both ways; texts with letters beyond the first plane
    odd = "Ana 😀 went to Rome"
    project.add(text_item(odd, [(0, 3), (4, 5), (6, 10), (11, 13), (14, 18)]))
    for text in list(given)[:5]:
        project.add(words_item(text.split()))
    truth = {project.keys[0]: ["B-PER", "O", "O", "O", "B-LOC"]}
    truth |= {key: given[project.item(key)["text"]] for key in project.keys[1:]}
    assert_imported(label_studio, NER.replace("kind", "label").replace('"sentence"', '"text"'), project, truth)
