# SPDX-License-Identifier: MIT
"""The notebooks run from the first cell to the last, and are small. What they assert holds."""
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_five_and_small():
    assert len(NOTEBOOKS) == 5 and sum(path.stat().st_size for path in NOTEBOOKS) < 1 << 20


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path):
    cells = json.loads(path.read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    if "import torch" in code:
        pytest.importorskip("torch")
    assert "assert " in code
    drawn = [output for cell in cells for output in cell.get("outputs", ()) if "image/png" in output.get("data", ())]
    assert drawn, "no picture is kept: run-notebooks.py --write makes it"
    subprocess.run([sys.executable, ROOT / "scripts" / "run-notebooks.py", path], check=True)
