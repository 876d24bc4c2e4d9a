"""Model files of version 0.1 load, and predict what they predicted then.

The files were written by 0.1.0. They stay as they are: a file that no longer loads is somebody's model.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import accord

FOLDER = Path(__file__).with_name("models_of_0_1")
SAID = json.loads((FOLDER / "predictions.json").read_text("utf-8"))


def test_every_file_has_predictions():
    assert {path.stem for path in FOLDER.glob("*.accord")} == SAID.keys()


@pytest.mark.parametrize("name", SAID)
def test_old_files_predict_as_they_did(name):
    found = accord.load(FOLDER / f"{name}.accord").predict(SAID[name]["inputs"])
    expected = SAID[name]["predictions"]
    if isinstance(expected[0], float):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    else:
        assert (found.tolist() if isinstance(found, np.ndarray) else found) == expected
