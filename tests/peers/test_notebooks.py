# SPDX-License-Identifier: MIT
"""Jupyter's own reader takes the notebooks."""
import pathlib

import nbformat
import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_valid(path):
    nbformat.validate(nbformat.read(path, as_version=4))
