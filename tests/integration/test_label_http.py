"""The page's server: who gets an answer, what an answer is, and that nothing bad comes of bad requests."""

import json
import re
import threading

import pytest
from labeling_cases import project_of

from accord.labeling import app as application
from accord.labeling.app import create_app
from accord.labeling.service import open_service
from accord.labeling.sessions import Doorkeeper
from accord.labeling.store import Store

starlette = pytest.importorskip("starlette.testclient", reason="the extra accord-ml[label] is not installed")
BASE = "http://127.0.0.1:8040"


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    project, right = project_of("classes", folder)
    service = open_service(project, Store(folder / "labels.sqlite"), overlap=0.0)
    service.trainer.start()
    door = Doorkeeper(service.store)
    yield service, door, create_app(service, door), right
    service.trainer.stop()


@pytest.fixture
def client(classes):
    _, door, app, _ = classes
    visitor = starlette.TestClient(app, base_url=BASE)
    assert visitor.get("/", params={"token": door.invite()}).status_code == 200
    return visitor


def said(client, path, **given):
    response = client.post(path, json={"window": "w1", "annotator": "ana", **given})
    assert response.status_code == 200, response.text
    return response.json()


def test_no_request_without_the_cookie_and_a_link_works_once(classes):
    _, door, app, _ = classes
    stranger = starlette.TestClient(app, base_url=BASE)
    gets = [route.path for route in app.routes if "POST" not in (route.methods or ())]
    assert {"/", "/label.css", "/label.js", "/tokens.js", "/api/state", "/api/export", "/api/events"} <= set(gets)
    paths = [*gets, "/api/export?format=csv", "/api/events?window=w"]
    assert [stranger.get(path).status_code for path in paths] == [401] * len(paths)
    posts = [route.path for route in app.routes if "POST" in (route.methods or ())]
    assert len(posts) >= 10
    assert [stranger.post(path, json={}).status_code for path in posts] == [401] * len(posts)
    for token in ("", "x", "../../etc/passwd", "ü" * 300):
        assert stranger.get("/", params={"token": token}).status_code == 401
    token = door.invite()
    arrived = stranger.get("/", params={"token": token})
    cookie = arrived.headers["set-cookie"]
    assert arrived.status_code == 200
    assert token not in arrived.text
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert stranger.get("/").status_code == 200
    other = starlette.TestClient(app, base_url=BASE)
    assert other.get("/", params={"token": token}).status_code == 401  # used
    other.cookies.set(door.cookie, "guess")
    assert other.get("/api/state").status_code == 401
    # the cookie outlives the program, the link does not
    later = Doorkeeper(door.store)
    later.check_cookie({"cookie": f"{door.cookie}={stranger.cookies[door.cookie]}"})
    assert later.redeem(door.invite()) is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:8040"}, 421),
        ({"host": "127.0.0.1.evil.example:8040"}, 421),
        ({"host": ""}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "http://localhost:8040"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": BASE, "sec-fetch-site": "same-origin"}, 200),
        ({"host": "localhost:8040", "origin": "http://localhost:8040"}, 200),
    ],
)
def test_requests_of_other_pages_and_other_names_are_refused(client, headers, status):
    body = {"window": "w1", "annotator": "ana"}
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    response = client.post("/api/next", json=body, headers={"cookie": cookie, **headers})
    assert response.status_code == status


def test_all_parts_of_the_page_are_served(client):
    seen, left = set(), ["/", "/label.css", "/label.js"]
    while left:
        path = left.pop()
        seen.add(path)
        response = client.get(path)
        assert response.status_code == 200, path
        assert path == "/" or response.headers["content-type"].startswith(("text/css", "text/javascript"))
        named = re.findall(r'^import .* from "\./(\w+\.js)";$', response.text, re.MULTILINE)
        left += [f"/{name}" for name in named if f"/{name}" not in seen]
    assert len(seen) > 10


def test_what_every_answer_says_about_itself(client):
    for path in ("/", "/label.js", "/api/state"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
    page = client.get("/").text
    assert "http://" not in page  # nothing comes from elsewhere
    assert "<script>" not in page


def test_bad_requests_get_a_sentence_and_change_nothing(classes, client):
    service = classes[0]
    before = service.store.version
    key = service.project.keys[0]
    mine = {"window": "w", "annotator": "ana", "key": key}
    bad = [
        ("/api/answer", {**mine, "value": "ugly"}, 400),
        ("/api/answer", {**mine, "key": "../../etc/passwd", "value": "good"}, 400),
        ("/api/answer", {**mine, "annotator": "", "value": "good"}, 400),
        ("/api/answer", {**mine, "annotator": "x" * 100, "value": "good"}, 400),
        ("/api/answer", {**mine, "annotator": "a\u0000", "value": "good"}, 400),
        ("/api/answer", {**mine, "value": "good", "token": 5}, 400),
        ("/api/answer", {**mine, "value": {"a": [1]}}, 400),
        ("/api/answer", {**mine, "window": 3, "value": "good"}, 400),
        ("/api/label", {"label": "x" * 101}, 400),
        ("/api/label", {"label": None}, 400),
        ("/api/item", {**mine, "key": "none"}, 400),
        ("/api/decide", {**mine, "value": 7}, 400),
    ]
    for path, body, status in bad:
        response = client.post(path, json=body)
        assert (response.status_code, bool(response.json()["detail"])) == (status, True), (path, body)
    raw = [
        (b"{", "application/json", 400), (b"[]", "application/json", 400), (b"[" * 100_000, "application/json", 400),
        (b"{}", "text/plain", 415), (b"x" * (application.MOST_BYTES + 1), "application/json", 413),
    ]  # fmt: skip
    for body, kind, status in raw:
        assert client.post("/api/next", content=body, headers={"content-type": kind}).status_code == status
    for form in ("exe", "../../x", "conll"):
        assert client.get("/api/export", params={"format": form}).status_code == 400
        sent = client.post(
            "/api/import", params={"format": form, "annotator": "a"}, content=b"x",
            headers={"content-type": "application/octet-stream"},
        )  # fmt: skip
        assert sent.status_code == 400
    assert client.get("/page/label.html").status_code == 404
    assert client.get("/../pyproject.toml").status_code == 404
    assert service.store.version == before


def test_uploads_are_bounded(client, monkeypatch):
    monkeypatch.setattr(application, "MOST_UPLOAD", 1000)
    header = {"content-type": "application/octet-stream"}

    def pieces():
        for _ in range(50):
            yield b"x" * 100

    query = {"format": "csv", "annotator": "ana"}
    assert client.post("/api/import", params=query, content=b"x" * 1001, headers=header).status_code == 413
    assert client.post("/api/import", params=query, content=pieces(), headers=header).status_code == 413


def test_a_session_with_undo_export_import_and_two_windows(classes, client):
    service, _, app, right = classes
    first = said(client, "/api/next")
    second = said(client, "/api/next", window="w2", annotator="bob")
    assert first["key"] != second["key"]
    assert said(client, "/api/next")["key"] == first["key"]  # a reload
    found = first
    for number in range(10):
        key, token = found["key"], f"token-of-{number}"
        done = said(client, "/api/answer", key=key, value=right(key), token=token, seconds=1.5)
        again = said(client, "/api/answer", window="w9", key=key, value="bad", token=token)
        assert again["done"] == done["done"]  # a repetition changes nothing
        assert service.store.truth()[key] == right(key)
        found = done["next"]
        assert found["key"] not in (key, second["key"])
    back = said(client, "/api/undo")
    assert (back["undone"], back["key"], back["before"]) == ("answer", key, right(key))
    assert key not in service.store.truth()
    said(client, "/api/answer", key=key, value=right(key))
    service.trainer.wait(service.store.version)
    told = client.get("/api/state", params={"annotator": "ana"}).json()
    assert (told["answered"], told["mine"]) == (10, 10)
    assert told["model"].startswith("logistic regression")
    assert sum(told["counts"].values()) == 10
    assert len(said(client, "/api/history")) >= 12
    exported = client.get("/api/export", params={"format": "csv"})
    assert exported.headers["content-disposition"] == 'attachment; filename="labels.csv"'
    assert exported.text.splitlines()[0] == "text,label"
    taken = client.post(
        "/api/import", params={"format": "csv", "annotator": "cy"}, content=exported.content,
        headers={"content-type": "application/octet-stream", "x-file-name": "../../../tmp/evil"},
    )  # fmt: skip
    assert taken.json() == {"added": 10, "known": 0, "unknown": 0}
    wrong = "good" if right(key) == "bad" else "bad"
    said(client, "/api/answer", key=key, value=wrong, annotator="bob", window="w2")
    (conflict,) = said(client, "/api/conflicts")
    assert conflict["key"] == key
    pairs = {tuple(one["annotators"]): one for one in client.get("/api/state").json()["agreement"]}
    assert pairs["ana", "cy"]["kappa"] == 1.0
    said(client, "/api/decide", key=key, value=wrong)
    assert service.store.truth()[key] == wrong
    assert said(client, "/api/conflicts") == []
    assert said(client, "/api/label", label="so so")["labels"][-1] == "so so"
    visitor = starlette.TestClient(app, base_url=BASE)
    assert visitor.get("/", params={"token": said(client, "/api/invite")["token"]}).status_code == 200


def test_five_annotators_at_once(classes):
    service, door, app, right = classes
    got, errors = [], []

    def label(name):
        try:
            with starlette.TestClient(app, base_url=BASE) as visitor:
                visitor.get("/", params={"token": door.invite()})
                found = said(visitor, "/api/next", window=name, annotator=name)
                while found["key"] is not None:
                    got.append(found["key"])
                    mine = {"window": name, "annotator": name, "key": found["key"], "value": right(found["key"])}
                    found = said(visitor, "/api/answer", **mine)["next"]
        except Exception as error:
            errors.append(error)

    for window in ("w1", "w2", "w9"):
        service.store.release(window)
    known = set(service.store.truth())
    threads = [threading.Thread(target=label, args=(f"a{k}",)) for k in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(got) == sorted(set(service.project.keys) - known)  # each item once, none left


def test_news(classes, client):
    service = classes[0]
    version = service.store.version

    class Left:
        async def is_disconnected(self):
            return False

    import asyncio

    async def some():
        stream = application._news(service, "w1", Left())
        told = [await anext(stream)]
        while told[-1] != ": alive\n\n":
            told.append(await anext(stream))
        return told

    news, *_ = asyncio.run(asyncio.wait_for(some(), 20))
    assert news.startswith("event: news\ndata: ")
    assert json.loads(news.split("data: ")[1])["labels"] == service.project.labels
    assert service.store.version == version
