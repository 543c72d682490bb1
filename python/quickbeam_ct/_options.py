# SPDX-License-Identifier: MIT
"""Structs of options, filled by the library's own tables of parameters: their names, ranges and defaults are the command's."""
import ctypes
import functools
import inspect
from keyword import iskeyword

from ._library import BadArgument, Param, check, lib, raises

ENVIRONMENT = ("threads", "max_ram", "device", "max_vram", "progress")
_TYPES = ["flag", "int", "bytes", "double", "text", "choice", "dtype", "numbers", "list"]


@functools.cache
def table(verb):
    """The first row of a table."""
    if not hasattr(lib, f"qb_{verb}_params"):
        raise BadArgument(f"options of {verb!r}: give the name of a call, as fbp, or scan, prep, geometry or output", 6)
    return (Param * 1).in_dll(lib, f"qb_{verb}_params")


@functools.cache
def _rows(verb):
    found, first, i = [], ctypes.cast(table(verb), ctypes.POINTER(Param)), 0
    while first[i].name:
        row = first[i]
        text = {key: value.decode() if value else None for key, value in
                (("name", row.name), ("default", row.initial), ("choices", row.choices), ("help", row.help))}
        text["name"] = text["name"].replace("-", "_") + "_" * iskeyword(text["name"])  # as_, lambda_
        found.append({**text, "type": _TYPES[row.type], "range": (row.min, row.max) if row.min < row.max else None})
        i += 1
    return found


def rows(verb):
    """[{name, type, default, choices, range, help}] of a table's options."""
    return [dict(row) for row in _rows(verb)]


@functools.cache
def _bytes(verb):
    return lib.qb_params_size(table(verb))


@functools.cache
def names(verb):
    return frozenset(row["name"] for row in _rows(verb))


def keywords(tables):
    """The options of some tables as parameters of a signature: None stands for the library's default."""
    found = {}
    for table_ in tables:
        for row in _rows(table_):
            found.setdefault(row["name"], inspect.Parameter(row["name"], inspect.Parameter.KEYWORD_ONLY, default=None))
    return found


def sign(function, tables):
    """Show the options of `tables` in the place of the function's **given."""
    own = inspect.signature(function)
    kept = {name: p for name, p in own.parameters.items() if p.kind is not inspect.Parameter.VAR_KEYWORD}
    environment = {name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
                   for name in ENVIRONMENT}
    both = {**keywords(tables), **environment, **kept}
    ordered = [*kept.values(), *(p for name, p in both.items() if name not in kept)]
    function.__signature__ = own.replace(parameters=ordered)
    return raises(function)


def plain(value):
    """Arrays as lists, slices as A:B, types as their names."""
    if isinstance(value, slice):
        if not isinstance(value.stop, int) or value.stop < 0:
            raise BadArgument(f"{value}: give its end, as slice(0, 10)", 6)
        return f"{value.start or 0}:{value.stop}" + (f":{value.step}" if value.step is not None else "")
    if isinstance(value, type):
        return value.__name__
    if "dtype" in type(value).__name__.lower():  # of NumPy, PyTorch
        return str(value).removeprefix("torch.")
    return value.tolist() if hasattr(value, "tolist") else value


def _words(value):
    value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_words(v) for v in value)
    return repr(float(value)) if isinstance(value, float) else str(value)


class Options:
    """A struct that was zeroed, so that all is at its default, and then set by keywords."""

    def __init__(self, verb, given):
        self.table = table(verb)
        self.room = (ctypes.c_size_t * (-(-_bytes(verb) // ctypes.sizeof(ctypes.c_size_t))))()
        self.room[0] = _bytes(verb)
        try:
            for name, value in given.items():
                if name not in names(verb):
                    raise TypeError(f"{verb}() has no option {name}: it has {', '.join(sorted(names(verb)))}")
                if value is None:
                    continue
                words = _words(value)
                if "\0" in words:
                    raise BadArgument(f"{name}: a text with a zero byte", 6)
                check(lib.qb_params_set(self.table, self.room, name.rstrip("_").replace("_", "-").encode(), words.encode()))
        except BaseException:
            self.close()
            raise

    def close(self):
        lib.qb_params_clear(self.table, self.room)

    def __enter__(self):
        return self.room

    def __exit__(self, *_):
        self.close()
