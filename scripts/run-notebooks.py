#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the code of notebooks, cell by cell, in a folder that is thrown away: run-notebooks.py [--write] NOTEBOOK...
--write keeps what the cells print and draw, as small pictures; without it matplotlib need not be there. It needs no Jupyter."""
import argparse
import base64
import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import types
import warnings


class Anything(types.ModuleType):
    """In the place of matplotlib: every call is taken and gives the same again, twice where two are wanted."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_, **__):
        return self

    def __iter__(self):
        return iter([self] * 8)

    def __getitem__(self, _):
        return self


class Pair(Anything):
    """plt.subplots gives a figure and axes."""

    def subplots(self, rows=1, columns=1, **_):
        axes = [Anything("axes") for _ in range(rows * columns)]
        return Anything("figure"), axes if len(axes) > 1 else axes[0]


def stand_in():
    sys.modules["matplotlib"], sys.modules["matplotlib.pyplot"] = Anything("matplotlib"), Pair("matplotlib.pyplot")
    sys.modules["matplotlib"].pyplot = sys.modules["matplotlib.pyplot"]


def pictures():
    """What was drawn, as outputs of a cell."""
    import matplotlib.pyplot as plt
    for number in plt.get_fignums():
        room = io.BytesIO()
        plt.figure(number).savefig(room, format="png", dpi=50, bbox_inches="tight")
        yield {"output_type": "display_data", "metadata": {}, "data": {"image/png": base64.b64encode(room.getvalue()).decode()}}
    plt.close("all")


def run(path, write):
    notebook, names, count = json.loads(path.read_text()), {"__name__": "__main__"}, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        count, said = count + 1, io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile("".join(cell["source"]), f"{path.name}, cell {count}", "exec"), names)
        printed = said.getvalue()
        cell["execution_count"] = count
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": printed.splitlines(True)}] if printed else []
        cell["outputs"] += pictures() if write else []
    return notebook


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("notebook", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ["MPLBACKEND"] = "Agg"
    if not options.write:
        stand_in()
    for path in map(pathlib.Path.resolve, options.notebook):
        with tempfile.TemporaryDirectory() as folder:
            home = os.getcwd()
            os.chdir(folder)
            try:
                notebook = run(path, options.write)
            finally:
                os.chdir(home)
        if options.write:
            path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(f"{path.name}: ran")


if __name__ == "__main__":
    main()
