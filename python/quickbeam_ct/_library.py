# SPDX-License-Identifier: MIT
"""The C library: where it is, its structs and calls, and what a call says on its way."""
import ctypes
import itertools
import logging
import os
import pathlib
import sys
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p

SONAME = "libquickbeam.so.0.2"
logger = logging.getLogger("quickbeam")
logger.addHandler(logging.NullHandler())  # else Python prints to stderr what nobody listens to


class Error(Exception):
    """A call that failed; `status` is its number, the words are the library's: cause, number, remedy."""

    def __init__(self, words, status=0):
        super().__init__(words)
        self.status = status


class Interrupted(Error):
    """A call that was stopped."""


class BadArgument(Error, ValueError):
    pass


class NoMemory(Error, MemoryError):
    pass


class NotFound(Error, FileNotFoundError):
    pass


class QuickbeamWarning(UserWarning):
    """What the library warns of; the code in brackets at its end is explained by `qb help CODE`."""


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("memory", c_int), ("device", c_int), ("ndim", c_int), ("dtype", c_int),
                ("shape", c_int64 * 4), ("strides", c_int64 * 4), ("stream", c_void_p)]


class Param(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("offset", c_size_t), ("meta", c_char_p), ("initial", c_char_p),
                ("choices", c_char_p), ("min", c_double), ("max", c_double), ("help", c_char_p), ("letter", ctypes.c_char)]


class View(ctypes.Structure):
    _fields_ = [("source", c_double * 3), ("detector", c_double * 3), ("u", c_double * 3), ("v", c_double * 3)]


class GeometryStruct(ctypes.Structure):
    _fields_ = [("beam", c_int), ("views", c_size_t), ("rows", c_size_t), ("columns", c_size_t), ("view", POINTER(View)),
                ("radius", c_double), ("apart", c_bool), ("read_from", c_void_p)]


class GridStruct(ctypes.Structure):
    _fields_ = [("n", c_size_t * 3), ("voxel", c_double * 3), ("offset", c_double * 3)]


class DetectorStruct(ctypes.Structure):
    _fields_ = [("rows", c_size_t), ("columns", c_size_t), *[(name, c_double) for name in ("pixel_u", "pixel_v", "offset_u", "offset_v")]]


class ScanInfo(ctypes.Structure):
    """qb_scan_info as far as it is used here; later fields follow."""
    _fields_ = [("path", c_char_p), ("format", c_char_p), ("dtype", c_int), ("views", c_size_t), ("rows", c_size_t),
                ("columns", c_size_t), ("quantity", c_int), ("stated", c_char_p), ("quantity_from", c_char_p),
                ("angles", POINTER(c_double)), ("angles_from", c_char_p), ("flats", c_size_t), ("darks", c_size_t),
                ("pixel_size", c_double), ("pixel_from", c_char_p), ("beam", c_int), ("center", c_double),
                ("cache_bytes", c_size_t), ("chunk_rows", c_size_t), ("problems", c_size_t), ("stored", c_size_t),
                ("first_view", c_size_t), ("view_step", c_size_t), ("geometry_from", c_char_p), ("first_slice", c_size_t),
                ("center_holds", c_bool), ("files", c_char_p), ("no_angles", c_char_p), ("stored_views", POINTER(c_size_t)),
                ("detector_offset", c_double * 2), ("intensity", POINTER(c_double)), ("intensity_range", c_double * 2),
                ("intensity_from", c_char_p), ("pixel_v", c_double), ("looked_views", c_size_t), ("taller", c_char_p),
                ("sod", c_double), ("sdd", c_double), ("energy", c_double), ("distance", c_double)]


class Array(ctypes.Structure):
    _fields_ = [("dtype", c_int), ("shape", c_size_t * 3), ("data", c_void_p)]


class ArrayInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("format", c_char_p), ("dtype", c_int), ("shape", c_size_t * 3), ("voxel", c_double * 3),
                ("offset", c_double * 3), ("scale", c_double * 2), ("quantity", ctypes.c_char * 24), ("units", ctypes.c_char * 24),
                ("trouble", ctypes.c_char * 160)]


class Stack(ctypes.Structure):
    _fields_ = [("dtype", c_int), ("shape", c_size_t * 3), ("voxel", c_double * 3), ("offset", c_double * 3), ("units", c_char_p),
                ("quantity", c_char_p), ("scale_low", c_double), ("scale_high", c_double), ("first", c_size_t),
                ("description", c_char_p), ("beam", c_int), ("angles", POINTER(c_double)), ("flats", POINTER(Array)),
                ("darks", POINTER(Array)), ("parts", c_size_t), ("axis", c_double), ("axis_stated", c_bool),
                ("flat_views", POINTER(c_double)), ("compress", c_char_p), ("zarr", c_int), ("z_down", c_bool), ("mask", c_void_p)]


class Comparison(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), *[(name, c_double) for name in
                ("rmse", "max_abs", "rel_l2", "psnr_db", "ssim", "slope", "correlation")]]


class Numbers(ctypes.Structure):
    _fields_ = [("count", c_int), ("value", c_double * 8)]


class OutputOptions(ctypes.Structure):
    """qb_output_options up to its array."""
    _fields_ = [("struct_size", c_size_t), ("output", c_char_p), ("dtype", c_int), ("range", Numbers), ("preview", c_char_p),
                ("array", POINTER(Tensor))]


class MbirOptions(ctypes.Structure):
    """qb_mbir_options up to its arrays."""
    _fields_ = [("struct_size", c_size_t), *((name, c_double) for name in ("sharpness", "snr_db", "sigma_x", "sigma_y", "p", "q", "t")),
                ("neighbours", Numbers), ("weights", c_char_p), ("no_positivity", ctypes.c_bool), ("start", c_char_p), ("equits", c_int),
                ("stop", c_double), ("no_zero_skip", ctypes.c_bool), ("matrix", c_int), ("center", c_char_p), ("slices", c_char_p),
                ("size", Numbers), ("voxel", c_double), ("roi", c_double), ("hu", c_double), ("seed", c_int), ("kernel", c_char_p),
                ("resume", ctypes.c_bool), ("checkpoint", c_double), ("matrix_cache", c_char_p), ("prox", c_char_p), ("sigma_p", c_double),
                ("prox_array", POINTER(Tensor)), ("start_array", POINTER(Tensor))]


class CenterMethod(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("column", c_double), ("confidence", c_double)]


class CenterResult(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("column", c_double), ("confidence", c_double), ("count", c_int),
                ("method", CenterMethod * 8), ("warning", ctypes.c_char * 256), ("tilt", c_double),
                ("tilt_confidence", c_double), ("row", c_double), ("row_confidence", c_double)]


class Solver(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("summary", c_char_p)]


LOG = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
PROGRESS = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_uint64, c_uint64)


class Env(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("threads", c_int), ("max_ram", c_size_t), ("device", c_char_p),
                ("max_vram", c_size_t), ("log", LOG), ("progress", PROGRESS), ("user", c_void_p), ("reads", c_void_p),
                ("writes", c_void_p), ("cancel", POINTER(c_int)), ("ranks", c_void_p)]


def _open():
    """The library that QUICKBEAM_LIBRARY names, that beside this file, or the one that is installed."""
    beside = pathlib.Path(__file__).with_name(SONAME)
    name = os.environ.get("QUICKBEAM_LIBRARY") or (str(beside) if beside.exists() else SONAME)
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(f"{error}: set QUICKBEAM_LIBRARY to the path of {SONAME}") from None
    library.qb_version.restype = c_char_p
    found = library.qb_version().decode()
    if not found.startswith("0.2."):
        raise ImportError(f"{name} is quickbeam {found}, and this package needs 0.2")
    return library


lib = _open()


def declare(name, *arguments, result=c_int):
    call = getattr(lib, name)
    call.argtypes, call.restype = arguments, result
    return call


_ray_arguments = [POINTER(Tensor), POINTER(c_double), c_double, POINTER(GeometryStruct), POINTER(Tensor), c_void_p, POINTER(Env)]
declare("qb_fbp", POINTER(Tensor), POINTER(c_double), c_double, POINTER(Tensor), c_void_p, POINTER(Env))
declare("qb_fdk", POINTER(Tensor), POINTER(GeometryStruct), POINTER(Tensor), c_void_p, POINTER(Env))
declare("qb_solver_list", result=POINTER(Solver))
SOLVERS = {row.name.decode(): row.summary.decode() for row in itertools.takewhile(lambda row: row.name, lib.qb_solver_list())}
for _name in (*SOLVERS, "mbir"):
    declare(f"qb_{_name}", *_ray_arguments)
declare("qb_center", POINTER(Tensor), POINTER(c_double), c_void_p, POINTER(Env), POINTER(CenterResult))
declare("qb_project", POINTER(Tensor), c_void_p, POINTER(GeometryStruct), POINTER(Tensor), c_void_p, POINTER(Env))
declare("qb_geometry_parallel", c_size_t, POINTER(c_double), c_size_t, c_size_t, c_double, c_double, POINTER(GeometryStruct))
declare("qb_geometry_cone", c_size_t, POINTER(c_double), c_size_t, c_size_t, *[c_double] * 6, POINTER(GeometryStruct))
declare("qb_geometry_load", c_char_p, c_void_p, POINTER(Env), POINTER(GeometryStruct))
declare("qb_geometry_save", c_char_p, POINTER(GeometryStruct))
declare("qb_geometry_destroy", POINTER(GeometryStruct), result=None)
declare("qb_beam_name", c_int, result=c_char_p)
declare("qb_dtype_name", c_int, result=c_char_p)
declare("qb_params_size", POINTER(Param), result=c_size_t)
declare("qb_params_clear", POINTER(Param), c_void_p, result=None)
declare("qb_params_set", POINTER(Param), c_void_p, c_char_p, c_char_p)
declare("qb_tensor_from_dlpack", c_void_p, c_void_p, POINTER(Tensor))
declare("qb_text_free", c_void_p, result=None)
declare("qb_detail", result=c_char_p)
declare("qb_status_text", c_int, result=c_char_p)

OK, CANCELLED = 0, 10
_classes = {"out of memory": NoMemory, "bad argument": BadArgument, "not found": NotFound, "interrupted": Interrupted}


def error_of(status, words):
    text = lib.qb_status_text(status).decode()
    kind = _classes.get(text, Error)
    error = kind.__new__(kind)
    Error.__init__(error, words or text, status)
    return error


def check(status):
    """Raise what a quick call says, on its own thread."""
    if status != OK:
        raise error_of(status, lib.qb_detail().decode(errors="replace"))


def raises(function):
    """Says in its docstring what may come instead of a result."""
    function.__doc__ = f"""{function.__doc__.rstrip()}

    Raises Error, whose words are cause, number and remedy: one that is also a ValueError for an argument that does not fit, a
    FileNotFoundError, a MemoryError, or Interrupted; TypeError for a keyword that there is not."""
    return function


def text_of(pointer):
    """What a text of the library says; the text is released."""
    words = ctypes.cast(pointer, c_char_p).value.decode(errors="replace")
    lib.qb_text_free(pointer)
    return words


def version():
    """Of the library that runs."""
    return lib.qb_version().decode()
