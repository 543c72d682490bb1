# SPDX-License-Identifier: MIT
"""Volumes and scans in files: read, write, describe, compare, simulate."""
import ctypes
import json
import math
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_size_t, c_void_p

from ._arrays import DTYPES, on_host, refuse_mask
from ._check import numbers, path_bytes, text_bytes
from ._library import Array, ArrayInfo, BadArgument, Comparison, Env, Stack, check, declare, lib, raises
from ._options import Options, sign
from ._run import run
from ._scan import Scan, is_path

declare("qb_array_load_values", c_char_p, c_char_p, POINTER(Array), POINTER(c_double))
declare("qb_array_describe", c_char_p, c_char_p, POINTER(ArrayInfo))
declare("qb_array_destroy", POINTER(Array), result=None)
declare("qb_compare", POINTER(Array), POINTER(Array), POINTER(Comparison))
declare("qb_writer_create", c_char_p, POINTER(Stack), POINTER(c_void_p))
declare("qb_writer_write", c_void_p, c_size_t, c_size_t, c_void_p)
declare("qb_writer_commit", c_void_p, c_char_p)
declare("qb_writer_abort", c_void_p, result=None)
declare("qb_simulate", c_char_p, c_void_p, POINTER(Env))
_NAMES = {number: name for name, number in DTYPES.items()}


def _number(value):
    return None if math.isnan(value) else value


class _Loaded:
    """A file's array in the library's memory, which goes with it."""

    def __init__(self, path, dataset):
        self.array = Array()
        run(lib.qb_array_load_values, path_bytes(path), dataset.encode() if dataset else None, byref(self.array), None,
            environment=False)

    @property
    def __array_interface__(self):
        import numpy
        return {"version": 3, "shape": tuple(self.array.shape), "typestr": numpy.dtype(_NAMES[self.array.dtype]).str,
                "data": (self.array.data, False)}

    def __del__(self):
        if lib:
            lib.qb_array_destroy(byref(self.array))


@raises
def read(path, dataset=None):
    """The array of a file as NumPy's: a volume [z][y][x] or projections [view][row][column], in its own type; integers that
    stand for a range of values (--range) come as those values, in float32. info(path) has voxel size and units."""
    import numpy
    return numpy.asarray(_Loaded(path, dataset))


@raises
def info(path, dataset=None):
    """What a file says: of a volume format, shape, dtype, voxel and offset in mm (x, y, z; None: not said), quantity, units
    and trouble (what is odd about it, or None); of a scan what Scan(path).info has."""
    about = ArrayInfo(struct_size=ctypes.sizeof(ArrayInfo))
    status = lib.qb_array_describe(path_bytes(path), dataset.encode() if dataset else None, byref(about))
    if status != 0 or about.quantity.decode() in ("counts", "transmission", "line integrals", "line-integrals", ""):
        try:
            return Scan(path, **({"dataset": dataset} if dataset else {})).info
        except Exception:
            check(status)
    return {"path": os.fsdecode(path), "format": about.format.decode(), "dtype": _NAMES[about.dtype], "shape": tuple(about.shape),
            "voxel": tuple(v or None for v in about.voxel), "offset": tuple(about.offset), "quantity": about.quantity.decode() or None,
            "units": about.units.decode() or None, "trouble": about.trouble.decode() or None}


def _dense(array):
    import numpy
    refuse_mask(array, "the array")
    dense = numpy.ascontiguousarray(on_host(array))
    if dense.dtype.name not in DTYPES:
        raise BadArgument(f"an array of {dense.dtype}: quickbeam writes {', '.join(DTYPES)}", 6)
    if not 2 <= dense.ndim <= 3:
        raise BadArgument(f"an array of {dense.ndim} dimensions: give 2 or 3", 6)
    return dense.reshape((1,) * (3 - dense.ndim) + dense.shape)


@raises
def write(path, volume, voxel=0.0, *, offset=(0.0, 0.0, 0.0), units="1/mm", quantity="attenuation", description=None):
    """Write a volume [z][y][x] as the name ends: .h5, .tif, .mha, .npy, .nrrd, .raw, FOLDER/. voxel: mm, one number or (x, y, z);
    0: not known. offset: mm, where the middle lies. The file appears when it is whole."""
    dense = _dense(volume)
    voxel, offset = numbers(voxel, "voxel", 3), numbers(offset, "offset", 3)
    if not all(0 <= v < math.inf for v in voxel) or not all(map(math.isfinite, offset)):
        raise BadArgument(f"voxel {voxel}, offset {offset}: give mm, for the voxel positive or 0", 6)
    stack = Stack(dtype=DTYPES[dense.dtype.name], shape=dense.shape, voxel=tuple(voxel), offset=tuple(offset), units=units.encode(),
                  quantity=quantity.encode(), description=description.encode() if description else None, axis=math.nan)
    writer = c_void_p()
    check(lib.qb_writer_create(path_bytes(path), byref(stack), byref(writer)))
    try:
        run(lib.qb_writer_write, writer, 0, dense.shape[0], dense.ctypes.data, environment=False)
    except BaseException:
        lib.qb_writer_abort(writer)
        raise
    run(lib.qb_writer_commit, writer, json.dumps({"command": "quickbeam_ct.write"}).encode(), environment=False)


def _array_of(values):
    """A copy in the library's memory, since qb_compare turns it into float."""
    import numpy
    if is_path(values):
        loaded = _Loaded(values, None)
        return loaded.array, loaded
    dense = _dense(values)
    copy = numpy.array(dense)
    return Array(DTYPES[dense.dtype.name], dense.shape, copy.ctypes.data), copy


@raises
def compare(a, b):
    """How two volumes differ, b being the reference: {rmse, max_abs, rel_l2, psnr_db, ssim, slope, correlation}. Paths or
    arrays."""
    result = Comparison(struct_size=ctypes.sizeof(Comparison))
    values = [read(v) if is_path(v) else v for v in (a, b)]
    first, second = (_array_of(v.astype("float32", copy=False)) for v in map(_dense, values))
    run(lib.qb_compare, byref(first[0]), byref(second[0]), byref(result), environment=False)
    return {name: _number(getattr(result, name)) for name, _ in Comparison._fields_[1:]}


def simulate(phantom, output, **given):
    """Projections of a phantom (shepp-logan, disc, ball, spheres, foam, inserts, baggage) into a file, opened as a Scan. Keywords:
    options("simulate"), threads, progress."""
    env = {name: given.pop(name) for name in ("threads", "max_ram", "progress") if name in given}
    given = {name: os.fspath(v) if isinstance(v, os.PathLike) else v for name, v in given.items()}
    with Options("simulate", {**given, "output": os.fsdecode(output)}) as room:
        run(lib.qb_simulate, text_bytes(phantom, "phantom"), room, **env)
    return Scan(output)


sign(simulate, ("simulate",))
