"""Federated co-regression over Flower: real sites on real networks (extra ``accord-ml[federated]``).

The coordinator runs Flower's SuperLink and, with ``flwr run``, the app that :func:`write_app` writes. Every site runs
``python -m accord.federated.flower_node``. See ``docs/federated.md``.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from accord.exceptions import InputError
from accord.federated.engine import QUIET, quiet_environment, require_flower
from accord.federated.flower_coordinator import FlowerSites
from accord.federated.flower_node import run_site
from accord.federated.flower_server import RunSettings, lead, read_result, server_app
from accord.federated.flower_site import SiteSettings, client_app

__all__ = [
    "QUIET",
    "FlowerSites",
    "RunSettings",
    "SiteSettings",
    "client_app",
    "lead",
    "quiet_environment",
    "read_result",
    "require_flower",
    "run_site",
    "server_app",
    "write_app",
]

_PROJECT = """\
[project]
name = "accord-federated"
version = "1.0.0"
description = "Co-regularised regression across sites that share no data"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "accord"

[tool.flwr.app.components]
serverapp = "federation:server"
clientapp = "federation:client"

[tool.flwr.app.config]
"""
_MODULE = '''\
"""The two halves of the app; both are in the package."""

from accord.federated.flower import client_app, server_app

server = server_app()
client = client_app()
'''


def write_app(folder: str | Path, **settings: str | float | int) -> Path:
    """Write the app that ``flwr run`` starts; returns its folder.

    Parameters
    ----------
    folder : path
        Is made, if it is not there.
    **settings
        Of the run, see :class:`RunSettings`; ``result`` has to be among them. ``flwr run`` can change them for a run.

    Examples
    --------
    >>> import tempfile
    >>> app = write_app(tempfile.mkdtemp() + "/app", result="result.accord", lambda_=0.2, sites="a,b")
    >>> print((app / "pyproject.toml").read_text().split("config]\\n")[1])  # what is not given has its default
    result = "result.accord"
    lambda = 0.2
    sites = "a,b"
    min-sites = 2
    ...
    """
    chosen = RunSettings.from_config({key.strip("_").replace("_", "-"): value for key, value in settings.items()})
    # All of them, as Flower lets a run change only what it finds here. Such JSON is TOML, too.
    lines = [f"{key.strip('_').replace('_', '-')} = {json.dumps(value)}\n" for key, value in asdict(chosen).items()]
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / "pyproject.toml").write_text(_PROJECT + "".join(lines), encoding="utf-8")
        (path / "federation.py").write_text(_MODULE, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write the app to {path}: {error.strerror}; name another folder") from error
    return path
