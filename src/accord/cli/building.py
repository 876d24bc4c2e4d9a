"""From options to an estimator: structure, features, several views, learner."""

from __future__ import annotations

from typing import Any

import click

from accord.cli.parameters import (
    CLASSES,
    DEFAULT_BASE,
    REGRESSORS,
    SEVERAL_VIEWS,
    WORD_VIEWS,
    parameters_of,
    refuse_foreign,
)

WORD_CLASSES = 256  # kinds of words that --canonical adds to those of type consistency


def make_learner(learner: str, task: str, view: str, given: dict[str, Any], options: dict[str, Any]) -> Any:
    """The estimator that the options describe; `view` is the kind of features that suits the data."""
    base = options["base_learner"] or DEFAULT_BASE.get(learner)
    composition = options["views"] or "random"
    _refuse(learner, view, given, options)
    if learner in REGRESSORS:
        return _regressor(learner, composition, view, given, options)
    if learner == "pcfg":
        return _grammar(task, given, options)
    kinds = [learner, *([base] if base else []), task, "tokens" if view == "tags" else view]
    kinds += ["kernel"] if "kernel" in given else []
    # a sum of random views draws them itself
    split = learner in SEVERAL_VIEWS and (learner, composition) != ("sum-of-views", "random")
    refuse_foreign(given, (*kinds, composition) if split else tuple(kinds))
    structure, features = _structure(task, given, options), _features(view, given, options)
    args = _learner_parameters(learner, given, options)
    seed = {"random_state": options["random_state"]}
    common = {"n_jobs": options["n_jobs"], "verbose": int(not options["quiet"])}
    if base:
        part_args = parameters_of(base, given)
        part = _class(base)(structure, view=features, n_jobs=options["n_jobs"], **seed, **part_args)
        if learner == "type-consistency":
            return _class(learner)(part, **seed, **common, **args)
        if split:
            args["views"] = _class(composition)(features)
        return _class(learner)(part, **common, **args)
    if split:
        views = _class(composition)(features, **parameters_of(composition, given))
        return _class(learner)(structure, views=views, **seed, **common, **args)
    return _class(learner)(structure, view=features, **seed, **common, **args)


def _regressor(learner: str, composition: str, view: str, given: dict[str, Any], options: dict[str, Any]) -> Any:
    """A learner of numbers: it has no structure, and compares what its view has by a kernel."""
    alone = learner == "rlsr"
    refuse_foreign(given, (learner,) if alone else (learner, composition))
    features = _class(view)() if view == "dicts" else None
    args = parameters_of(learner, given)
    if alone:
        return _class(learner)(features, **args)
    views = _class(composition)(features, **parameters_of(composition, given))
    common = {name: options[name] for name in ("random_state", "n_jobs")}
    return _class(learner)(views, verbose=int(not options["quiet"]), **common, **args)


def _grammar(task: str, given: dict[str, Any], options: dict[str, Any]) -> Any:
    """A generative grammar: it knows words by their tags alone, so that it has no features."""
    refuse_foreign(given, ("pcfg", task))
    for name in WORD_VIEWS:
        if options[name]:
            raise click.UsageError(f"--{name} adds features, and pcfg has none")
    common = {name: options[name] for name in ("random_state", "n_jobs")}
    args = parameters_of("pcfg", given)
    return _class("pcfg")(_structure(task, given, options), verbose=int(not options["quiet"]), **common, **args)


def _refuse(learner: str, view: str, given: dict[str, Any], options: dict[str, Any]) -> None:
    """Options that choose a class which this model cannot have."""
    views, about_words = options["views"], [f"--{name}" for name in WORD_VIEWS if options[name]]
    if views and learner not in (*SEVERAL_VIEWS, "co-rlsr"):
        several = f"learners of several views ({', '.join(SEVERAL_VIEWS)}) and co-rlsr"
        raise click.UsageError(f"--views is for {several}, not {learner}")
    if given.get("gamma") == "auto" and learner not in REGRESSORS:
        raise click.UsageError(f"--gamma auto is for {' and '.join(REGRESSORS)}; give {learner} a number")
    if options["base_learner"] and learner not in DEFAULT_BASE:
        raise click.UsageError(f"--base-learner is what {' and '.join(DEFAULT_BASE)} are made of; {learner} has none")
    if views == "token-surface" and (view != "tokens" or "kernel" in given or about_words):
        raise click.UsageError("--views token-surface splits the features of plain tokens; use random or odd-even")
    if about_words and view != "tokens":
        raise click.UsageError(f"{about_words[0]} needs sentences of plain tokens (no --feature-columns)")
    if learner == "type-consistency" and view != "tokens":
        raise click.UsageError("--learner type-consistency needs sentences of plain tokens (no --feature-columns)")
    if views not in (None, "random"):
        for name in ("n_views", "share"):
            if name in given:
                flag = "--" + name.replace("_", "-")
                raise click.UsageError(f"{flag} is for random views, not for --views {views}")


def _structure(task: str, given: dict[str, Any], options: dict[str, Any]) -> Any:
    from accord.datasets import read_taxonomy

    args = parameters_of(task, given)
    if task == "taxonomy":
        args["taxonomy"] = read_taxonomy(options["taxonomy"])
    if task == "tree":
        args["grammar"] = options["grammar"]  # read already: a list of trees
    return _class(task)(**args)


def _features(view: str, given: dict[str, Any], options: dict[str, Any]) -> Any:
    if view == "tags":
        from accord.views.default import names_only

        features = names_only(1).set_params(**parameters_of("tokens", given))
    else:
        features = _class(view)(**parameters_of(view, given))
    about_words = {name: _about_words(name, options) for name in WORD_VIEWS if options[name]}
    if about_words:
        from accord.views.compose import ConcatenatedViews

        features = ConcatenatedViews({view: features, **about_words})
    if "kernel" in given:
        base = features.set_params(bias=False) if view == "numbers" and "bias" not in given else features
        return _class("kernel")(base, random_state=options["random_state"], **parameters_of("kernel", given))
    return features


def _about_words(name: str, options: dict[str, Any]) -> Any:
    import accord

    made = getattr(accord, WORD_VIEWS[name])
    if name == "embeddings":
        return made(options[name])
    more = {}
    if name == "canonical" and options["learner"] == "type-consistency":
        more["n_classes"] = WORD_CLASSES
    return made(random_state=options["random_state"], **more)


def _learner_parameters(learner: str, given: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    args = parameters_of(learner, given)
    if options["stream"] and learner == "crf" and args.setdefault("solver", "sgd") != "sgd":
        raise click.UsageError(f"--solver {args['solver']} needs all data at once; --stream trains with sgd")
    return args


def _class(name: str) -> Any:
    import accord

    return getattr(accord, CLASSES[name])


def with_dicts(learner: str, task: str, given: dict[str, Any], options: dict[str, Any]) -> Any:
    """The estimator for a table that turned out to hold words; what is said about columns of numbers is dropped."""
    own = parameters_of("numbers", given).keys() - parameters_of(learner, given).keys()
    others = {name: value for name, value in given.items() if name not in own}
    return make_learner(learner, task, "dicts", others, options)
