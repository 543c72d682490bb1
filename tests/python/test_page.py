# SPDX-License-Identifier: MIT
"""What docs/python.md shows runs as it stands."""
import inspect
import pathlib
import re
import subprocess
import sys

import quickbeam_ct as qb
from quickbeam_ct._library import SOLVERS

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "python.md").read_text()


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(blocks) >= 2
    names = {}
    for block in blocks:
        exec(block, names)


def test_the_page_names_every_call():
    for name in qb.__all__:
        if name not in ("Center", "Interrupted", "Operator", "version", *SOLVERS):
            assert re.search(rf"\b{name}\b", PAGE), name


def test_the_stubs_are_up_to_date(tmp_path):
    root = pathlib.Path(__file__).parents[2]
    subprocess.run([sys.executable, root / "scripts" / "make-python-stubs.py", tmp_path / "stubs.pyi"], check=True)
    assert (tmp_path / "stubs.pyi").read_text() == (root / "python/quickbeam_ct/__init__.pyi").read_text()


def test_signatures_have_the_options_of_the_tables():
    for verb in ("fbp", "fdk", *SOLVERS, "mbir"):
        call = getattr(qb, verb)
        known = inspect.signature(call).parameters
        for table in (verb, "prep", "output"):
            assert {row["name"] for row in qb.options(table)} <= set(known), (verb, table)
        assert f'options("{verb}")' in call.__doc__ and "1/mm" in call.__doc__


def test_every_call_says_what_it_raises():
    calls = [getattr(qb, name) for name in qb.__all__ if inspect.isfunction(getattr(qb, name))]
    assert len(calls) > 15
    for call in calls:
        if call not in (qb.show_config, qb.version):
            assert call.__doc__.count("Raises Error") == 1, call
