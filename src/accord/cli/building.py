"""From options to an estimator: structure, features, several views, learner."""

from __future__ import annotations

from typing import Any

import click

from accord.cli.parameters import CLASSES, SEVERAL_VIEWS, parameters_of, refuse_foreign


def make_learner(learner: str, task: str, view: str, given: dict[str, Any], options: dict[str, Any]) -> Any:
    """The estimator that the options describe; `view` is the kind of features that suits the data."""
    base = options["base_learner"] or "perceptron"
    composition = options["views"] or "random"
    _refuse(learner, view, given, options)
    kinds = [learner, *([base] if learner == "sum-of-views" else []), task, view]
    kinds += ["kernel"] if "kernel" in given else []
    # the sum of views draws its random views itself
    kinds += [composition] if learner in SEVERAL_VIEWS and (learner, composition) != ("sum-of-views", "random") else []
    refuse_foreign(given, tuple(kinds))
    structure = _structure(task, given, options)
    features = _features(view, given, options)
    common = {"n_jobs": options["n_jobs"], "verbose": int(not options["quiet"])}
    seed = options["random_state"]
    if learner == "sum-of-views":
        part = _class(base)(
            structure, view=features, random_state=seed, n_jobs=options["n_jobs"], **parameters_of(base, given)
        )
        views = None if composition == "random" else _composed(composition, features, {})
        # with views that are not random, their number and share are not the sum's to say
        own = parameters_of(learner, given) if views is None else {}
        return _class(learner)(part, views=views, **own, **common)
    args = _learner_parameters(learner, given, options)
    if learner in SEVERAL_VIEWS:
        views = _composed(composition, features, given)
        return _class(learner)(structure, views=views, random_state=seed, **common, **args)
    return _class(learner)(structure, view=features, random_state=seed, **common, **args)


def _refuse(learner: str, view: str, given: dict[str, Any], options: dict[str, Any]) -> None:
    """Options that choose a class which this model cannot have."""
    if options["views"] and learner not in SEVERAL_VIEWS:
        raise click.UsageError(f"--views is for learners of several views ({', '.join(SEVERAL_VIEWS)}), not {learner}")
    if options["base_learner"] and learner != "sum-of-views":
        raise click.UsageError(f"--base-learner is what --learner sum-of-views sums; {learner} has none")
    if options["views"] == "token-surface" and (view != "tokens" or "kernel" in given):
        raise click.UsageError("--views token-surface splits the features of plain tokens; use random or odd-even")
    if options["distributional"] and view != "tokens":
        raise click.UsageError("--distributional learns from sentences of plain tokens (no --feature-columns)")
    if options["views"] and options["views"] != "random":
        for name in ("n_views", "share"):
            if name in given:
                flag = "--" + name.replace("_", "-")
                raise click.UsageError(f"{flag} is for random views, not for --views {options['views']}")


def _structure(task: str, given: dict[str, Any], options: dict[str, Any]) -> Any:
    from accord.datasets import read_taxonomy

    args = parameters_of(task, given)
    if task == "taxonomy":
        args["taxonomy"] = read_taxonomy(options["taxonomy"])
    return _class(task)(**args)


def _features(view: str, given: dict[str, Any], options: dict[str, Any]) -> Any:
    features = _class(view)(**parameters_of(view, given))
    if options["distributional"]:
        from accord.views import ConcatenatedViews

        features = ConcatenatedViews({"tokens": features, "distributional": _distributional(options)})
    if "kernel" in given:
        base = features.set_params(bias=False) if view == "numbers" and "bias" not in given else features
        return _class("kernel")(base=base, random_state=options["random_state"], **parameters_of("kernel", given))
    return features


def _composed(composition: str, features: Any, given: dict[str, Any]) -> Any:
    """The features shared out among several views."""
    args = parameters_of(composition, given)
    if composition == "token-surface" and hasattr(features, "views"):
        from accord.views.splits import TOKEN_AND_SURFACE

        args["groups"] = {name: [f"tokens/{group}" for group in groups] for name, groups in TOKEN_AND_SURFACE.items()}
        args["groups"]["token"].append("distributional")  # what is learned about words goes with the words
    return _class(composition)(features, **args)


def _learner_parameters(learner: str, given: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    args = parameters_of(learner, given)
    if options["stream"] and learner == "crf" and args.setdefault("solver", "sgd") != "sgd":
        raise click.UsageError(f"--solver {args['solver']} needs all data at once; --stream trains with sgd")
    return args


def _class(name: str) -> Any:
    import accord

    return getattr(accord, CLASSES[name])


def _distributional(options: dict[str, Any]) -> Any:
    from accord import views

    if not hasattr(views, "DistributionalFeatures"):
        raise click.UsageError("--distributional: this version of Accord has no distributional features")
    view = views.DistributionalFeatures()
    return view.set_params(random_state=options["random_state"]) if "random_state" in view.get_params() else view


def with_dicts(learner: str, task: str, given: dict[str, Any], options: dict[str, Any]) -> Any:
    """The estimator for a table that turned out to hold words; what is said about columns of numbers is dropped."""
    own = parameters_of("numbers", given)
    others = {name: value for name, value in given.items() if name not in own}
    return make_learner(learner, task, "dicts", others, options)
