"""A person at the page: Chromium is driven through a whole session of each kind, over kill -9 and reloads."""

import signal

import pytest
from docs import looks
from label_server import Server
from labeling_cases import files_of, project_of, right_answer

from accord.labeling.formats.files import read_labels
from accord.labeling.live.kinds import live_model
from accord.labeling.project import KINDS
from accord.labeling.store import Store

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(looks.CHROMIUM is None, reason="there is no Chromium (Debian's package chromium)"),
]
OPTIONS = {
    "tokens": ["--labels", "PER,LOC", "--tokenizer", "blanks"],
    "classes": ["--labels", "good,bad"],
    "numbers": ["--task", "numbers"],
    "trees": ["--task", "trees"],
    "pairs": ["--pairs"],
}
FORMS = {"tokens": "conll", "classes": "csv", "numbers": "csv", "trees": "trees", "pairs": "csv"}


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=looks.CHROMIUM, args=looks.FLAGS, timeout=60_000)
        yield chromium
        chromium.close()


sync_api.expect.set_options(timeout=60_000)  # the machine may be busy, or kernels be compiled


def key_of(page):
    return page.locator("#question").get_attribute("data-key")


def answer(page, project):
    """Answer by keyboard alone; what was answered."""
    key = key_of(page)
    value = None
    if project.kind == "tokens":
        value = right_answer(project, key)
        page.keyboard.press("Home")
        page.keyboard.press("Shift+End")
        page.keyboard.press("0")
        for t, label in enumerate(value):
            if label.startswith("B-"):
                length = next((k for k in range(t + 1, len(value)) if value[k][:2] != "I-"), len(value)) - t
                for press in ("Home", *["ArrowRight"] * t, *["Shift+ArrowRight"] * (length - 1)):
                    page.keyboard.press(press)
                page.keyboard.press(str(1 + project.labels.index(label[2:])))
        page.keyboard.press("Enter")
    elif project.kind == "classes":
        value = right_answer(project, key)
        shown = page.locator(".candidates button span:nth-of-type(1)").all_inner_texts()
        page.keyboard.press(str(1 + shown.index(value)))
    elif project.kind == "pairs":
        value = right_answer(project, key)
        page.keyboard.press("y" if value == "same" else "n")
    elif project.kind == "numbers":
        value = right_answer(project, key)
        page.locator(".number input").fill(str(value))
        page.keyboard.press("Enter")
    else:
        page.keyboard.press("1")
        value = page.locator(".choice.on svg").get_attribute("aria-label")
        page.keyboard.press("Enter")
    return key, value


def answered(page, project):
    """Answer, and wait until the next question is there."""
    key, value = answer(page, project)
    sync_api.expect(page.locator("#question")).not_to_have_attribute("data-key", key)
    return key, value


@pytest.mark.parametrize("kind", KINDS)
def test_a_session(kind, browser, tmp_path):
    files, _ = files_of(kind, tmp_path)
    project, _ = project_of(kind, tmp_path)
    store = tmp_path / "labels.sqlite"
    args = (*files, *OPTIONS[kind], "--store", store)
    server = Server(*args, "--port", 0)
    errors, said = [], {}
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server.link)
    page.wait_for_selector("#question > *")
    assert "token" not in page.url  # it is not left in the history
    try:
        for _ in range(3):
            key, value = answered(page, project)
            said[key] = value
        assert Store(store).answers().keys() >= said.keys()
        for view in ("Label", "History", "Conflicts", "Files", "Help") if kind == "tokens" else ("Label",):
            page.get_by_role("button", name=view, exact=True).click()
            assert list(looks.faults(page)) == []
        page.get_by_role("button", name="Label", exact=True).click()
        page.locator("#question").focus()
        page.keyboard.press("Escape")  # out of an input, if there is one
        page.keyboard.press("z")
        sync_api.expect(page.locator("#question")).to_have_attribute("data-key", key)
        assert key not in Store(store).truth()
        said[key] = answered(page, project)[1]
        # a reload shows the same question
        now = key_of(page)
        page.reload()
        page.wait_for_selector("#question > *")
        assert key_of(page) == now
        # another window is asked something else
        other = context.new_page()
        other.goto(page.url)
        other.wait_for_selector("#question > *")
        assert key_of(other) not in (now, "", *said)
        other.close()
        page.bring_to_front()
        # kill -9, answer, start again: the answer arrives, and the page goes on by itself
        server.kill()
        page.locator("#question").focus()
        key, value = answer(page, project)
        sync_api.expect(page.locator("#away")).to_contain_text("kept here")
        said[key] = value
        server = Server(*args, "--port", server.port)
        sync_api.expect(page.locator("#question")).not_to_have_attribute("data-key", key)
        sync_api.expect(page.locator("#away")).to_be_hidden()
        truth = Store(store).truth()
        assert {key: truth[key] for key in said} == said
        # export, and learn from it
        page.get_by_role("button", name="Files").click()
        with page.expect_download() as download:
            page.locator(f"#exports a[href*='format={FORMS[kind]}']").click()
        data = download.value.path().read_bytes()
        back, unknown = read_labels(project, data, FORMS[kind])
        assert (back, unknown) == (truth, 0)
        live = live_model(project)
        if len(set(map(str, truth.values()))) > 1:
            one, same = live.learn(truth), live.learn(back)
            for some in live.candidates()[:10]:
                assert one.propose(some) == same.propose(some)
        assert errors == []
    finally:
        context.close()
        server.kill(signal.SIGTERM)


def test_mouse_unsure_tokens_new_labels_and_scripts_from_right_to_left(browser, tmp_path):
    (tmp_path / "text.txt").write_text("وصل محمد علي إلى القاهرة <b>اليوم</b>\n")
    server = Server(tmp_path / "text.txt", "--labels", "PER", "--store", tmp_path / "s.sqlite", "--port", 0)
    context = browser.new_context(color_scheme="dark", viewport={"width": 390, "height": 844})
    page = context.new_page()
    try:
        page.goto(server.link)
        page.wait_for_selector(".tok")
        box = page.locator(".sentence")
        assert box.get_attribute("dir") == "rtl"
        assert "<b>" in box.inner_text()  # text, never HTML
        assert list(looks.faults(page)) == []
        ends = [page.locator(f"#t{t}").bounding_box() for t in (1, 2)]
        first, second = ([one["x"] + one["width"] / 2, one["y"] + one["height"] / 2] for one in ends)
        page.mouse.move(*first)
        page.mouse.down()
        page.mouse.move(*second, steps=4)
        page.mouse.up()
        page.keyboard.press("1")
        assert page.locator(".span").inner_text().startswith("محمد علي")
        page.keyboard.press("ArrowLeft")  # onwards, in this script
        page.keyboard.press("u")
        page.locator(".key.add input").fill("LOC")
        page.keyboard.press("Enter")
        sync_api.expect(page.locator("#keys")).to_contain_text("LOC")
        page.keyboard.press("2")
        page.locator("#accept").click()
        sync_api.expect(page.locator("#question")).to_contain_text("nothing left")
        ((_, value),) = Store(tmp_path / "s.sqlite").truth().items()
        assert value[:6] == ["O", "B-PER", "I-PER", "O", None, "B-LOC"]
        # every control has a name
        unnamed = page.evaluate(
            "[...document.querySelectorAll('button, input, select, a')].filter(e => !(e.innerText || e.ariaLabel || "
            "(e.labels && e.labels.length) || e.textContent)).length"
        )
        assert unnamed == 0
    finally:
        context.close()
        server.kill(signal.SIGTERM)


def test_who_has_no_labels_yet_is_told_to_name_one_and_finds_the_way_out(browser, tmp_path):
    (tmp_path / "text.txt").write_text("Maria works in Geneva .\nTom came .\n")
    server = Server(tmp_path / "text.txt", "--store", tmp_path / "s.sqlite", "--port", 0)
    context = browser.new_context()
    page = context.new_page()
    try:
        page.goto(server.link)
        page.wait_for_selector(".tok")
        key, told = key_of(page), page.locator("#saved")
        assert "Which words are you looking for?" in page.locator("#how").inner_text()
        page.keyboard.press("Enter")  # a sentence in which nothing was looked for is no answer
        sync_api.expect(told).to_have_text("Name a label first.")
        assert key_of(page) == key
        page.keyboard.press("Home")
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("+")
        page.keyboard.type("PER")
        page.keyboard.press("Enter")  # what was selected is labeled with it
        sync_api.expect(page.locator(".span small")).to_have_text("PER")
        sync_api.expect(page.locator("#question")).to_be_focused()
        page.keyboard.press("?")
        sync_api.expect(page.locator("#view-help")).to_be_visible()
        page.keyboard.press("Escape")
        sync_api.expect(page.locator("#view-help")).to_be_hidden()
        for _ in range(2):
            page.locator("#question").focus()
            page.keyboard.press("Enter")
            sync_api.expect(page.locator("#question")).not_to_have_attribute("data-key", key)
            key = key_of(page)
        assert not page.locator("#skip").is_visible()  # nothing is left
        page.locator("#question").get_by_role("button", name="Take your labels with you").click()
        sync_api.expect(page.locator("#then")).to_contain_text("accord train labels.conll")
        assert len(Store(tmp_path / "s.sqlite").truth()) == 2
    finally:
        context.close()
        server.kill(signal.SIGTERM)


def test_classes_are_named_on_the_page_and_each_is_shown_once(browser, tmp_path):
    (tmp_path / "posts.csv").write_text("text\n" + "".join(f"post {k}\n" for k in range(3)))
    server = Server(tmp_path / "posts.csv", "--store", tmp_path / "s.sqlite", "--port", 0)
    context = browser.new_context()
    page = context.new_page()
    try:
        page.goto(server.link)
        page.wait_for_selector(".text")
        key = key_of(page)
        page.keyboard.press("Enter")
        sync_api.expect(page.locator("#saved")).to_have_text("Name a label first.")
        for k, label in enumerate(("sport", "space")):
            page.keyboard.press("+")
            page.keyboard.type(label)
            page.keyboard.press("Enter")
            sync_api.expect(page.locator(".candidates button")).to_have_count(k + 1)
            sync_api.expect(page.locator(".candidates [aria-checked=true]")).to_contain_text(label)
        assert page.get_by_text("sport", exact=True).count() == 1 + page.locator("#counts").get_by_text("sport").count()
        page.keyboard.press("1")
        sync_api.expect(page.locator("#question")).not_to_have_attribute("data-key", key)
        assert Store(tmp_path / "s.sqlite").truth() == {key: "sport"}
    finally:
        context.close()
        server.kill(signal.SIGTERM)


def test_on_a_phone_labels_stay_in_reach_below_a_long_sentence(browser, tmp_path):
    (tmp_path / "text.txt").write_text(" ".join(f"word{k}" for k in range(300)) + "\n")
    server = Server(tmp_path / "text.txt", "--labels", "PER,LOC", "--store", tmp_path / "s.sqlite", "--port", 0)
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    try:
        page.goto(server.link)
        page.wait_for_selector(".tok")
        assert "Tap a word" in page.locator("#how").inner_text()
        for token in ("#t0", "#t299"):
            page.locator(token).scroll_into_view_if_needed()
            label, accept = (page.locator(one).bounding_box() for one in ("#keys button >> nth=0", "#accept"))
            assert 0 <= label["y"] < accept["y"]
            assert accept["y"] + accept["height"] <= 844
            page.locator(token).tap()
            page.locator("#keys button").first.tap()
        assert page.locator(".span small").all_inner_texts() == ["PER", "PER"]
    finally:
        context.close()
        server.kill(signal.SIGTERM)


def test_clusters_are_merged_and_split_by_keys_and_by_mouse(browser, tmp_path):
    names = ["Ann Lee", "A. Lee", "Anne Lee", "Ann Leigh", "Bob Kay", "B. Kay", "Bobby Kay"]
    (tmp_path / "people.csv").write_text("name,town\n" + "".join(f"{name},Rome\n" for name in names))
    path = tmp_path / "s.sqlite"
    server = Server(tmp_path / "people.csv", "--pairs", "--store", path, "--port", 0)
    context = browser.new_context(color_scheme="dark", viewport={"width": 390, "height": 844})
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    try:
        page.goto(server.link)
        page.wait_for_selector(".pair")
        page.get_by_role("button", name="Clusters").click()
        saved, records = page.locator("#group-saved"), page.locator("#group .record")
        records.first.wait_for()
        n = records.count()
        assert 3 <= n <= len(names)
        assert list(looks.faults(page)) == []
        shown = page.locator("#group").inner_text()
        for press in ("m", "ArrowDown", "2", "Enter"):  # all the same, but for the second one
            page.keyboard.press(press)
        sync_api.expect(saved).to_contain_text("saved")
        said = list(Store(path).truth().values())
        assert (said.count("different"), said.count("same")) == (n - 1, (n - 1) * (n - 2) // 2)
        page.keyboard.press("z")
        sync_api.expect(saved).to_have_text("taken back")
        assert Store(path).truth() == {}
        assert page.locator("#group .record").count() == n
        page.keyboard.press("x")
        records.nth(1).locator(".chip").first.click()  # the second one is as the first, by mouse
        page.locator("#group-accept").click()
        sync_api.expect(saved).to_contain_text("saved")
        said = list(Store(path).truth().values())
        assert said.count("same") == 1
        assert len(said) == n * (n - 1) // 2
        assert "Lee" in shown
        assert errors == []
    finally:
        context.close()
        server.kill(signal.SIGTERM)
