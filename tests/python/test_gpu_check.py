# SPDX-License-Identifier: MIT
"""scripts/python-gpu-check.py runs, as far as it goes without a GPU."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]


def test_it_runs_on_the_cpu(tmp_path):
    if "QUICKBEAM_LIBRARY" not in os.environ:
        pytest.skip("there is no build folder")
    subprocess.run([sys.executable, ROOT / "scripts/python-gpu-check.py", "--build", pathlib.Path(os.environ["QB"]).parent, "--device", "cpu",
                    "--size", "16", "--views", "16", "--repeat", "1", "--json", tmp_path / "found.json"], check=True)
    found = json.loads((tmp_path / "found.json").read_text())["checks"]
    assert found["transpose"]["ok"] and found["batch values"]["ok"] and "skipped" in found["streams"]
