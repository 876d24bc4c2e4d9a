"""Federated co-regression over Flower: real sites on real networks (extra ``accord[federated]``).

The coordinator runs Flower's SuperLink and, with ``flwr run``, the app that :func:`write_app` writes. Every site runs
``python -m accord.federated.flower_node``. See ``docs/federated.md``.
"""

from __future__ import annotations

import json
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
        Defaults of the run's configuration, see :class:`RunSettings`; ``result`` has to be among them.

    Examples
    --------
    >>> import tempfile
    >>> app = write_app(tempfile.mkdtemp() + "/app", result="result.accord", lambda_=0.1, sites="a,b")
    >>> print((app / "pyproject.toml").read_text().split("config]\\n")[1].strip())
    result = "result.accord"
    lambda = 0.1
    sites = "a,b"
    """
    config = {key.strip("_").replace("_", "-"): value for key, value in settings.items()}
    RunSettings.from_config(config)
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        lines = [f"{key} = {json.dumps(value)}\n" for key, value in config.items()]  # such JSON is TOML, too
        (path / "pyproject.toml").write_text(_PROJECT + "".join(lines), encoding="utf-8")
        (path / "federation.py").write_text(_MODULE, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write the app to {path}: {error.strerror}; name another folder") from error
    return path
