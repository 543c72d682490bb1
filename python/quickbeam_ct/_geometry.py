# SPDX-License-Identifier: MIT
import ctypes
import os

from ._arrays import doubles
from ._library import GeometryStruct, check, lib


class Geometry:
    """Where source and detector of each view are. Make one by Geometry.parallel, Geometry.cone or Geometry.from_file."""

    def __init__(self):
        self._struct = GeometryStruct()

    @classmethod
    def parallel(cls, angles, rows, columns, pixel=1.0, center=None):
        """A parallel beam: angles in radians, pixels of `pixel` mm, the axis on column `center` (None: the middle one)."""
        self, radians = cls(), doubles(angles, "angles")
        middle = (columns - 1) / 2 if center is None else center
        check(lib.qb_geometry_parallel(len(radians), radians, rows, columns, pixel, middle, ctypes.byref(self._struct)))
        return self

    @classmethod
    def cone(cls, angles, rows, columns, pixel, sod, sdd, offset=(0.0, 0.0)):
        """A cone beam on a circle: source to axis `sod` and source to detector `sdd` in mm; `pixel` in mm, one number or
        (along columns, along rows); `offset` (u, v) in mm of the detector's centre from the principal ray."""
        self, radians = cls(), doubles(angles, "angles")
        u, v = pixel if isinstance(pixel, (tuple, list)) else (pixel, pixel)
        check(lib.qb_geometry_cone(len(radians), radians, rows, columns, u, v, sod, sdd, *offset,
                                   ctypes.byref(self._struct)))
        return self

    @classmethod
    def from_file(cls, path):
        """A geometry that quickbeam has written (JSON)."""
        self = cls()
        check(lib.qb_geometry_load(os.fsencode(path), None, None, ctypes.byref(self._struct)))
        return self

    def save(self, path):
        """Write it: .json keeps all, .xml is RTK's, .txt and .csv are matrices."""
        check(lib.qb_geometry_save(os.fsencode(path), ctypes.byref(self._struct)))

    @property
    def shape(self):
        """(views, rows, columns)"""
        return self._struct.views, self._struct.rows, self._struct.columns

    @property
    def beam(self):
        return lib.qb_beam_name(self._struct.beam).decode()

    def __repr__(self):
        views, rows, columns = self.shape
        return f"<Geometry: {self.beam} beam, {views} views of {rows} x {columns}>"

    def __del__(self):
        if lib and hasattr(self, "_struct"):
            lib.qb_geometry_destroy(ctypes.byref(self._struct))
