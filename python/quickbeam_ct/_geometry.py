# SPDX-License-Identifier: MIT
import ctypes
import json
import math
import os
import tempfile
import warnings

from ._arrays import doubles
from ._check import number, numbers, path_bytes, whole
from ._library import BadArgument, DetectorStruct, GeometryStruct, GridStruct, QuickbeamWarning, View, check, declare, lib, text_of

declare("qb_geometry_report", ctypes.POINTER(GeometryStruct), ctypes.POINTER(GridStruct), ctypes.POINTER(ctypes.c_void_p))
declare("qb_geometry_picture", ctypes.c_char_p, ctypes.POINTER(GeometryStruct), ctypes.POINTER(GridStruct))
_FIELDS = ("source", "detector", "u", "v")


def _size(rows, columns):
    return whole(rows, "rows", 1, 1 << 24), whole(columns, "columns", 1, 1 << 24)


def _are(arrays, rows, columns):
    """Is it [any][rows][columns]?"""
    try:
        return len(arrays) > 0 and all(len(a) == rows and all(len(row) == columns for row in a) for a in arrays)
    except TypeError:
        return False


def radians_of(angles):
    """Angles in radians. As degrees, a half or a whole turn of them is as many turns as nobody scans."""
    radians = doubles(angles, "angles")
    n = len(radians)
    span = max(radians) - min(radians) if n > 8 else 0
    if any(abs(wide - turn) < 0.5 for wide in (span, span * n / max(n - 1, 1)) for turn in (180, 360)):
        warnings.warn(f"the angles span {span / (2 * math.pi):.4g} turns in radians, but a turn or a half as degrees: "
                      "give numpy.radians(angles) [angle-turns]", QuickbeamWarning, stacklevel=3)
    return radians


def rays_of(geometry):
    """A Geometry that says something."""
    if not isinstance(geometry, Geometry):
        raise BadArgument(f"the geometry is a {type(geometry).__name__}: give a Geometry; Geometry.from_file reads a path", 6)
    if not geometry._struct.views:
        raise BadArgument("the geometry is empty: make one by Geometry.parallel, .fan, .cone, .from_vectors, ...", 6)
    return geometry


def _remade(beam, rows, columns, radius, apart, views):
    """What Geometry.__reduce__ took apart."""
    geometry = Geometry()
    if views:
        geometry = Geometry.cone([0.0] * (len(views) // ctypes.sizeof(View)), rows, columns, 1.0, 1.0, 2.0)
        geometry._struct.beam, geometry._struct.radius, geometry._struct.apart = beam, radius, apart
        ctypes.memmove(geometry._struct.view, views, len(views))
    return geometry


class Geometry:
    """Where source and detector of each view are. Make one by Geometry.parallel, .fan, .cone, .from_vectors,
    .from_matrices or .from_file."""

    def __init__(self):
        self._struct = GeometryStruct()

    def __reduce__(self):
        """For pickle and copy.deepcopy, as processes and models take them."""
        s = self._struct
        views = ctypes.string_at(s.view, s.views * ctypes.sizeof(View)) if s.views else b""
        return _remade, (s.beam, s.rows, s.columns, s.radius, s.apart, views)

    @classmethod
    def parallel(cls, angles, rows, columns, pixel=1.0, center=None):
        """A parallel beam: angles in radians, pixels of `pixel` mm, the axis on column `center` (None: the middle one)."""
        self, radians = cls(), radians_of(angles)
        rows, columns = _size(rows, columns)
        middle = (columns - 1) / 2 if center is None else number(center, "center")
        check(lib.qb_geometry_parallel(len(radians), radians, rows, columns, number(pixel, "pixel"), middle, ctypes.byref(self._struct)))
        return self

    @classmethod
    def cone(cls, angles, rows, columns, pixel, sod, sdd, offset=(0.0, 0.0)):
        """A cone beam on a circle: source to axis `sod` and source to detector `sdd` in mm; `pixel` in mm, one number or
        (along columns, along rows); `offset` (u, v) in mm of the detector's centre from the principal ray."""
        self, radians = cls(), radians_of(angles)
        rows, columns = _size(rows, columns)
        u, v = numbers(pixel, "pixel", 2)
        if not hasattr(offset, "__len__"):
            raise BadArgument(f"offset={offset!r}: give two numbers, (u, v)", 6)
        check(lib.qb_geometry_cone(len(radians), radians, rows, columns, u, v, number(sod, "sod"), number(sdd, "sdd"),
                                   *numbers(offset, "offset", 2), ctypes.byref(self._struct)))
        return self

    @classmethod
    def fan(cls, angles, columns, pixel, sod, sdd, offset=0.0):
        """A fan beam: a cone whose detector has one row."""
        return cls.cone(angles, 1, columns, pixel, sod, sdd, (number(offset, "offset"), 0.0))

    @classmethod
    def from_vectors(cls, vectors, rows, columns, beam="cone"):
        """Any path. vectors: [view][4][3] in mm: the source (parallel: the unit vector along which rays travel), the centre of
        pixel (column 0, row 0), the step to the next column, the step to the next row."""
        if beam not in ("cone", "parallel"):
            raise BadArgument(f"beam {beam!r}: give cone or parallel", 6)
        if not _are(vectors, 4, 3):
            raise BadArgument("vectors: give [view][4][3]: source, pixel (0, 0), column step, row step", 6)
        zeros = [0.0] * len(vectors)
        self = cls.parallel(zeros, rows, columns) if beam == "parallel" else cls.cone(zeros, rows, columns, 1.0, 1.0, 2.0)
        for at, view in zip(range(len(vectors)), vectors):
            for name, vector in zip(_FIELDS, view):
                getattr(self._struct.view[at], name)[:] = numbers(vector, "vectors", 3)
        self.info  # the library looks at every view
        return self

    @classmethod
    def from_matrices(cls, matrices, rows, columns, pixel):
        """A cone beam by projection matrices [view][3][4] from mm to (column w, row w, w). pixel: mm, one number or (along
        columns, along rows)."""
        u, v = numbers(pixel, "pixel", 2)
        if not _are(matrices, 3, 4):
            raise BadArgument("matrices: give [view][3][4]", 6)
        text = "\n".join(" ".join(repr(x) for row in matrix for x in numbers(row, "matrices", 4)) for matrix in matrices)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "matrices.txt")
            with open(path, "w") as file:
                file.write(text + "\n")
            return cls.from_file(path, rows, columns, (u, v))

    @classmethod
    def from_file(cls, path, rows=0, columns=0, pixel=0.0):
        """A geometry file: quickbeam's JSON, RTK's XML, or matrices. Detector and pixel (mm) for files that do not state them."""
        self = cls()
        u, v = numbers(pixel, "pixel", 2)
        rows, columns = whole(rows, "rows", 0, 1 << 24), whole(columns, "columns", 0, 1 << 24)
        detector = DetectorStruct(rows, columns, u, v, 0, 0)
        check(lib.qb_geometry_load(path_bytes(path), ctypes.byref(detector) if rows or columns or u else None, None,
                                   ctypes.byref(self._struct)))
        return self

    def save(self, path):
        """Write it: .json keeps all, .xml is RTK's, .txt and .csv are matrices."""
        check(lib.qb_geometry_save(path_bytes(path), ctypes.byref(self._struct)))

    @property
    def shape(self):
        """(views, rows, columns)"""
        return self._struct.views, self._struct.rows, self._struct.columns

    @property
    def info(self):
        """What it is, as a dict: distances in mm, field of view, coverage in degrees, problems, ..."""
        text = ctypes.c_void_p()
        rays_of(self)
        check(lib.qb_geometry_report(ctypes.byref(self._struct), None, ctypes.byref(text)))
        return json.loads(text_of(text))

    @property
    def vectors(self):
        """[view][4][3], as from_vectors takes them, as a NumPy array."""
        import numpy
        rays_of(self)
        views = (View * self._struct.views).from_address(ctypes.addressof(self._struct.view.contents))
        return numpy.frombuffer(views, numpy.float64).reshape(self._struct.views, 4, 3).copy()

    def _stacked(self, count, grid):
        """These rays, of one row through one slice of `grid`, once for each of `count` slices one above the other; None where
        they are not of a parallel beam, or leave the middle of their slice."""
        import numpy
        vectors, (views, _, columns) = self.vectors, self.shape
        apart, z = grid.voxel[2], grid.offset[2]
        along, corner, u, v = vectors.transpose(1, 0, 2)
        if self.beam != "parallel" or max(abs(corner[:, 2] - z).max(), abs(along[:, 2]).max(), abs(u[:, 2]).max()) > 1e-9 * apart:
            return None
        vectors[:, 1, 2] -= (count - 1) / 2 * apart
        vectors[:, 3] = 0, 0, apart
        self = Geometry.parallel([0.0] * views, count, columns)
        room = (View * views).from_address(ctypes.addressof(self._struct.view.contents))
        numpy.frombuffer(room, numpy.float64)[:] = vectors.ravel()
        return self

    def picture(self, path):
        """Draw it into an SVG file, from above and from the side."""
        check(lib.qb_geometry_picture(path_bytes(path), ctypes.byref(self._struct), None))

    def _repr_html_(self):
        with tempfile.TemporaryDirectory() as folder:
            self.picture(os.path.join(folder, "geometry.svg"))
            with open(os.path.join(folder, "geometry.svg")) as file:
                return file.read()

    @property
    def beam(self):
        return lib.qb_beam_name(self._struct.beam).decode()

    def __repr__(self):
        views, rows, columns = self.shape
        return f"<Geometry: {self.beam} beam, {views} views of {rows} x {columns}>"

    def __del__(self):
        if lib and hasattr(self, "_struct"):
            lib.qb_geometry_destroy(ctypes.byref(self._struct))
