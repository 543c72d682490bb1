#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write python/quickbeam_ct/__init__.pyi, the types of the package for editors and type checkers, from the package itself and the
library's tables of options:  PYTHONPATH=python QUICKBEAM_LIBRARY=build/libquickbeam.so scripts/make-python-stubs.py [FILE]"""
import inspect
import pathlib
import sys

import quickbeam_ct as qb
from quickbeam_ct import _options
from quickbeam_ct._jobs import VERBS

TABLES = (*VERBS, "center", "project", "simulate", "prep", "scan", "output", "geometry")
KNOWN = {
    "path": "PathLike", "output": "PathLike | None", "out": "Array | None", "volume": "Array", "projections": "Array | PathLike | Scan",
    "source": "Array | PathLike", "angles": "Sequence[float] | Array | str | None", "pixel_size": "float | None", "geometry":
    "Geometry | PathLike | None", "flats": "Array | PathLike | Sequence[PathLike] | None", "darks": "Array | PathLike | None",
    "threads": "int | None", "max_ram": "int | None", "device": "str | None", "max_vram": "int | None", "rows": "int", "columns": "int",
    "progress": "Callable[[str, int, int], object] | None", "verb": "str", "table": "str", "phantom": "str", "dataset": "str | None",
    "voxel": "float | Sequence[float] | None", "shape": "Sequence[int] | None", "kernel": "str | None", "x": "Array",
    "accumulate": "bool", "sod": "float | None", "sdd": "float | None", "pixel": "float | Sequence[float]", "beam": "str", "views": "Any",
}
RETURNS = {
    "center": "Center",
    "compare": "dict[str, float | None]", "info": "dict[str, Any]", "read": "numpy.ndarray", "write": "None", "simulate": "Scan",
    "plan": "Plan", "operator": "Operator", "options": "list[dict[str, Any]]", "version": "str", "show": "Viewer", "close": "None", "show_config": "dict[str, Any]",
    "parallel": "Geometry", "cone": "Geometry", "fan": "Geometry", "from_file": "Geometry", "from_vectors": "Geometry",
    "from_matrices": "Geometry", "geometry": "Geometry", "beam": "str", "T": "Operator", "__getitem__": "Operator",
    "problems": "list[str]", "findings": "list[dict[str, Any]]", "inspect": "list[str]", "save": "None", "picture": "None",
}
PROPERTIES = {"shape": "tuple[int, ...]", "info": "dict[str, Any]", "domain": "tuple[int, ...]", "range": "tuple[int, ...]",
              "kernel": "str", "forecast": "dict[str, Any]", "report": "dict[str, Any] | None", "angles": "numpy.ndarray | None", "vectors": "numpy.ndarray"}


def type_of(row):
    plain = {"flag": "bool", "int": "int", "bytes": "int | str", "double": "float | str", "text": "str | float", "dtype": "str",
             "numbers": "float | Sequence[float]", "list": "str | Sequence[str]"}
    if row["type"] == "choice":
        return f"Literal[{', '.join(map(repr, row['choices'].split('|')))}]"
    return plain[row["type"]]


OPTIONS = {row["name"]: type_of(row) for table in reversed(TABLES) for row in _options.rows(table)}


def argument(p, own):
    stars = {p.VAR_KEYWORD: "**", p.VAR_POSITIONAL: "*"}.get(p.kind, "")
    if stars:
        return f"{stars}{p.name}: Any"
    kind = KNOWN.get(p.name) if own or p.name in ("output", "threads", "max_ram", "device", "max_vram", "progress") else None
    kind = kind or (OPTIONS[p.name] + " | None" if p.name in OPTIONS else "Any")
    return f"{p.name}: {kind}" + ("" if p.default is p.empty else " = ...")


def line(name, call, indent="", first=None):
    own = set(inspect.signature(call, follow_wrapped=False).parameters) if not hasattr(call, "__signature__") else set(call.__code__.co_varnames)
    words, star = [first] if first else [], False
    for p in list(inspect.signature(call).parameters.values())[1 if first == "self" else 0:]:
        if p.kind is p.KEYWORD_ONLY and not star:
            words, star = [*words, "*"], True
        words.append(argument(p, p.name in own))
    return f"{indent}def {name}({', '.join(words)}) -> {RETURNS.get(name, 'None' if name == '__init__' else 'Any')}: ..."


def class_lines(name, kind):
    if issubclass(kind, tuple):
        yield f"class {name}(NamedTuple):"
        yield from (f"    {field}: {'float' if field in ('column', 'confidence') else 'dict[str, tuple[float, float]]' if field == 'methods' else 'str'}"
                    for field in kind._fields)
        return
    bases = [b.__name__ for b in kind.__bases__ if b is not object]
    yield f"class {name}({', '.join(bases)}):" if bases else f"class {name}:"
    members = [(n, m) for n, m in vars(kind).items() if n in ("__init__", "__matmul__", "__call__", "__getitem__") or not n.startswith("_")]
    if not members or issubclass(kind, Exception):
        yield "    status: int" if issubclass(kind, Exception) and not issubclass(kind, Warning) else "    ..."
        return
    for n, m in members:
        if isinstance(m, property):
            yield f"    @property\n    def {n}(self) -> {PROPERTIES.get(n, RETURNS.get(n, 'Any'))}: ..."
        elif isinstance(m, classmethod):
            yield "    @classmethod\n" + line(n, getattr(kind, n), "    ", "cls")
        elif callable(m) and n != "__init__" or n == "__init__" and name != "Operator":
            yield line(n, m, "    ", "self")


def stubs():
    yield "# SPDX-License-Identifier: MIT\n# Written by scripts/make-python-stubs.py."
    yield "import os\nfrom collections.abc import Callable, Sequence\nfrom typing import Any, Literal, NamedTuple\n\nimport numpy\n"
    yield "PathLike = str | os.PathLike[str]\nArray = Any  # of NumPy, CuPy, PyTorch, or any that speaks DLPack\n\n__version__: str\n"
    for name in sorted(qb.__all__):
        thing = getattr(qb, name)
        yield "\n".join(class_lines(name, thing)) if inspect.isclass(thing) else line(name, thing)
        yield ""


target = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(qb.__file__).with_name("__init__.pyi"))
target.write_text("\n".join(stubs()).rstrip() + "\n")
