# SPDX-License-Identifier: MIT
"""Where the rotation axis falls on the detector."""
import ctypes
import typing

from ._library import BadArgument, CenterResult, Env, declare, lib
from ._options import ENVIRONMENT, Options, names, sign
from ._run import run
from ._scan import Scan, is_path, tell_problems

declare("qb_center_find", *[ctypes.c_void_p] * 3, ctypes.POINTER(Env), ctypes.POINTER(CenterResult))


class Center(typing.NamedTuple):
    """Where the rotation axis falls: column, confidence (0 to 1), and what each finder says."""
    column: float
    confidence: float
    methods: dict
    warning: str


def center(projections, angles=None, *, flats=None, darks=None, **given):
    """The rotation axis of a parallel beam as a Center. projections: as for fbp. Other keywords: options("center"), those of
    options("prep") and ("scan"), and threads, max_ram, device, max_vram, progress(what, done, total)."""
    env = {name: given.pop(name) for name in ENVIRONMENT if name in given}
    parts = {table: {name: given.pop(name) for name in list(given) if name in names(table)} for table in ("center", "prep", "scan")}
    if given:
        raise TypeError(f"center() has no option {next(iter(given))}: it has {', '.join(sorted(names('center')))}, and those of "
                        "options('prep'), options('scan')")
    if isinstance(projections, Scan):
        scan = projections
    else:
        if not is_path(projections) and angles is None:
            raise BadArgument("there are no angles", 6)
        scan = Scan(projections, angles, flats=flats, darks=darks, **parts["scan"])
    tell_problems(scan, air=parts["prep"].get("air"))
    found = CenterResult(struct_size=ctypes.sizeof(CenterResult))
    with Options("prep", parts["prep"]) as prep, Options("center", parts["center"]) as chosen:
        run(lib.qb_center_find, scan._pointer, prep, chosen, after=(ctypes.byref(found),), **env)
    methods = {m.name.decode(): (m.column, m.confidence) for m in found.method[:found.count]}
    return Center(found.column, found.confidence, methods, found.warning.decode())


sign(center, ("center", "prep", "scan"))
