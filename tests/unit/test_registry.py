"""The one table of classes: everything is in it, everything in it exists, and the command line offers it."""

import inspect
import pkgutil
import re
from importlib import import_module

import click
import pytest

import accord
from accord import learners, model_file
from accord.cli import main
from accord.cli.tasks import TASKS
from accord.registry import TABLE, commands, find, is_stored, learners_of

PUBLIC = [name for name, entry in TABLE.items() if entry.public]
LEARNERS = [name for name, entry in TABLE.items() if entry.kind == "learner"]
WORDS = set(re.findall(r"^([a-z-]+) {2,}\S", accord.registry.__doc__, re.MULTILINE))


def learner_classes() -> dict[str, type]:
    """Public classes of ``accord.learners`` that learn; bases of others are none unless they are in the table."""
    found = {}
    for module in pkgutil.iter_modules(learners.__path__, "accord.learners."):
        for name, cls in vars(import_module(module.name)).items():
            if inspect.isclass(cls) and cls.__module__ == module.name and hasattr(cls, "fit"):
                found[name] = cls
    bases = {base.__name__ for cls in found.values() for base in cls.__mro__[1:]}
    return {name: cls for name, cls in found.items() if name not in bases and not name.startswith("_")}


def test_every_learner_is_in_the_table():
    assert learner_classes().keys() <= TABLE.keys()
    assert len(learner_classes()) >= 10  # the search finds something


@pytest.mark.parametrize("name", TABLE)
def test_every_entry_exists_where_it_says(name):
    entry, found = TABLE[name], find(name)
    assert found.__module__ == entry.module
    assert found.__name__ == name
    assert entry.can | entry.needs <= WORDS
    if entry.public:
        assert getattr(accord, name) is found
        assert inspect.getdoc(found)


def test_public_names_are_those_of_the_table():
    assert set(accord.__all__) == {*PUBLIC, "__version__"}


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_can_be_saved_and_loaded(name, tmp_path):
    cls = find(name)
    assert is_stored(name)
    assert callable(cls.save)
    # a model file keeps the attributes, so one that has been made without fitting will do
    made = cls.__new__(cls)
    made.weights_ = [1.0]
    model_file.save(made, tmp_path / "m")
    loaded = model_file.load(tmp_path / "m")
    assert type(loaded) is cls
    assert loaded.weights_ == [1.0]


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_is_offered_by_the_command_line(name):
    train = main.commands["train"]
    context = click.Context(train, info_name="train", terminal_width=10_000, max_content_width=10_000)
    option = next(param for param in train.params if param.name == "learner")
    command = TABLE[name].command
    assert command in option.type.choices
    sections = train.get_help(context).split("\n")
    assert any(re.match(rf"Learner \(.*\b{command}\b.*\):", line) for line in sections)
    assert any(command in task.learners() for task in TASKS.values())
    for word in TABLE[name].can & {"unlabeled", "interrupt"}:
        verb = {"unlabeled": "learn", "interrupt": "then write the model"}[word]
        assert re.search(rf"\b{command}\b[a-z, -]* {verb}", train.help.replace("\n", " ").replace("    ", ""))


def test_capabilities_of_learners_are_true():
    for name in LEARNERS:
        cls, can = find(name), TABLE[name].can
        assert hasattr(cls, "predict_marginals") == ("marginals" in can), name
        assert hasattr(cls, "fit_batches") == ("stream" in can), name
        assert ("views" in inspect.signature(cls).parameters) == ("views" in can), name
        assert ("learner" in inspect.signature(cls).parameters) == bool(TABLE[name].base), name


def test_every_structure_of_the_command_line_has_a_task():
    assert set(commands("structure")) == set(TASKS) - {"regression"}
    for task in TASKS.values():
        assert task.learners()
        assert task.labeled_format in task.formats


def test_learners_of_a_structure():
    assert "PCFG" in learners_of("Tree")
    assert "HMM" not in learners_of("Tree")
    assert "TypeConsistency" in learners_of("Sequence")
    assert "TypeConsistency" not in learners_of("MultiClass")
    assert not {"RLSR", "CoRLSR"} & {name for s in ("Sequence", "Tree") for name in learners_of(s)}
