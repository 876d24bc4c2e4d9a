"""From options to an estimator: structure, features, several views, learner."""

from __future__ import annotations

import inspect
from typing import Any

import click

from accord.cli.data.layout import Layout
from accord.cli.option_types import flag
from accord.cli.tasks import Task
from accord.cli.train.parameters import CLASSES, LEARNERS, REGRESSORS, WORD_VIEWS, parameters_of, refuse_foreign
from accord.registry import TABLE, commands, find

_FILES = ("taxonomy", "grammar")  # arguments of structures that come from files
# Views that go with vectors of an encoder, and how long these are beside them.
_ENCODED = {"tokens": 6.0, "texts": 1.0}
WORD_CLASSES = 256  # kinds of words that --canonical adds to those of type consistency


def make_learner(
    task: Task, view: str, given: dict[str, Any], options: dict[str, Any], columns: Layout | None = None
) -> Any:
    """The estimator that the options describe; `view` is the kind of features that suits the data.

    `columns`: those of a table, if they are known; some may be free text and others not.

    What a learner is made of its constructor says: a structure, a view, several views, another learner.
    """
    learner = options["learner"]
    cls = _class(learner)
    takes = inspect.signature(cls).parameters
    if {"view", "views", "learner"}.isdisjoint(takes):
        view = ""  # it has no features
    _refuse(learner, view, given, options)
    base = options["base_learner"] or TABLE[LEARNERS[learner]].base
    composition = options["views"] or "random"
    # a learner with a number of views of its own draws random ones itself
    split = "views" in takes and not ("n_views" in takes and composition == "random")
    owners = [learner, base]
    if not task.numeric:  # learners of numbers have kernels of their own, and scale columns themselves
        owners += [task.name, "tokens" if view == "tags" else view, "kernel" if view and "kernel" in given else ""]
        owners += ["dicts"] if view == "texts" and _others(columns) else []
    refuse_foreign(given, [owner for owner in (*owners, composition if split else "") if owner])
    parts: dict[str, Any] = {"random_state": options["random_state"], "n_jobs": options["n_jobs"]}
    found = task.numeric or _finds_structure(takes, task, given, options)
    structure = None if found else _structure(task, given, options)
    if learner == task.learner and view == "dicts":  # what it does with arrays if it is let
        given = {"standardize": True, **given}
    features = _features(task, view, given, options) if view else None
    if learner == task.learner and view == "numbers" and not parameters_of(view, given) and "kernel" not in given:
        features = None
    if columns is not None and columns.text_columns:
        features = _of_table(features, columns, parameters_of("dicts", given), options["links"])
    if base:
        parts["learner"] = _class(base)(structure, view=features, **parts, **parameters_of(base, given))
    if split:
        parts["views"] = _class(composition)(features, **parameters_of(composition, given))
    if "vectors" in takes:
        features, parts["vectors"] = _apart(features)
    parts |= {"structure": structure, "view": features, "verbose": int(not options["quiet"])}
    if options["rules"]:
        from accord.learners.rules import Rules

        parts["rules"] = Rules(list(options["rules"]))
    args = parameters_of(learner, given)
    if options["stream"] and "solver" in takes and args.setdefault("solver", "sgd") != "sgd":
        raise click.UsageError(f"--solver {args['solver']} needs all data at once; --stream trains with sgd")
    return cls(**{name: part for name, part in parts.items() if name in takes}, **args)


def for_table(layout: Layout, given: dict[str, Any], options: dict[str, Any]) -> Any:
    """The estimator for a table that turned out to hold words; what is said about columns of numbers is dropped."""
    view = "texts" if layout.free_texts else "dicts"
    own = parameters_of("numbers", given).keys() - parameters_of(options["learner"], given).keys()
    others = {name: value for name, value in given.items() if name not in own - parameters_of(view, given).keys()}
    return make_learner(layout.task, view, others, options, layout)


def _class(name: str) -> Any:
    return find(CLASSES[name])


# -- what does not fit ----------------------------------------------------------------------------------------------
def _refuse(learner: str, view: str, given: dict[str, Any], options: dict[str, Any]) -> None:
    """Options that choose a class which this model cannot have."""
    entry = TABLE[LEARNERS[learner]]
    views, about_words = options["views"], [flag(name) for name in WORD_VIEWS if options[name]]
    added = about_words + ["--encoder"] * (options["encoder"] is not None)
    if views and "views" not in entry.can:
        several = ", ".join(commands("learner", can="views"))
        raise click.UsageError(f"--views is for learners of several views ({several}), not {learner}")
    if given.get("gamma") == "auto" and learner not in REGRESSORS:
        raise click.UsageError(f"--gamma auto is for {' and '.join(REGRESSORS)}; give {learner} a number")
    if options["rules"] and "rules" not in entry.can:
        raise click.UsageError(f"--rules is for {' and '.join(commands('learner', can='rules'))}, not for {learner}")
    if options["base_learner"] and not entry.base:
        made = " and ".join(e.command for e in TABLE.values() if e.base)
        raise click.UsageError(f"--base-learner is what {made} are made of; {learner} has none")
    if views == "token-surface" and (view != "tokens" or "kernel" in given or added):
        others = " or ".join(name for name in commands("split") if name != views)
        raise click.UsageError(f"--views token-surface splits the features of plain tokens; use {others}")
    if added and not view:
        raise click.UsageError(f"{added[0]} adds features, and {learner} has none")
    of_words = about_words + ([f"--learner {learner}"] if "words" in entry.needs else [])
    if of_words and view != "tokens":
        raise click.UsageError(f"{of_words[0]} needs sentences of plain tokens (no --feature-columns)")
    if views not in (None, "random"):
        for name in ("n_views", "share"):
            if name in given:
                raise click.UsageError(f"{flag(name)} is for random views, not for --views {views}")


def _finds_structure(takes: Any, task: Task, given: dict[str, Any], options: dict[str, Any]) -> bool:
    """Whether the learner finds out itself what is predicted, and nothing is said about it."""
    said = parameters_of(task.name, given) or any(options[name] is not None for name in _FILES)
    return not said and "structure" in takes and takes["structure"].default is None


# -- parts ----------------------------------------------------------------------------------------------------------
def _structure(task: Task, given: dict[str, Any], options: dict[str, Any]) -> Any:
    read = {name: options[name] for name in _FILES if options[name] is not None}
    return _class(task.name)(**parameters_of(task.name, given), **read)


def _features(task: Task, view: str, given: dict[str, Any], options: dict[str, Any]) -> Any:
    if task.numeric:
        return _class(view)() if view in ("dicts", "texts") else None
    if view == "tags":
        from accord.views.default import names_only

        features = names_only(1).set_params(**parameters_of("tokens", given))
    else:
        features = _class(view)(**parameters_of(view, given))
    about_words = {name: _about_words(name, options) for name in WORD_VIEWS if options[name]}
    if len(options["word_lists"] or ()) > 1:
        about_words["likeness"] = _likeness(options)
    if options["encoder"] is not None and view in _ENCODED:
        about_words["encoder"] = _vectors(options, view)
    if about_words:
        from accord.views.compose import ConcatenatedViews

        features = ConcatenatedViews({view: features, **about_words})
    if "kernel" in given:
        inner = features.set_params(bias=False) if view == "numbers" and "bias" not in given else features
        return _class("kernel")(inner, random_state=options["random_state"], **parameters_of("kernel", given))
    return features


def _apart(features: Any) -> tuple[Any, Any]:
    """Features of the words themselves, and what is known about words beside these, for who races the two."""
    views = getattr(features, "views", None)
    if not isinstance(views, dict):
        return features, None
    (own, *others) = views
    return views[own], {name: views[name] for name in others}


def _others(columns: Layout | None) -> list[str]:
    """Columns of a table that are no free text."""
    if columns is None or columns.feature_names is None:
        return []
    return [name for name in columns.feature_names if name not in (columns.text_columns or ())]


def _of_table(features: Any, columns: Layout, given: dict[str, Any], links: str | None) -> Any:
    """Views of every column of free text and, if there are others, of all of them together; see `read_csv`.

    If rows have names, these and the names that they are linked with come first.
    """
    from sklearn.base import clone

    from accord.views.compose import ConcatenatedViews
    from accord.views.linked import LinkedFeatures
    from accord.views.select import Select

    views = {name: clone(features) for name in columns.free_texts}
    if _others(columns):
        views["other columns"] = _class("dicts")(**{"standardize": True, **given})
    if len(views) == 1:
        (made,) = views.values()
    else:
        made = ConcatenatedViews({name: Select(k, view) for k, (name, view) in enumerate(views.items())})
    if not columns.named:
        return made
    return LinkedFeatures(links, made, key=0, links=1 if columns.link_column is not None else None)


def _vectors(options: dict[str, Any], view: str) -> Any:
    """Those of the encoder, about as long as the other features."""
    from accord.views.encoded import EncoderFeatures

    encode = options["encoder"]
    name = getattr(encode, "name", None) or options["encoder_name"]
    return EncoderFeatures(encode, name=name, bias=False, scale=_ENCODED[view], cache=options["encoder_cache"])


def _likeness(options: dict[str, Any]) -> Any:
    """What several word lists say of words that none of them has, by the words around these and by clusters."""
    from accord import BrownClusters, ListLikeness, TokenFeatures

    judge: list[Any] = [TokenFeatures(window=2)]
    if options["clusters"]:
        judge.append(BrownClusters(options["clusters"], window=2))
    return ListLikeness(list(options["word_lists"]), judge)


def _about_words(name: str, options: dict[str, Any]) -> Any:
    made = find(WORD_VIEWS[name])
    if name == "embeddings":
        return made(options[name], vocabulary=options["vocabulary"])
    if name == "clusters":
        return made(options[name])
    if name == "word_lists":
        return made(list(options[name]))
    more = {}
    if name == "canonical" and options["learner"] == "type-consistency":
        more["n_classes"] = WORD_CLASSES
    return made(random_state=options["random_state"], **more)
