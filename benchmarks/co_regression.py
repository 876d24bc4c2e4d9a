"""Co-regression: how it scales with unlabeled examples, and beside the regressors of other libraries.

``python benchmarks/co_regression.py --data DIR --old-python /path/to/venv/bin/python`` measures

scale
    the semi-parametric fit with up to a million unlabeled examples that come as a stream of blocks, and as a
    memory-mapped file: time against m, the rate of its kernel and Gram work as a share of the matrix-multiply rate
    measured in the same process, peak memory, and what its steps take at least, measured alone;
ridge
    RLSR beside scikit-learn's KernelRidge: the same predictions, and their times;
peers
    accuracy and time on 50 labeled and 450 unlabeled rows beside the semi-supervised regressors of mvlearn, sslearn and
    LAMDA-SSL, which run only in an old environment (see README.md).

Every measurement is a process of its own on one core with one thread. ``--quick`` is a small version.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import measure
from co_regression_fits import accord_peer, ridge_once, scale_once
from co_regression_report import measure_all


def run_child(arguments: dict[str, Any]) -> None:
    """What `child` asked for."""
    measure.use_cores([arguments.pop("core")])
    kind = arguments.pop("kind")
    if kind == "peer":
        arguments["path"] = Path(arguments["path"])
    found = {"scale": scale_once, "ridge": ridge_once, "peer": accord_peer}[kind](**arguments)
    print(json.dumps(found))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=("scale", "ridge", "peers"), default=["scale", "ridge", "peers"])
    parser.add_argument("--rows", type=int, default=1_000_000, help="unlabeled examples of the largest fit")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each fit; the fastest counts")
    parser.add_argument("--draws", type=int, default=2, help="draws of rows of each set")
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--data", help="the folder with the data sets, for the peers; default: ACCORD_DATA")
    parser.add_argument("--old-python", help="Python of the environment with the old libraries, see README.md")
    parser.add_argument("--output", type=Path, help="folder for co_regression.json and co_regression.md")
    parser.add_argument("--quick", action="store_true", help="small versions of everything")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_child(json.loads(options.child))
        return
    if options.quick:
        options.rows, options.repeat, options.draws = 65_536, 1, 1
    measure_all(options)


if __name__ == "__main__":
    sys.exit(main())
