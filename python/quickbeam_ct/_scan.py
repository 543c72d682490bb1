# SPDX-License-Identifier: MIT
"""Scans: files, or arrays with their fields."""
import ctypes
import json
import math
import os

from ._arrays import doubles, shape_of, tensor_of
from ._check import path_bytes
from ._geometry import Geometry
from ._library import Array, BadArgument, DetectorStruct, Env, GeometryStruct, ScanInfo, Tensor, check, declare, lib, text_of
from ._options import Options
from ._run import run, warn

_ANGLES, _FLATS = 1, 4  # of qb_problem
FEW_VALUES = 1 << 22  # what is looked at before a reconstruction takes some milliseconds then
_POINTER, _SIZE, _ref = ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER
declare("qb_scan_open", ctypes.c_char_p, _POINTER, _ref(Env), _ref(_POINTER))
declare("qb_scan_from_tensor", _ref(Tensor), _ref(ctypes.c_double), _ref(Tensor), _ref(Tensor), _POINTER, _ref(Env), _ref(_POINTER))
declare("qb_scan_close", _POINTER, result=None)
declare("qb_scan_describe", _POINTER, result=_ref(ScanInfo))
declare("qb_scan_problem", _POINTER, _SIZE, result=ctypes.c_char_p)
declare("qb_scan_problem_kind", _POINTER, _SIZE)
declare("qb_scan_findings", _POINTER, _ref(_POINTER))
declare("qb_scan_inspect", _POINTER, _ref(Env))
declare("qb_scan_geometry", _ref(ScanInfo), _POINTER, _ref(DetectorStruct), _ref(Env), _ref(GeometryStruct))
declare("qb_scan_read", _POINTER, *[_SIZE] * 4, _POINTER)
declare("qb_quantity_name", ctypes.c_int, result=ctypes.c_char_p)


def is_path(source):
    return isinstance(source, (str, bytes, os.PathLike))


class Scan:
    """Projections [view][row][column] with what is known of them: of a file, or of arrays.

    source: the path of a scan, or an array of counts, transmissions or line integrals. angles: for an array radians, one a
    view; for a file a text as --angles has it, or None for the file's own. pixel_size: mm. flats, darks: for an array
    arrays [frame][row][column] or [row][column]; for a file paths. Other keywords are those of options("scan")."""

    def __init__(self, source, angles=None, pixel_size=None, *, flats=None, darks=None, **options):
        self._pointer, self._kept, env = _POINTER(), [source], {}
        for name in ("threads", "max_ram", "progress"):
            if name in options:
                env[name] = options.pop(name)
        given = {**options, "pixel_size": pixel_size}
        if is_path(source):
            given.update(angles=self._text(angles, "angles"), flats=self._text(flats, "flats"), darks=self._text(darks, "darks"))
            with Options("scan", given) as room:
                run(lib.qb_scan_open, path_bytes(source), room, after=(ctypes.byref(self._pointer),), **env)
        else:
            shape_of(source, "projections")
            tensors = [self._tensor(array, name) for array, name in ((source, "projections"), (flats, "flats"), (darks, "darks"))]
            radians = None if angles is None or isinstance(angles, str) else doubles(angles, "angles")
            if radians is not None and len(source.shape) and options.get("as_") != "sinogram" and len(radians) != source.shape[0]:
                raise BadArgument(f"{len(radians)} angles for {source.shape[0]} views", 6)
            given["angles"] = angles if isinstance(angles, str) else None
            with Options("scan", given) as room:
                run(lib.qb_scan_from_tensor, tensors[0], radians, tensors[1], tensors[2], room,
                    after=(ctypes.byref(self._pointer),), short=math.prod(source.shape) < FEW_VALUES, **env)
        self._info = lib.qb_scan_describe(self._pointer).contents
        self._first = self._info.problems  # those of opening; jobs warn of what they add themselves

    @staticmethod
    def _text(value, name):
        if value is None or is_path(value):
            return None if value is None else os.fsdecode(value)
        if name != "angles" and isinstance(value, (list, tuple)) and all(is_path(v) for v in value):
            return "\n".join(os.fsdecode(v) for v in value)
        raise BadArgument(f"{name} of a scan file: give a text ({'0:180, or a path' if name == 'angles' else 'a path'})", 6)

    def _tensor(self, array, name):
        if array is None or (is_path(array) and name == "darks"):
            return None
        tensor, kept = tensor_of(array, name)
        self._kept += [tensor, kept]
        return ctypes.byref(tensor)

    @property
    def shape(self):
        """(views, rows, columns)"""
        return self._info.views, self._info.rows, self._info.columns

    @property
    def angles(self):
        """Radians, one a view, as a NumPy array; None where the scan has none."""
        import numpy
        return numpy.array(self._info.angles[:self._info.views]) if self._info.angles else None

    @property
    def info(self):
        """What is known of the scan, as a dict: format, shape, quantity, pixel_size in mm, center, problems, findings, ..."""
        about = self._info
        text = {name: (getattr(about, name) or b"").decode(errors="replace") or None
                for name in ("path", "format", "quantity_from", "angles_from", "pixel_from", "files", "no_angles")}
        number = {name: None if math.isnan(getattr(about, name)) else getattr(about, name)
                  for name in ("pixel_size", "pixel_v", "center", "sod", "sdd", "energy", "distance")}
        return {**text, **number, "shape": self.shape, "stored": about.stored, "flats": about.flats, "darks": about.darks,
                "dtype": lib.qb_dtype_name(about.dtype).decode(), "quantity": lib.qb_quantity_name(about.quantity).decode(),
                "beam": lib.qb_beam_name(about.beam).decode(), "problems": self.problems, "findings": self.findings}

    @property
    def problems(self):
        """What is odd, a sentence each."""
        return [lib.qb_scan_problem(self._pointer, i).decode(errors="replace") for i in range(self._info.problems)]

    @property
    def findings(self):
        """Frames that were found to be wrong: [{code, what, which, count, of, done}]."""
        text = _POINTER()
        check(lib.qb_scan_findings(self._pointer, ctypes.byref(text)))
        return json.loads(text_of(text))

    def inspect(self):
        """Look into more of the data, as `qb info` does, and return the problems."""
        run(lib.qb_scan_inspect, self._pointer)
        return self.problems

    def read(self, views=None, rows=None):
        """Stored values [view][row][column] of some views and rows, as slices; None: all."""
        import numpy
        bounds = []
        for chosen, count in ((views, self._info.views), (rows, self._info.rows)):
            first, end, step = chosen.indices(count) if isinstance(chosen, slice) else (0, count, 1) if chosen is None else (0, 0, 0)
            if step != 1 or end <= first:
                raise BadArgument(f"{chosen} of {count}: give a slice of neighbours", 6)
            bounds += [first, end]
        shape = (bounds[1] - bounds[0], bounds[3] - bounds[2], self._info.columns)
        out = numpy.empty(shape, lib.qb_dtype_name(self._info.dtype).decode())
        run(lib.qb_scan_read, self._pointer, *bounds, out.ctypes.data, environment=False)
        return out

    def geometry(self, **options):
        """The scan's cone-beam Geometry: sod=, sdd=, detector_offset=, geometry=FILE ... (options("geometry"))."""
        about, rays = self._info, Geometry()
        detector = DetectorStruct(about.rows, about.columns, about.pixel_size, about.pixel_v, 0, 0)
        with Options("geometry", options) as room:
            run(lib.qb_scan_geometry, ctypes.byref(about), room, ctypes.byref(detector), after=(ctypes.byref(rays._struct),))
        return rays

    def __repr__(self):
        views, rows, columns = self.shape
        return f"<Scan: {self.info['format']}, {views} views of {rows} x {columns} {self.info['dtype']}, {self.info['quantity']}>"

    def __del__(self):
        if lib and getattr(self, "_pointer", None):
            lib.qb_scan_close(self._pointer)


def tell_problems(scan, geometry=None, air=None):
    """Warn of what was odd when the scan was opened. A geometry states the angles, and air= stands in for flats."""
    silent = [kind for kind, given in ((_ANGLES, geometry), (_FLATS, air)) if given is not None]
    for i, words in enumerate(scan.problems[:scan._first]):
        if lib.qb_scan_problem_kind(scan._pointer, i) not in silent:
            warn(words)
