"""What fitted objects must look like: files whose parts do not fit together are refused, and say which part."""

from __future__ import annotations

import json
import zipfile
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from row_tables import each_row

import accord
from accord import forms, registry
from accord.exceptions import InputError, ModelFileError
from accord.forms import Unfit, any_of, array, fitted, items, mapping, optional, prove, sparse, together
from accord.packed.weights import Weights
from accord.persistence import read_model, write_model
from accord.settings import whole
from accord.views.type_odds import TypeOdds

WORDS, TAGS = [["Ana", "lives"], ["Tom", "left"], ["Eva", "saw", "Tom"]], [["P", "O"], ["P", "O"], ["P", "O", "P"]]
SENTENCES, TREES = (
    [["the", "dog", "barks"], ["dogs", "bark"]],
    ["(S (NP (D the) (N dog)) (V barks))", "(S (NP (N dogs)) (V bark))"],
)


class Thing:
    """An object with sizes, as classes of Accord have them."""

    __module__ = "accord.things"
    stored: ClassVar = {
        "n_rows_": whole(0),
        "table_": array("f8", "n_rows", "n_columns"),
        "index_": array("i4 i8", "*", least=0, below="n_columns"),
        "starts_": optional(array("i8", "n_rows+1", pointers="n_items")),
    }
    agrees: ClassVar = {"n_rows_ is even": lambda self: self.n_rows_ % 2 == 0}

    def __init__(self, **changes: Any) -> None:
        self.n_rows_ = 2
        self.table_ = np.zeros((2, 3))
        self.index_ = np.array([0, 2], np.int32)
        self.starts_ = np.array([0, 1, 5])
        vars(self).update(changes)


def test_what_fits_is_taken():
    prove(Thing(), "thing")
    without = Thing()
    del without.starts_
    prove(without, "thing")


@each_row(
    ("changes", "says"),
    [
        ({"table_": np.zeros((3, 3))}, "thing.table_ has 3 entries; expected 2 (n_rows)"),
        ({"table_": np.zeros(6)}, "expected 2 dimensions"),
        ({"table_": np.zeros((2, 3), np.float32)}, "expected an array of f8"),
        ({"table_": np.zeros((2, 3), ">f8")}, "expected an array of f8"),
        ({"table_": [[0.0]]}, "expected an array of f8"),
        ({"table_": np.full((2, 3), np.nan)}, "not finite"),
        ({"index_": np.array([3])}, "has 3; expected less than 3 (n_columns)"),
        ({"index_": np.array([-1])}, "has -1; expected 0 or more"),
        ({"starts_": np.array([1, 2, 3])}, "must begin with 0"),
        ({"starts_": np.array([0, 3, 2])}, "never fall"),
        ({"starts_": np.array([0, 1])}, "thing.starts_ has 2 entries; expected 3 (n_rows+1)"),
        ({"n_rows_": 2.5}, "expected a whole number"),
        ({"n_rows_": 1, "table_": np.zeros((1, 3)), "starts_": np.array([0, 5])}, "it is not so that n_rows_ is even"),
        ({"surprise_": 1}, "thing has surprise_, which Thing does not know"),
    ],
)
def test_what_does_not_fit_is_named(changes, says):
    with pytest.raises(Unfit) as caught:
        prove(Thing(**changes), "thing")
    assert says in str(caught.value)


def test_a_missing_field_is_named():
    thing = Thing()
    del thing.table_
    with pytest.raises(Unfit, match="thing has no table_"):
        prove(thing, "thing")


@each_row(
    ("form", "good", "bad"),
    [
        (items(forms.TEXT, distinct=True), ["a", "b"], ["a", "a"]),
        (items(forms.TEXT), ("a",), ["a", 1]),
        (mapping(forms.TEXT, forms.COUNT), {"a": 1}, {"a": -1}),
        (mapping(forms.TEXT, forms.COUNT, 1), {"a": 1}, {}),
        (together(forms.COUNT, forms.TEXT), (1, "a"), (1,)),
        (any_of(array("f8", "*"), forms.TEXT), "a", 1),
        (sparse("*", 3), sp.csr_array((2, 3)), sp.csr_array((2, 4))),
        (forms.LABEL, ("a", 1), [1]),
        (forms.LABEL, 0.5, float("nan")),
        (forms.REPORT, [{"a": None}], [object()]),
        (fitted("Weights", n_dims="n"), Weights(np.zeros((2, 2)), np.zeros(0)), Thing()),
    ],
)  # fmt: skip
def test_forms(form, good, bad):
    sizes = forms.Sizes(None, {})
    forms.fit(form, "it", good, sizes)
    with pytest.raises(Unfit, match="it"):
        forms.fit(form, "it", bad, sizes)


def test_a_sparse_matrix_with_an_index_outside_is_refused():
    matrix = sp.csr_array(np.eye(3))
    matrix.indices[1] = 2**30
    with pytest.raises(Unfit, match="indices"):
        forms.fit(sparse("*", "*"), "it", matrix, forms.Sizes(None, {}))


def test_every_class_of_model_files_says_what_it_keeps():
    # Named tuples are parts of other objects, which describe them.
    own = {name: e for name, e in registry.TABLE.items() if e.kind != "other" and e.module.startswith("accord.")}
    kept = [registry.find(name) for name in own]
    silent = {cls.__name__ for cls in kept if not issubclass(cls, tuple) and not forms.declared(cls, "stored")}
    assert silent == {"Matching"}, "Matching learns nothing; every other class must declare what it does"


# -- files ------------------------------------------------------------------------------------------------------------
def fields(tree: Any, name: str) -> list[dict[str, Any]]:
    """The fields of all objects of a class in a file's tree."""
    found = [tree["fields"]] if isinstance(tree, dict) and tree.get("class") == name else []
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return found + [one for part in parts for one in fields(part, name)]


def changed(path, change):
    """Write a file again in which ``change(tree, arrays)`` has changed something; its checksums are right."""
    metadata, arrays = read_model(path)
    change(metadata["model"], arrays)
    write_model(path, metadata, arrays)
    return path


def array_of(tree: Any, arrays: dict[str, np.ndarray], owner: str, field: str) -> tuple[str, np.ndarray]:
    name = fields(tree, owner)[-1][field]["array"]
    return name, arrays[name]


def set_array(owner: str, field: str, make: Any) -> Any:
    def change(tree: Any, arrays: dict[str, np.ndarray]) -> None:
        name, array = array_of(tree, arrays, owner, field)
        arrays[name] = make(array)

    return change


def set_field(owner: str, field: str, value: Any) -> Any:
    def change(tree: Any, arrays: dict[str, np.ndarray]) -> None:
        for one in fields(tree, owner):
            if field in one:
                one[field] = value

    return change


def put(index: int, value: Any) -> Any:
    def make(array: np.ndarray) -> np.ndarray:
        out = array.copy()
        out.flat[index] = value
        return out

    return make


def big_index(tree: Any, arrays: dict[str, np.ndarray]) -> None:
    table = fields(tree, "TokenFeatures")[-1]["table_"]
    name = table["csr"]["indices"]["array"]
    arrays[name] = put(0, 2**30)(arrays[name])
    table["shape"][1] = 2**31 - 1


DAMAGES = {
    "more columns than labels": ("crf", set_array("Weights", "unary", lambda a: np.zeros((a.shape[0], 200)))),
    "no weights": ("crf", set_array("Weights", "unary", lambda a: a[:0])),
    "no transitions": ("crf", set_array("Weights", "transitions", lambda a: a[:0])),
    "a weight that is no number": ("crf", set_array("Weights", "unary", put(0, np.nan))),
    "an index of 2**30 in a table that is as wide": ("crf", big_index),
    "20,000 labels": ("crf", set_field("Sequence", "labels_", {"list": [f"L{i}" for i in range(20_000)]})),
    "a label twice": ("crf", set_field("Sequence", "labels_", {"list": ["O", "O"]})),
    "order 2": ("crf", set_field("Sequence", "order", 2)),
    "a window of a million": ("crf", set_field("TokenFeatures", "window", 10**6)),
    "a window of many, no features": ("crf", set_field("TokenFeatures", "n_dims_", 10**9)),
    "a type twice": ("crf", set_field("TokenFeatures", "types_", {"list": ["a"] * 6})),
    "an unknown loss": ("crf", set_field("Sequence", "loss", "none")),
    "a rule without children": ("pcfg", set_array("TreebankGrammar", "rules", put(1, 10**6))),
    "a rule whose parent is a leaf": ("pcfg", set_array("TreebankGrammar", "rules", put(0, 0))),
    "a rule less than its counts": ("pcfg", set_array("TreebankGrammar", "rules", lambda a: a[:-1])),
    "a tag that is not there": ("pcfg", set_array("Lexicon", "tag", put(0, 99))),
    "pointers that fall": ("pcfg", set_array("Lexicon", "ptr", put(1, 10**6))),
    "a factor that is singular": ("graph", set_array("GraphFeatures", "factor_", put(0, 0.0))),
    "emissions of other words": ("pcfg", set_array("PCFG", "emissions_", lambda a: a[:-1])),
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    accord.CRF(accord.Sequence()).fit(WORDS, TAGS).save(folder / "crf")
    accord.PCFG(accord.Tree(), unlabeled_weight=0.0).fit(SENTENCES, TREES).save(folder / "pcfg")
    rows = np.random.default_rng(0).normal(size=(12, 3))
    near = accord.GraphFeatures(n_neighbors=2)
    accord.CRF(accord.MultiClass(), near).fit(rows, ["a", "b"] * 6).save(folder / "graph")
    return folder


@each_row("what", DAMAGES)
def test_a_file_whose_parts_disagree_is_refused(saved, tmp_path, what):
    kind, change = DAMAGES[what]
    path = tmp_path / "model"
    path.write_bytes((saved / kind).read_bytes())
    with pytest.raises(ModelFileError) as caught:
        accord.load(changed(path, change))
    assert str(path) in str(caught.value)


def test_what_follows_from_the_rest_is_not_read_from_a_file(saved, tmp_path):
    path = tmp_path / "model"
    path.write_bytes((saved / "pcfg").read_bytes())
    with zipfile.ZipFile(path) as container:
        tree = json.loads(container.read("accord.json"))["metadata"]["model"]
    assert "arrays_" not in fields(tree, "Tree")[-1]
    before = accord.load(path).predict(SENTENCES)
    after = changed(path, set_field("Tree", "arrays_", {"list": [1, 2, 3]}))
    assert accord.load(after).predict(SENTENCES) == before


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path):
    model = accord.CRF(accord.Sequence()).fit(WORDS, TAGS)
    model.weights_.unary = model.weights_.unary[:-1]
    with pytest.raises(InputError, match=r"CRF.weights_.unary has \d+ entries"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_fitted_view_that_is_a_parameter_is_proved_too():
    words = accord.CanonicalFeatures(n_components=2, min_count=1, n_classes=2, random_state=0)
    words.fit_rows(WORDS)
    odds = TypeOdds(keys=("class",), words=words).learn(WORDS, np.array([0, 1, 0, 1, 0, 1, 0]), 2)
    prove(odds, "odds")
    words.center_ = words.center_[:1]
    with pytest.raises(Unfit, match=r"odds\.words\.center_"):
        prove(odds, "odds")


def test_files_of_earlier_versions_do_not_say_what_columns_are_called():
    view = accord.ArrayFeatures()
    expected = view.fit_rows([[1.0, 2.0], [3.0, 4.0]]).matrix().toarray()
    del view.columns_
    prove(view, "view")
    np.testing.assert_array_equal(view.transform([[1.0, 2.0], [3.0, 4.0]]).matrix().toarray(), expected)
    assert view.feature_names(range(2)) == ["x0", "x1"]
