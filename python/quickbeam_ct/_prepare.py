# SPDX-License-Identifier: MIT
"""Counts to line integrals: the preparation that every reconstruction does, by itself."""
import ctypes
import json

from ._arrays import new_like, overlap, tensor_of
from ._check import path_bytes
from ._library import BadArgument, Env, Tensor, c_char_p, c_size_t, declare, lib, text_of
from ._options import ENVIRONMENT, Options, names, sign
from ._run import run
from ._scan import Scan, is_path, tell_problems

declare("qb_convert_report", *[ctypes.c_void_p] * 3, c_char_p, ctypes.POINTER(Env), ctypes.POINTER(ctypes.c_void_p))


class _ConvertOptions(ctypes.Structure):
    """qb_convert_options"""
    _fields_ = [("struct_size", c_size_t), ("output", c_char_p), ("center", c_char_p), ("array", ctypes.POINTER(Tensor))]


def prepare(projections, angles=None, *, flats=None, darks=None, out=None, output=None, **given):
    """Line integrals [view][row][column], float32, of a scan: what fbp, fdk, ... make of its numbers first. Flat and dark
    fields, rings, phase, hardening and the other steps of options("prep") are applied as they are asked for.

    projections: the path of a scan, a Scan, or an array [view][row][column] of counts, with flats= and darks=.
    angles: radians, one a view; may be left out unless a file is written.
    out: the array for the line integrals; None: a new one, of the library and on the device of the projections.
    output: a path instead (.h5, .npy, .mha, ...); then the report is returned, a dict.
    Other keywords: options("prep") and ("scan"); threads, max_ram, progress(what, done, total)."""
    env = {name: given.pop(name) for name in ENVIRONMENT if name in given}
    parts = {table: {name: given.pop(name) for name in list(given) if name in names(table)} for table in ("prep", "scan")}
    if given:
        raise TypeError(f"prepare() has no option {next(iter(given))}: it has those of options('prep') and options('scan')")
    if output is not None and out is not None:
        raise BadArgument("out and output are both given: give one of the two", 6)
    if isinstance(projections, Scan):
        scan = projections
        if angles is not None or flats is not None or darks is not None or parts["scan"]:
            raise BadArgument("this Scan was opened with its angles, fields and options: give them to Scan()", 6)
    else:
        scan = Scan(projections, angles, flats=flats, darks=darks, **parts["scan"])
    tell_problems(scan, air=parts["prep"].get("air"))
    array = not is_path(projections) and not isinstance(projections, Scan)
    options, kept = _ConvertOptions(struct_size=ctypes.sizeof(_ConvertOptions)), None
    if output is not None:
        options.output = path_bytes(output)
    else:
        out = new_like(projections if array else None, scan.shape) if out is None else out
        tensor, kept = tensor_of(out, "out", writes=True)
        if any(isinstance(read, Tensor) and overlap(read, tensor) for read in scan._kept):
            raise BadArgument("out overlaps the projections: give an array of its own", 6)
        options.array = ctypes.pointer(tensor)
    report = ctypes.c_void_p()
    with Options("prep", parts["prep"]) as prep:
        run(lib.qb_convert_report, scan._pointer, prep, ctypes.byref(options), b"quickbeam_ct.prepare",
            after=(ctypes.byref(report),), **env)
    del kept
    words = text_of(report)
    return out if output is None else json.loads(words)


sign(prepare, ("prep", "scan"))
