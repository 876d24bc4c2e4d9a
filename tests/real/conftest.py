"""What tests on real data share; they need a local data folder, see `data_dir`."""

import numpy as np
import pytest

from accord.datasets import available
from accord.evaluation import Results
from accord.experiments import REGISTRY


@pytest.fixture
def quick_run(data_dir, tmp_path):
    """Run an experiment quickly, and once more, which computes nothing: its results and its report."""

    def run(name):
        experiment = REGISTRY[name]
        missing = set(experiment.data_sets) - set(available(data_dir))
        if missing:
            pytest.skip(f"the data folder has no {', '.join(sorted(missing))}")
        paths = experiment.run(data_dir, tmp_path / name, quick=True, verbose=0)
        assert all(path.stat().st_size > 0 for path in paths)
        results = Results.load(paths[2])
        assert set(results.methods) == {task.method for task in experiment.tasks(True, 0)}
        assert not any(np.isnan(row["value"]) for row in results.rows)
        journal = paths[-1].read_bytes()
        experiment.run(data_dir, tmp_path / name, quick=True, verbose=0)
        assert paths[-1].read_bytes() == journal
        return results, paths[1].read_text(encoding="utf-8")

    return run
