"""What leaves a site, what a coordinator accepts, and who may speak: Flower's messages without its processes."""

import dataclasses
import re
import sys
import time

import numpy as np
import pytest

import accord
from accord.exceptions import InputError, MissingExtraError, ModelFileError
from accord.federated.engine import QUIET, quiet_environment, require_flower

try:
    require_flower()
except MissingExtraError:
    pytest.skip("needs accord-ml[federated]", allow_module_level=True)

from flower_helpers import CONSTANTS, Problem
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, RecordDict
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects
from flwr.supercore.inflatable.inflatable_utils import inflate_object_from_contents
from flwr.supercore.task_identity import TaskIdentity

from accord.federated import LocalSites, Site, agree
from accord.federated import flower_messages as messages
from accord.federated.flower import FlowerSites, RunSettings, SiteSettings, client_app, lead, read_result, write_app
from accord.federated.flower_node import main
from accord.federated.flower_site import read_private
from accord.persistence import read_model, write_model

LAMBDA = 0.1


class WiredGrid(Grid):
    """A Grid whose nodes answer at once, in this process. Messages travel as the bytes that Flower would send."""

    def __init__(self, apps, registered=None):
        self.apps, self.registered = dict(apps), dict(registered or {})
        self.dead, self.left, self.replies, self.crash_after = set(), [], {}, None
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1

    def set_run(self, run): ...

    @property
    def run(self): ...

    def create_message(self, *args, **kwargs): ...

    def send_and_receive(self, messages, *, timeout=None): ...

    def get_node_ids(self):
        return list(self.apps)

    def get_nodes(self):
        return [NodeInfo(node_id=node, name=self.registered.get(node, "")) for node in self.apps]

    def push_messages(self, messages):
        ids = []
        for message in messages:
            if self.crash_after is not None:
                self.crash_after -= 1
                if self.crash_after < 0:
                    raise ConnectionError("the SuperLink is gone")
            message = travel(message)[0]
            node = message.metadata.dst_node_id
            ids.append(message.metadata.message_id)
            if node in self.dead:
                continue
            context = Context(1, node, {}, RecordDict(), {})
            try:
                reply = self.apps[node](message, context)
            except Exception as error:  # as the engine does
                reply = Message(Error(2, f"{type(error).__name__}: {error}"), reply_to=message)
            reply, sent = travel(reply)
            self.left.append((node, reply, sent))
            self.replies[ids[-1]] = reply
        return ids

    def pull_messages(self, message_ids):
        return [self.replies.pop(key) for key in message_ids if key in self.replies]


def travel(message):
    """A message as it arrives, and the bytes that travelled."""
    contents = {key: found.deflate() for key, found in get_all_nested_objects(message).items()}
    arrived = inflate_object_from_contents(message.object_id, dict(contents))
    arrived.metadata.__dict__["_message_id"] = message.object_id
    return arrived, b"".join(contents.values())


@pytest.fixture
def problem():
    return Problem(["a", "b", "c"])


@pytest.fixture
def apps(problem, tmp_path):
    """Apps of three sites, as nodes 11, 12, 13."""
    problem.write(tmp_path)
    return {11 + v: client_app(settings(tmp_path, name)) for v, name in enumerate(problem.names)}


def settings(folder, name, data=None):
    return SiteSettings(name=name, data=str(folder / f"{data or name}.npz"), **CONSTANTS)


def sites_of(grid, names=("a", "b", "c"), **options):
    return FlowerSites(grid, names, **{"timeout": 0.3, "patience": 0.3, "poll": 0.01, **options})


def check_optimum(agreement, problem, names):
    optimum = problem.optimum(names, LAMBDA)
    assert set(agreement.predictions) == set(names)
    for name in names:
        assert np.allclose(agreement.predictions[name][:, 0], optimum[name], atol=1e-7)


# -- what leaves a site ---------------------------------------------------------------------------------------------
def private_numbers(site, part):
    """Everything a site must keep: labels, features, coefficients, kernel values, its constants."""
    model = site.model
    view = model.views_[0]
    kernel_values = view.values(model.bases_[0], model.bases_[0])
    kept = [part["X"], part["y"], part["unlabeled"], *model.coefficients_, kernel_values, model.etas_, model.gammas_]
    return np.unique(np.concatenate([np.ravel(own) for own in kept]))


def leaks(numbers, sent):
    """Private numbers found among bytes, as doubles, single floats of either order, or text."""
    found = []
    for number in numbers:
        forms = [np.array(number, kind).tobytes() for kind in ("<f8", ">f8", "<f4", ">f4")]
        forms += [repr(float(number)).encode(), f"{number:.6f}".encode()]
        if abs(number) not in (0.0, 1.0) and any(form in sent for form in forms):
            found.append(number)
    return found


def test_only_predictions_and_protocol_fields_leave_a_site(problem, apps, tmp_path):
    grid = WiredGrid(apps)
    outcome = agree(sites_of(grid), LAMBDA)
    assert outcome.converged
    assert len(grid.left) == 3 + 3 * len(outcome.rounds)
    for node, reply, sent in grid.left:
        name = problem.names[node - 11]
        assert reply.has_content()
        if reply.metadata.message_type == messages.JOIN:
            assert dict(reply.content) == {"site": ConfigRecord({"version": 1, "name": name, "rows": 30, "outputs": 1})}
        else:
            assert reply.metadata.message_type == messages.PREDICT
            assert list(reply.content) == ["predictions"]
            assert list(reply.content["predictions"]) == ["values"]
            array = reply.content["predictions"]["values"]
            assert array.numpy().shape == (30, 1)
            assert len(array.data) <= 30 * 8 + 128  # the numbers and NumPy's header: no room for more
        site = settings(tmp_path, name).make()
        assert leaks(private_numbers(site, problem.parts[name]), sent) == []
        assert str(tmp_path).encode() not in sent


def test_predictions_that_leave_are_those_of_the_site(problem, apps):
    grid = WiredGrid(apps)
    part = problem.parts["a"]
    site = Site(part["X"], part["y"], part["unlabeled"], accord.RLSR(**CONSTANTS))
    others = np.random.default_rng(0).normal(size=(2, 30, 1))
    answer = sites_of(grid, ["a"]).ask({"a": others}, 0.3)["a"]
    assert np.array_equal(answer, site.predict(others, 0.3))


def test_the_test_for_leaks_finds_them(problem, tmp_path):
    part = problem.parts["a"]
    site = Site(part["X"], part["y"], part["unlabeled"], accord.RLSR(**CONSTANTS))
    numbers = private_numbers(site, part)
    for number in (part["y"][3], part["X"][0, 1], site.model.coefficients_[0][2, 0]):
        assert leaks(numbers, b"abc" + np.float64(number).tobytes()) == [number]
        assert leaks(numbers, f"y is {number:.6f}!".encode()) == [number]


def test_errors_of_a_site_leave_without_its_data(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1.5,2\n2.5,patient-4711\n3.5,\n")
    grid = WiredGrid({11: client_app(SiteSettings(name="a", data=str(tmp_path / "a.csv")))})
    with pytest.raises(InputError, match="0 of 1 sites joined"):
        sites_of(grid, ["a"])
    (_, reply, sent), *_ = grid.left
    assert "the log of the site says why" in reply.error.reason
    for secret in (b"4711", b"2.5", str(tmp_path).encode()):
        assert secret not in sent


def test_the_model_stays_at_the_site_after_every_round(problem, apps, tmp_path):
    sites = sites_of(WiredGrid(apps))
    others = np.zeros((2, 30, 1))
    for lambda_ in (0.1, 1.0):
        answer = sites.ask({"a": others}, lambda_)["a"]
        kept = accord.load(tmp_path / "a.model.accord")
        assert np.allclose(kept.predict(problem.parts["a"]["unlabeled"]), answer[:, 0])


# -- what a coordinator accepts ---------------------------------------------------------------------------------------
def array_of(values):
    return RecordDict({"predictions": ArrayRecord({"values": Array(np.asarray(values))})})


def forged(shape, data, dtype="float64"):
    array = Array(dtype=dtype, shape=shape, stype="numpy.ndarray", data=data)
    return RecordDict({"predictions": ArrayRecord({"values": array})})


GOOD = np.zeros((30, 1))
GARBAGE = {
    "nan": (array_of(np.where(np.arange(30)[:, None] == 3, np.nan, 0.0)), "1 are not finite"),
    "infinite": (array_of(np.full((30, 1), np.inf)), "30 are not finite"),
    "too short": (array_of(GOOD[:-1]), r"shape \(29, 1\); agreed are \(30, 1\)"),
    "too flat": (array_of(GOOD[:, 0]), r"shape \(30,\)"),
    "text": (array_of(np.full((30, 1), "x")), "not these numbers"),
    "single precision": (array_of(GOOD.astype("f4")), "not these numbers"),
    "no bytes": (forged((30, 1), b""), "cannot be unpacked"),
    "random bytes": (forged((30, 1), bytes(range(200))), "cannot be unpacked"),
    "other shape inside": (forged((30, 1), Array(np.zeros((31, 1))).data), "they announce"),
    "far too many bytes": (forged((30, 1), Array(np.zeros((30, 100))).data), "not these numbers"),
    "two arrays": (RecordDict({"predictions": ArrayRecord({"v": Array(GOOD), "w": Array(GOOD)})}), "of one array"),
    "no record": (RecordDict({"rubbish": ConfigRecord({"a": 1})}), "no record 'predictions'"),
    "other kind of record": (RecordDict({"predictions": ConfigRecord({"values": 1.0})}), "no record 'predictions'"),
    "error": (Error(7, "out of order"), "error 7: out of order"),
}


def sends(name, content):
    """An app that joins, and answers every question with the content."""

    def app(question, context):
        if question.metadata.message_type == messages.JOIN:
            return messages.answer_join(question, name, (30, 1))
        return Message(content, reply_to=question)

    return app


def test_garbage_is_refused_by_name_and_the_others_go_on(problem, apps):
    bad = {14 + k: sends(kind, content) for k, (kind, (content, _)) in enumerate(GARBAGE.items())}
    sites = sites_of(WiredGrid({**apps, **bad}), ["a", "b", "c", *GARBAGE], timeout=30, patience=30)
    outcome = agree(sites, LAMBDA)
    assert outcome.rounds[-1].change <= 1e-8
    assert not outcome.converged  # somebody is missing
    check_optimum(outcome, problem, ["a", "b", "c"])
    assert set(outcome.missing) == set(GARBAGE)
    for kind, (_, expected) in GARBAGE.items():
        assert re.search(expected, outcome.missing[kind]), (kind, outcome.missing[kind])


def test_a_site_that_lies_is_named_over_messages_too(problem, apps):
    def liar(question, context):
        if question.metadata.message_type == messages.JOIN:
            return messages.answer_join(question, "bad", (30, 1))
        return messages.answer_predict(question, np.full((30, 1), 1e6))

    outcome = agree(sites_of(WiredGrid({**apps, 14: liar}), ["a", "b", "c", "bad"]), LAMBDA)
    assert "times as large as those of the other sites" in outcome.missing["bad"]
    check_optimum(outcome, problem, ["a", "b", "c"])


@pytest.mark.parametrize("when", ["at once", "later"])
def test_replies_that_are_repeated_count_once(when, problem, apps):
    """Also those of former rounds: they reply to messages that nobody waits for any more."""

    class Repeating(WiredGrid):
        def __init__(self, apps):
            self.old = []
            super().__init__(apps)

        def pull_messages(self, message_ids):
            fresh = super().pull_messages(message_ids)
            out = [reply for reply in fresh for _ in range(2)] if when == "at once" else [*self.old, *fresh]
            self.old += fresh
            return out

    outcome = agree(sites_of(Repeating(apps)), LAMBDA)
    assert outcome.converged
    check_optimum(outcome, problem, ["a", "b", "c"])


def test_nobody_replies_for_another(problem, apps):
    """A node that answers the message to another one, before that can, is not heard."""

    class Forging(WiredGrid):
        def pull_messages(self, message_ids):
            replies = super().pull_messages(message_ids)
            forged = []
            for reply in replies:
                if reply.metadata.src_node_id == 11 and reply.metadata.message_type == messages.PREDICT:
                    other = travel(reply)[0]
                    other.metadata.__dict__["_src_node_id"] = 12
                    other.content["predictions"] = array_of(np.full((30, 1), 5.0))["predictions"]
                    forged.append(other)
            return [*forged, *replies]

    told = []
    outcome = agree(sites_of(Forging(apps), tell=told.append), LAMBDA)
    check_optimum(outcome, problem, ["a", "b", "c"])
    assert any(line.startswith("node 12 replies to a message that is not for it") for line in told)


def test_a_site_refuses_absurd_predictions_and_keeps_a_model_of_its_own(problem, apps, tmp_path):
    sites = sites_of(WiredGrid(apps))
    sites.ask({"a": np.ones((2, 30, 1))}, 0.5)
    answer = sites.ask({"a": np.full((2, 30, 1), 1e6)}, 0.1)["a"]
    assert "others[0] has predictions more than bound=1000 times as large as any label of this site" in str(answer)
    part = problem.parts["a"]
    alone = accord.RLSR(**CONSTANTS).fit(part["X"], part["y"])
    kept = accord.load(tmp_path / "a.model.accord")
    assert np.allclose(kept.predict(part["unlabeled"]), alone.predict(part["unlabeled"]))


def test_questions_that_make_no_sense_are_refused_by_a_site(apps):
    grid = WiredGrid(apps)
    sites = sites_of(grid)
    for others, lambda_, expected in (
        (np.zeros((2, 29, 1)), 0.1, "of shape"),
        (np.full((2, 30, 1), np.nan), 0.1, "not finite"),
        (np.zeros((2, 30, 1)), -1.0, "lambda is -1.0"),
    ):
        assert expected in str(sites.ask({"a": others}, lambda_)["a"])


# -- who is there -----------------------------------------------------------------------------------------------------
def test_sites_agree_over_messages_as_they_do_in_one_process(problem, apps):
    local = {
        name: Site(part["X"], part["y"], part["unlabeled"], accord.RLSR(**CONSTANTS))
        for name, part in problem.parts.items()
    }
    expected, found = agree(LocalSites(local), LAMBDA), agree(sites_of(WiredGrid(apps)), LAMBDA)
    check_optimum(found, problem, ["a", "b", "c"])
    assert [report.change for report in found.rounds] == [report.change for report in expected.rounds]


def test_a_dead_site_costs_the_timeout_and_is_reported(problem, apps):
    grid = WiredGrid(apps)
    sites = sites_of(grid)
    grid.dead = {12}
    outcome = agree(sites, LAMBDA, max_rounds=4)
    assert all(report.failures == {"b": "TimeoutError: no answer in time"} for report in outcome.rounds)
    assert all(report.seconds >= 0.3 for report in outcome.rounds)
    assert set(outcome.predictions) == {"a", "c"}
    assert sites.absent == {"b"}
    del grid.apps[12]  # now the SuperLink has noticed
    sites.timeout = 10.0
    outcome = agree(sites, LAMBDA, max_rounds=4)
    assert all(report.failures == {"b": "ConnectionError: the site is not connected"} for report in outcome.rounds)


def test_answers_that_are_there_are_read_however_long_sending_took(problem, apps):
    class SlowGrid(WiredGrid):
        def push_messages(self, messages):
            ids = super().push_messages(messages)
            time.sleep(0.2)
            return ids

    outcome = agree(sites_of(SlowGrid(apps), timeout=0.1), LAMBDA, max_rounds=3)
    assert not any(report.failures for report in outcome.rounds)


def test_a_site_that_comes_back_as_another_node_resumes(problem, apps, tmp_path):
    grid = WiredGrid(apps)

    def crash_and_restart(report):
        if report.number == 2:
            grid.dead = {12}
        if report.number == 4:
            grid.apps[99] = client_app(settings(tmp_path, "b"))  # the old node is still believed to be there

    outcome = agree(sites_of(grid), LAMBDA, on_round=crash_and_restart)
    assert outcome.converged
    assert [report.number for report in outcome.rounds if "b" in report.failures] == [3, 4]
    check_optimum(outcome, problem, ["a", "b", "c"])


def test_a_site_that_appears_late_joins(problem, apps):
    late = apps.pop(13)
    grid = WiredGrid(apps)

    def arrive(report):
        if report.number == 2:
            grid.apps[13] = late

    told = []
    outcome = agree(sites_of(grid, tell=told.append), LAMBDA, on_round=arrive)
    assert "goes on without c" in told
    assert "c" in outcome.rounds[0].failures
    assert outcome.converged
    check_optimum(outcome, problem, ["a", "b", "c"])


def test_only_those_who_are_asked_for_join_and_under_their_registered_name(apps, tmp_path):
    other = client_app(settings(tmp_path, "x", data="a"))
    impostor = client_app(settings(tmp_path, "a", data="b"))
    told = []
    sites = sites_of(
        WiredGrid({**apps, 14: other, 15: impostor}, registered={11: "a", 15: "mallory"}), tell=told.append
    )
    assert sites.names() == ["a", "b", "c"]
    assert sites._nodes == {"a": 11, "b": 12, "c": 13}
    assert "site 'x' (node 14) is not asked for" in told
    assert "node 15 is registered as 'mallory' and cannot join as 'a'" in told


def test_without_names_those_who_are_there_take_part(apps):
    assert sites_of(WiredGrid(apps), None, min_sites=3).names() == ["a", "b", "c"]
    with pytest.raises(InputError, match="3 of 4 sites joined within 0 s"):
        sites_of(WiredGrid(apps), None, min_sites=4)
    with pytest.raises(InputError, match="different names"):
        sites_of(WiredGrid(apps), ["a", "a"])


def test_a_site_with_another_number_of_examples_is_named(problem, apps, tmp_path):
    part = problem.parts["a"]
    np.savez(tmp_path / "d.npz", **{**part, "unlabeled": part["unlabeled"][:-1]})
    grid = WiredGrid({**apps, 14: client_app(settings(tmp_path, "d"))})
    outcome = agree(sites_of(grid, ["a", "b", "c", "d"]), LAMBDA)
    check_optimum(outcome, problem, ["a", "b", "c"])
    assert outcome.missing == {"d": "InputError: the site has (29, 1) predictions; agreed are (30, 1)"}
    with pytest.raises(InputError, match=r"a \(30, 1\), d \(29, 1\); they must agree"):
        sites_of(WiredGrid({11: apps[11], 14: grid.apps[14]}), ["a", "d"])


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"version": 2, "name": "a", "rows": 30, "outputs": 1}, "version 2 of the protocol"),
        ({"version": 1, "name": "", "rows": 30, "outputs": 1}, "name"),
        ({"version": 1, "name": "a\n", "rows": 30, "outputs": 1}, "name"),
        ({"version": 1, "name": "a", "rows": 0, "outputs": 1}, "positive"),
        ({"version": 1, "name": "a", "rows": 1.5, "outputs": 1}, "positive"),
    ],
)
def test_introductions_that_make_no_sense_are_refused(told, expected, apps):
    def liar(question, context):
        return Message(RecordDict({"site": ConfigRecord(told)}), reply_to=question)

    heard = []
    sites_of(WiredGrid({**apps, 14: liar}), tell=heard.append)
    assert any(line.startswith("node 14 cannot join") and expected in line for line in heard)


# -- runs -------------------------------------------------------------------------------------------------------------
def run_settings(folder, **changes):
    given = {"result": str(folder / "result.accord"), "sites": "a, b,c", "timeout": 30.0, "patience": 1.0}
    return RunSettings(**{**given, **changes})


def test_a_run_leaves_a_result_and_no_checkpoint(problem, apps, tmp_path):
    told = []
    outcome = lead(WiredGrid(apps), run_settings(tmp_path), told.append)
    kept = read_result(tmp_path / "result.accord")
    check_optimum(kept, problem, ["a", "b", "c"])
    assert kept.rounds == outcome.rounds
    assert kept.converged
    assert np.array_equal(kept.consensus, outcome.consensus)
    assert sum(line.startswith("round ") for line in told) == len(kept.rounds)
    assert not (tmp_path / "result.accord.checkpoint").exists()


def test_results_are_proved(problem, apps, tmp_path):
    path = tmp_path / "result.accord"
    lead(WiredGrid(apps), run_settings(tmp_path))
    metadata, arrays = read_model(path)
    told = metadata["federated result"]
    for changed, expected in (
        ({"converged": "yes"}, "converged is 'yes'"),
        ({"trim": 2}, "consensus is not the mean|more predictions than are left out"),
        ({"sites": ["a", "b"]}, "an array 'predictions2'|consensus is not"),
        ({"rounds": [{}]}, "incomplete"),
        ({"unknown": 1}, "incomplete"),
    ):
        write_model(path, {"federated result": {**told, **changed}}, arrays)
        with pytest.raises(ModelFileError, match=rf"result\.accord is damaged: .*({expected})"):
            read_result(path)
    for name, array in (
        ("predictions1", arrays["predictions1"][:-1]),
        ("predictions1", arrays["predictions1"].astype("f4")),
        ("consensus", arrays["consensus"] + 1.0),
        ("consensus", arrays["consensus"] * np.nan),
    ):
        write_model(path, metadata, {**arrays, name: array})
        with pytest.raises(ModelFileError, match=r"result\.accord is damaged"):
            read_result(path)
    write_model(path, {"model": 1}, {})
    with pytest.raises(ModelFileError, match="no record of an agreement"):
        read_result(path)


def test_a_run_clears_what_killed_ones_left(apps, tmp_path):
    left = [tmp_path / f".{name}.0123456789abcdef.accord-tmp" for name in ("result.accord", "result.accord.checkpoint")]
    left.append(tmp_path / ".a.model.accord.0123456789abcdef.accord-tmp")
    for path in left:
        path.write_text("half a file")
    lead(WiredGrid(apps), run_settings(tmp_path))
    assert not any(path.exists() for path in left)


def test_a_trimmed_run(problem, apps, tmp_path):
    outcome = lead(WiredGrid(apps), run_settings(tmp_path, aggregation="trimmed", max_rounds=300))
    kept = read_result(tmp_path / "result.accord")
    assert kept.converged
    assert kept.trim == 1
    middle = np.median(np.stack(list(kept.predictions.values())), axis=0)
    assert np.array_equal(kept.consensus, middle)
    assert np.array_equal(kept.consensus, outcome.consensus)


def test_a_run_goes_on_where_it_was_interrupted(problem, apps, tmp_path):
    whole = lead(WiredGrid(apps), run_settings(tmp_path, result=str(tmp_path / "whole.accord")))
    grid = WiredGrid(apps)
    grid.crash_after = 3 + 3 * 4  # joins, and four rounds
    with pytest.raises(ConnectionError):
        lead(grid, run_settings(tmp_path))
    outcome = lead(WiredGrid(apps), run_settings(tmp_path))
    assert [report.change for report in outcome.rounds] == [report.change for report in whole.rounds]
    check_optimum(outcome, problem, ["a", "b", "c"])


def test_a_run_waits_at_the_end_for_a_site_that_has_gone(problem, apps, tmp_path):
    grid, told = WiredGrid(apps), []
    late = grid.apps.pop(13)

    def tell(line):
        told.append(line)
        if line.startswith("waits"):
            grid.apps[13] = late

    outcome = lead(grid, run_settings(tmp_path), tell)
    assert any(line.startswith("waits up to 1 s for c") for line in told)
    check_optimum(outcome, problem, ["a", "b", "c"])
    assert not outcome.missing


def test_a_run_does_not_wait_forever(apps, tmp_path):
    grid = WiredGrid(apps)
    del grid.apps[13]
    outcome = lead(grid, run_settings(tmp_path, patience=0.2))
    assert not outcome.converged
    assert outcome.missing == {"c": "ConnectionError: the site is not connected"}
    assert (tmp_path / "result.accord.checkpoint").exists()  # so that a later run may make up for it


def test_settings_that_make_no_sense_are_refused():
    for config, expected in (
        ({"lambda": 0.1}, "no result"),
        ({"result": "r", "lamda": 0.1}, "unknown key 'lamda'; expected result, lambda, sites, min-sites"),
        ({"result": "r", "max-rounds": "5"}, "max-rounds = '5'; expected a int"),
    ):
        with pytest.raises(InputError, match=expected):
            RunSettings.from_config(config)
    assert RunSettings.from_config({"result": "r", "lambda": 1, "sites": " a,b "}).names == ["a", "b"]
    for config, expected in (
        ({"name": "a"}, "no 'data'"),
        ({"name": "a", "data": "f", "kernle": "rbf"}, "unknown key 'kernle'"),
        (
            {"name": "a", "data": "f", "standardize": "perhaps"},
            "standardize is 'perhaps'; expected \"columns\" or false",
        ),
        (
            {"name": "a", "data": "f", "gamma": -1.0},
            r"gamma is -1\.0; expected a positive number, or \"auto\" or \"rule\"",
        ),
    ):
        with pytest.raises(InputError, match=expected):
            SiteSettings.from_config(config)


@pytest.mark.parametrize("text", ["false", "False", "FALSE", "no", "No", "0"])
def test_truth_values_on_the_command_line(text, monkeypatch, tmp_path):
    given = {}
    monkeypatch.setattr("accord.federated.flower_node.run_site", lambda own, **more: given.update(own=own, **more))
    common = ["--superlink", "localhost:9093", "--name", "1", "--data", "true", "--degree", "1", "--gamma", "0.5"]
    main([*common, "--standardize", text, "--insecure", text])
    expected = SiteSettings(name="1", data="true", degree=1.0, gamma=0.5, standardize=False)
    assert given == {"own": expected, "superlink": "localhost:9093", "insecure": False}
    for yes in ("true", "YES", "1"):
        main([*common, "--insecure", yes])
        assert given["insecure"] is True
    main([*common, "--insecure"])
    assert given["insecure"] is True


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--standardize=perhaps", "--standardize: standardize is 'perhaps'; expected \"columns\" or false"),
        ("--standardize=True", "--standardize: standardize is 'True'; expected \"columns\" or false"),
        ("--insecure=maybe", "--insecure: is 'maybe'; expected true or false (yes or no, 1 or 0)"),
        ("--gamma=no", "--gamma: gamma is 'no'; expected a positive number"),
        ("--gamma=nan", "--gamma: gamma is 'nan'"),
        ("--eta=-1", "--eta: eta is '-1'"),
        ("--degree=two", "--degree: degree is 'two'; expected a finite number"),
        ("--mode=fast", '--mode: mode is \'fast\'; expected "semiparametric" or "exact"'),
        ("--bound=0", "--bound: bound is '0'; expected a positive number"),
        ("--superlink=localhost", "--superlink: is 'localhost'; expected a host and a port"),
        ("--key=nowhere.key", "--key: is 'nowhere.key', and there is no such file"),
        ("--data=nowhere.npz", "error: data is 'nowhere.npz', which cannot be read: No such file or directory"),
        ("--data=nowhere.csv", "error: data is 'nowhere.csv', which cannot be read: No such file or directory"),
        ("--kernel=cubic", "error: kernel is 'cubic'"),
    ],
)
def test_bad_options_end_with_a_sentence(option, message, capsys, tmp_path, problem):
    problem.write(tmp_path)
    common = ["--superlink=localhost:1", "--name=a", f"--data={tmp_path / 'a.npz'}", "--insecure"]
    with pytest.raises(SystemExit) as ended:
        main([*common, option])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_help_tells_all_options(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    options = [line for line in text.split("options:")[1].splitlines() if line.startswith("  -")]
    assert len(options) == 5 + len(dataclasses.fields(SiteSettings))
    words = " ".join(text.split())
    for field in dataclasses.fields(SiteSettings):
        assert f"--{field.name} ... " in words
        assert field.default in ("", dataclasses.MISSING) or f"(default: {field.default})" in words


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 rubbish", b"rubbish", None])
def test_private_files_that_are_damaged(tmp_path, content):
    path = tmp_path / "a.npz"
    if content is None:
        np.savez(path, X=np.array([object()]), y=[1.0], unlabeled=[[1.0]])
    else:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.npz: is damaged, or no \.npz file of numbers"):
        read_private(path)


def test_private_files(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x1,y,x2,z\n1,2,3,4\n5,,6,\n7,8,9,10\n")
    X, y, unlabeled = read_private(path)
    assert (X.tolist(), y.tolist()) == ([[1, 3, 4], [7, 9, 10]], [2, 8])
    assert np.array_equal(unlabeled, [[5, 6, np.nan]], equal_nan=True)
    X, y, unlabeled = read_private(path, "y, z")
    assert (X.tolist(), y.tolist(), unlabeled.tolist()) == ([[1, 3], [7, 9]], [[2, 4], [8, 10]], [[5, 6]])
    path.write_text("x,y\n1,2\n1\n")
    with pytest.raises(InputError, match=r"a\.csv, line 3: has 1 values; expected 2"):
        read_private(path)
    with pytest.raises(InputError, match="no column 'q'"):
        read_private(path, "q")
    np.savez(tmp_path / "a.npz", X=X, y=y)
    with pytest.raises(InputError, match=r"a\.npz: has no array 'unlabeled'"):
        read_private(tmp_path / "a.npz")


def test_the_app_is_one_that_flower_takes(tmp_path):
    from flwr.cli.build import build_fab_from_disk
    from flwr.cli.config_utils import get_fab_metadata, load_and_validate

    app = write_app(tmp_path / "app", result="r.accord", lambda_=0.5, max_rounds=9, tol=1e-9)
    config, warnings = load_and_validate(app / "pyproject.toml")
    assert warnings == []
    found = RunSettings.from_config(config["tool"]["flwr"]["app"]["config"])
    assert found == RunSettings(result="r.accord", lambda_=0.5, max_rounds=9, tol=1e-9)
    assert get_fab_metadata(build_fab_from_disk(app)) == ("accord/accord-federated", "1.0.0")


def test_flower_is_kept_from_calling_home(monkeypatch):
    assert quiet_environment({"A": "b", "FLWR_TELEMETRY_ENABLED": "1"}).items() >= {"A": "b", **QUIET}.items()
    from flwr.supercore import telemetry

    assert telemetry.FLWR_TELEMETRY_ENABLED == "0"
    monkeypatch.setattr(telemetry, "FLWR_TELEMETRY_ENABLED", "1")  # as if it had been imported before us
    require_flower()
    assert telemetry.FLWR_TELEMETRY_ENABLED == "0"


def test_without_flower_the_error_tells_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "flwr.app", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'accord-ml\[federated\]'"):
        require_flower()
