"""The one table of classes: every learner is in it, everything in it exists, and the command line offers it."""

import inspect
import pkgutil
import re
import subprocess
import sys
from doctest import SKIP, DocTestParser
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner
from docs import reference

import accord
from accord import InputError, learners, registry
from accord.cli import main
from accord.cli.tasks import TASKS
from accord.registry import TABLE, commands, find, is_stored, learners_for

LEARNERS = [name for name, entry in TABLE.items() if entry.kind == "learner"]
WORDS = registry.CAPABILITIES.keys() | registry.ABILITIES.keys()


def learner_classes() -> set[str]:
    """Public classes of ``accord.learners`` that learn and are no bases of others."""
    found = {}
    for module in pkgutil.iter_modules(learners.__path__, "accord.learners."):
        for name, cls in vars(import_module(module.name)).items():
            if inspect.isclass(cls) and cls.__module__ == module.name and hasattr(cls, "fit"):
                found[name] = cls
    bases = {base.__name__ for cls in found.values() for base in cls.__mro__[1:]}
    return {name for name in found if name not in bases and not name.startswith("_")}


def test_every_learner_is_in_the_table():
    found = learner_classes()
    assert {"CRF", "CoSVM", "TypeConsistency"} <= found
    assert found <= TABLE.keys()


def test_every_entry_exists_where_it_says():
    for name, entry in TABLE.items():
        found = find(name)
        assert (found.__module__, found.__name__) == (entry.module, name)
        assert entry.can | entry.needs <= WORDS, name
        if entry.public:
            assert getattr(accord, name) is found
    assert set(accord.__all__) == {name for name, entry in TABLE.items() if entry.public} | {"__version__"}


def test_every_public_name_has_an_example_that_runs():
    # a name in the reference is public
    without, parser = [], DocTestParser()
    for _, module, names in reference.sections():
        for name in names:
            found = getattr(import_module(module), name)
            examples = parser.get_examples(found.__doc__ or "") if callable(found) else []
            if callable(found) and all(example.options.get(SKIP) for example in examples):
                without.append(f"{module}.{name}")
    assert not without


def test_every_name_that_a_page_imports_is_in_the_reference():
    listed = {(module, name) for _, module, names in reference.sections() for name in names}
    modules = {module for module, _ in listed}
    docs = Path(reference.__file__).parent
    pages = [docs.parent / "README.md", *docs.glob("*.md"), *docs.glob("tutorials/*.md"), *docs.glob("gallery/*.py")]
    lost = set()
    for page in pages:
        for module, names in re.findall(r"^from (accord[.\w]*) import (.*)$", page.read_text("utf-8"), re.MULTILINE):
            for name in re.findall(r"\w+", names.partition("#")[0]):
                if (module, name) not in listed and f"{module}.{name}" not in modules:
                    lost.add(f"{page.name}: from {module} import {name}")
    assert not lost


def test_every_learner_can_be_saved():
    # that they load again is what tests/fuzz begins with
    for name in LEARNERS:
        assert callable(find(name).save), name
        assert is_stored(name), name


def test_every_learner_is_offered_by_the_command_line():
    train = main.commands["train"]
    choices = next(param for param in train.params if param.name == "learner").type.choices
    assert set(choices) == {TABLE[name].command for name in LEARNERS} - {""}
    assert len(choices) == len(LEARNERS)
    assert set(choices) == {command for task in TASKS.values() for command in task.learners()}
    shown = CliRunner().invoke(train, ["--help-all"]).output
    text = " ".join(shown.split()).replace("- ", "-")  # lines may end at a hyphen
    names = "([a-z, -]+)"
    for sentence, expected in (
        (rf"-o parser\.accord {names} learn from unlabeled examples", commands("learner", can="unlabeled")),
        (rf"ends the training: {names} then write", commands("learner", can="interrupt")),
        (rf"Trees are learned by {names}\. ", TASKS["tree"].learners()),
        (rf"Learner \({names}\): ", commands("learner")),
    ):
        assert set(re.split(", | and ", re.search(sentence, text)[1])) == set(expected)


def test_what_learners_can_do_is_true():
    for name in LEARNERS:
        cls, can = find(name), TABLE[name].can
        takes = inspect.signature(cls).parameters
        assert hasattr(cls, "predict_marginals") == ("marginals" in can), name
        assert hasattr(cls, "fit_batches") == ("stream" in can), name
        assert ("views" in takes) == ("views" in can), name
        assert ("learner" in takes) == bool(TABLE[name].base), name
        assert TABLE[name].base in {"", *commands("learner", can="part")}, name


def test_every_structure_of_the_command_line_has_a_task():
    assert set(commands("structure")) == set(TASKS) - {"regression"}
    for task in TASKS.values():
        assert task.learners(), task.name
        assert task.labeled_format in task.formats, task.name
        assert set(task.show_marginals) <= set(task.writers), task.name


def test_learners_of_a_structure():
    assert "PCFG" in learners_for(TABLE["Tree"].can)
    assert "HMM" not in learners_for(TABLE["Tree"].can)
    assert "TypeConsistency" in learners_for(TABLE["Sequence"].can)
    assert "TypeConsistency" not in learners_for(TABLE["MultiClass"].can)
    assert not {"RLSR", "CoRLSR"} & {name for s in ("Sequence", "Tree") for name in learners_for(TABLE[s].can)}


NEW_LEARNER = """
import sys
from accord.learners.perceptron import StructuredPerceptron
from accord.registry import TABLE, Entry

class Mine(StructuredPerceptron):
    def __init__(self, structure, view=None, random_state=None, n_jobs=None, verbose=0):
        super().__init__(structure, view, 2, random_state=random_state, n_jobs=n_jobs, verbose=verbose)

TABLE["Mine"] = Entry("learner", __name__, "mine", frozenset(["stream"]))
from accord.cli import main
main(sys.argv[1:], standalone_mode=False)
import accord
print(type(accord.load(sys.argv[3])).__name__)
"""


def test_a_new_learner_needs_a_line_in_the_table_and_nothing_else(tmp_path):
    (tmp_path / "new.py").write_text(NEW_LEARNER)
    (tmp_path / "data.conll").write_text("Ana PER\nleft O\n")
    command = [sys.executable, "new.py", "train", "--model", "m", "data.conll", "--learner", "mine"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "Mine\n"


def stub() -> str:
    """What a type checker and an editor are to know of ``import accord``."""
    lines = ['"""Made from the registry: python tests/unit/test_registry.py."""', ""]
    names = sorted((entry.module, name) for name, entry in TABLE.items() if entry.public)
    lines += [f"from {module} import {name} as {name}" for module, name in names]
    return "\n".join([*lines, "", "__version__: str", ""])


STUB = Path(accord.__file__).with_suffix(".pyi")


def test_type_checkers_see_every_public_name():
    assert STUB.read_text("utf-8") == stub(), "run: python tests/unit/test_registry.py"


if __name__ == "__main__":
    STUB.write_text(stub(), "utf-8")


def test_a_class_of_accord_cannot_be_replaced():
    with pytest.raises(InputError, match="CRF is the name of a class of Accord"):
        accord.register(type("CRF", (), {}))
