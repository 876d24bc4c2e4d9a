"""Flower, the engine of federated runs: found if it is installed, and kept from calling home."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from accord.exceptions import MissingExtraError

# Flower reports its use and asks for newer versions unless its processes find these in their environment.
QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}


def quiet_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a Flower process: nothing is reported, no version asked for, no package installed.

    Parameters
    ----------
    base : dict of str, optional
        What else the process is to find; by default the environment of this process.
    """
    return {
        **(os.environ if base is None else base),
        **QUIET,
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",  # the SuperLink would fetch an app's dependencies
    }


def require_flower() -> None:
    """An error that tells how to get Flower if it is missing. Called before every import of it.

    Flower reads its settings when it is imported, so they are made here; if it was imported before, they are changed.
    """
    os.environ.update(QUIET)
    telemetry = sys.modules.get("flwr.supercore.telemetry")
    if telemetry is not None:
        vars(telemetry)["FLWR_TELEMETRY_ENABLED"] = QUIET["FLWR_TELEMETRY_ENABLED"]
    try:
        import flwr.app  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "federated runs need Flower, which is not installed; install it with: pip install 'accord-ml[federated]'"
        ) from error
