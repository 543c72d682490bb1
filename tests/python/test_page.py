# SPDX-License-Identifier: MIT
"""What docs/python.md shows runs as it stands."""
import pathlib
import re

import quickbeam_ct as qb

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "python.md").read_text()


def test_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(blocks) >= 2
    names = {}
    for block in blocks:
        exec(block, names)


def test_the_page_names_every_call():
    for name in qb.__all__:
        if name not in ("Center", "Interrupted", "Operator", "version"):
            assert re.search(rf"\b{name}\b", PAGE), name
