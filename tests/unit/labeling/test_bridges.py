"""A backend of Label Studio, asked as Label Studio asks; the real one is in tests/bridges."""

import pytest

from accord import InputError
from accord.labeling.bridges.label_config import project_name, read_label_config
from accord.labeling.bridges.studio import Studio

starlette = pytest.importorskip("starlette.testclient", reason="the extra accord-ml[label] is not installed")
from accord.labeling.bridges.studio_app import create_app  # noqa: E402

TOKEN = "a-token-of-some-length"
NER = (
    '<View><Labels name="what" toName="t"><Label value="PER"/><Label value="Big place" alias="LOC"/></Labels>'
    '<Text name="t" value="$body"/></View>'
)
CHOICES = (
    '<View><Header value="?"/><Text name="t" value="$body"/><Choices name="mood" toName="t" choice="single-radio">'
    '<Choice value="so good"/><Choice value="bad"/></Choices></View>'
)
MADE = {"id": 7, "created_at": "2023-11-14T22:13:20.25Z"}


@pytest.fixture
def studio(tmp_path):
    made = Studio(tmp_path / "folder")
    yield made
    made.close()


def asked(config, **more):
    return {"project": "7.1700000000", "label_config": config, **more}


def event(config, number, text, result, action="ANNOTATION_CREATED", **more):
    return {"action": action, "project": {**MADE, "label_config": config}, "task": {"id": 1, "data": {"body": text}},
            "annotation": {"id": number, "result": result, **more}}  # fmt: skip


def chosen(label):
    return [{"from_name": "mood", "to_name": "t", "type": "choices", "value": {"choices": [label]}}]


def spanned(*spans):
    return [
        {"from_name": "what", "to_name": "t", "type": "labels", "value": {"start": a, "end": b, "labels": [label]}}
        for a, b, label in spans
    ]


def trained(studio):
    (room,) = studio._rooms.values()
    room.service.trainer.wait(room.service.store.version)
    return room


def test_classes_are_learned_forgotten_and_remembered(studio, tmp_path):
    assert studio.setup({"project": "7.1700000000", "schema": CHOICES}) == {"model_version": "accord-0"}
    tasks = [{"id": 5, "data": {"body": "a fine day"}}, {"id": 6, "data": {"body": "what a mess"}}]
    assert studio.predict(asked(CHOICES, tasks=tasks))["results"] == []  # no model, no guess
    texts = [("fine", "so good"), ("a mess", "bad"), ("fine day", "so good"), ("such a mess", "bad")]
    for number, (text, label) in enumerate(texts):
        assert studio.event(event(CHOICES, number, text, chosen(label)))["learned"] == 1
        assert studio.event(event(CHOICES, number, text, chosen(label)))["learned"] == 0  # sent twice
    two = [{"id": k, "task": 20 + k, "result": chosen(label)} for k, (_, label) in enumerate(texts[:2])]
    about = [{"id": 20 + k, "data": {"body": texts[k][0]}} for k in (1, 0)]
    both = {**event(CHOICES, 0, "", []), "action": "ANNOTATIONS_CREATED", "annotation": two, "task": about}
    assert studio.event(both)["learned"] == 0  # known
    cancelled = event(CHOICES, 9, "fine", chosen("bad"), was_cancelled=True)
    others = event(CHOICES, 10, "fine", [{**chosen("bad")[0], "from_name": "other"}])
    assert studio.event(cancelled)["learned"] == studio.event(others)["learned"] == 0
    trained(studio)
    found = studio.predict(asked(CHOICES, tasks=tasks))
    (first,), (second,) = (one["result"] for one in found["results"])
    assert (first["value"], second["value"]) == ({"choices": ["so good"]}, {"choices": ["bad"]})
    assert (first["from_name"], first["to_name"], first["type"]) == ("mood", "t", "choices")
    assert 0.5 < found["results"][0]["score"] == first["score"] <= 1.0
    # annotations that change, and that are deleted
    for number, (text, label) in enumerate(texts):
        other = "bad" if label == "so good" else "so good"
        studio.event(event(CHOICES, number, text, chosen(other), "ANNOTATION_UPDATED"))
    room = trained(studio)
    turned = studio.predict(asked(CHOICES, tasks=tasks))
    assert turned["results"][0]["result"][0]["value"] == {"choices": ["bad"]}
    assert turned["model_version"] != found["model_version"]
    gone = {"action": "ANNOTATIONS_DELETED", "project": {**MADE, "label_config": CHOICES}, "annotations": [{"id": 0}]}
    assert (studio.event(gone)["learned"], studio.event(gone)["learned"]) == (1, 0)
    assert len(room.service.store.truth()) == 3
    told = trained(studio).told()
    assert (told["annotated"], told["labels"], told["trouble"]) == (3, ("so good", "bad"), "")
    # another run goes on with it
    again = Studio(tmp_path / "folder")
    assert again.token() == studio.token()
    assert again.predict(asked(CHOICES, tasks=tasks))["results"] == [
        {**one, "model_version": again.setup({"project": "7.1700000000", "schema": CHOICES})["model_version"]}
        for one in studio.predict(asked(CHOICES, tasks=tasks))["results"]
    ]
    again.close()


def test_spans_are_learned_and_predicted_with_scores(studio):
    names, places = ("Ann Lee", "Bob", "Cy Orr"), ("Rome", "Oslo", "Bonn")
    number = 0
    for name in names:
        for place in places:
            text, number = f"{name} went to {place} 😀 today.", number + 1
            at = text.index(place)
            result = spanned((0, len(name), "PER"), (at, at + len(place), "LOC"))
            assert studio.event(event(NER, number, text, result))["learned"] == 1
    trained(studio)
    text = "Bob went to Rome 😀 today."
    found = studio.predict(asked(NER, tasks=[{"data": {"body": text}}, {"data": {"body": ""}}]))["results"]
    spans = [(one["value"]["text"], one["value"]["labels"], one["type"]) for one in found[0]["result"]]
    assert spans == [("Bob", ["PER"], "labels"), ("Rome", ["LOC"], "labels")]
    assert all(text[one["value"]["start"] : one["value"]["end"]] == one["value"]["text"] for one in found[0]["result"])
    assert all(0.0 < one["score"] <= 1.0 for one in (*found, *found[0]["result"]))
    assert found[1]["result"] == []
    more = NER.replace("</Labels>", '<Label value="ORG"/></Labels>')
    studio.setup({"project": "7.1700000000", "schema": more})
    assert trained(studio).service.project.labels == ["PER", "LOC", "ORG"]
    # another kind of labels in the same project begins anew
    assert studio.setup({"project": "7.1700000000", "schema": CHOICES}) == {"model_version": "accord-0"}


def test_annotations_from_before_are_fetched_when_a_training_starts(studio, monkeypatch):
    tasks = [{"data": {"body": text}, "annotations": [{"id": k, "result": chosen(label)}]}
             for k, (text, label) in enumerate([("fine", "so good"), ("a mess", "bad")])]  # fmt: skip
    start = {"action": "START_TRAINING", "project": {**MADE, "label_config": CHOICES}}
    assert studio.event(start)["learned"] == 0  # it was not said where Label Studio is
    paths = []
    studio.url, studio._key = "http://localhost:1/", "a.b.c"

    def reply(path, headers, body=None):
        paths.append((path, headers, body))
        return tasks if body is None else {"access": "x"}

    monkeypatch.setattr(studio, "_ask", reply)
    assert studio.event(start)["learned"] == 2
    assert paths == [
        ("/api/token/refresh", {}, {"refresh": "a.b.c"}),
        ("/api/projects/7/export?exportType=JSON", {"Authorization": "Bearer x"}, None),
    ]
    monkeypatch.undo()
    with pytest.raises(InputError, match="cannot be fetched from http://localhost:1/"):
        studio.event(start)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (None, "label_config is missing"),
        ("<View><Text", "is no XML"),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><View>&b;</View>', "document type"),
        ('<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><View>&c;</View>', "document type"),
        ("<View>&unknown;</View>", "is no XML"),
        ("<View/>", "has no <Labels>"),
        (CHOICES.replace("single-radio", "multiple"), "of which one is chosen"),
        (CHOICES.replace("$body", "a fixed text"), "a field of"),
        (CHOICES.replace('value="$body"', 'value="$url" valueType="url"'), "a field of"),
        (NER.replace('toName="t"', 'toName="other"'), "it has .*Labels"),
        ('<View><Text name="t" value="$b"/><Choices name="c" toName="t"/></View>', "0 labels"),
        ("<View>" + " " * (1 << 20) + "</View>", "characters; expected at most"),
    ],
)
def test_configurations_that_are_refused(config, message):
    with pytest.raises(InputError, match=message):
        read_label_config(config)


def test_names_of_projects_are_numbers():
    assert project_name("7.1700000000") == project_name(MADE) == "7.1700000000"
    for bad in ("../../x", "7", "7.x", "-7.1", "", None, 7, "٣.1", "1" * 20 + ".1", {"id": "../x"}, {"id": 3}):
        with pytest.raises(InputError, match="project is"):
            project_name(bad)


def test_only_who_has_the_address_gets_an_answer(studio):
    client = starlette.TestClient(create_app(studio, {"127.0.0.1"}, TOKEN), base_url="http://127.0.0.1:9090")
    body = {"project": "7.1700000000", "schema": CHOICES}
    assert client.get(f"/{TOKEN}/health").json()["status"] == "UP"
    assert client.post(f"/{TOKEN}/setup", json=body).json() == {"model_version": "accord-0"}
    for path in ("/health", "/setup", "/x/health", f"/{TOKEN[:-1]}/setup", f"/{TOKEN}x/predict", "/ü/webhook"):
        response = client.get(path) if path.endswith("health") else client.post(path, json=body)
        assert response.status_code in (401, 404), path
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert client.post(f"/{TOKEN}/setup", json=body, headers=headers).status_code in (421, 403)
    bad = [
        ("setup", {}), ("setup", {**body, "project": "../etc/passwd"}), ("setup", {**body, "schema": "<!DOCTYPE a>"}),
        ("predict", asked(CHOICES)), ("predict", asked(CHOICES, tasks={"a": 1})),
        ("webhook", {"action": "ANNOTATION_CREATED"}), ("webhook", event(CHOICES, "x", "a", chosen("bad"))),
        ("webhook", event(CHOICES, 1, 5, chosen("bad"))), ("webhook", event(CHOICES, 1, "a", chosen("ugly"))),
        ("webhook", event(NER, 1, "a", [{"from_name": "what", "type": "labels", "value": {"start": "0"}}])),
    ]  # fmt: skip
    for path, given in bad:
        response = client.post(f"/{TOKEN}/{path}", json=given)
        assert (response.status_code, bool(response.json()["detail"])) == (400, True), (path, given)
    assert client.post(f"/{TOKEN}/webhook", json={"action": "TASKS_CREATED"}).json() == {"learned": 0}
    assert (
        client.post(f"/{TOKEN}/webhook", content=b"{", headers={"content-type": "application/json"}).status_code == 400
    )
    assert client.post(f"/{TOKEN}/webhook", data={"a": 1}).status_code == 415
    assert sorted(path.name for path in studio.folder.iterdir() if path.suffix == ".sqlite") == [
        "project-7.1700000000-classes.sqlite", "project-7.1700000000-tokens.sqlite",
    ]  # fmt: skip
    assert studio.folder.stat().st_mode & 0o077 == 0
