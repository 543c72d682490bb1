# SPDX-License-Identifier: MIT
"""A voxel falls on the same place of the detector for RTK's own reader and for ours. Goes through the
library, since no command prints matrices."""
import ctypes
import os
import pathlib

import itk
import numpy as np
import pytest

rtk = itk.RTK

VIEWS, ROWS, COLUMNS, PIXEL = 11, 60, 80, (0.8, 0.7)
QB = pathlib.Path(os.environ.get("QB", pathlib.Path(__file__).parents[2] / "build" / "qb"))


class Detector(ctypes.Structure):
    _fields_ = [("rows", ctypes.c_size_t), ("columns", ctypes.c_size_t),
                ("pixel_u", ctypes.c_double), ("pixel_v", ctypes.c_double),
                ("offset_u", ctypes.c_double), ("offset_v", ctypes.c_double)]


class Geometry(ctypes.Structure):
    _fields_ = [("beam", ctypes.c_int), ("views", ctypes.c_size_t), ("rows", ctypes.c_size_t),
                ("columns", ctypes.c_size_t), ("view", ctypes.c_void_p),
                ("radius", ctypes.c_double), ("owned", ctypes.c_void_p * 16)]  # with room to grow


@pytest.fixture(scope="module")
def library():
    path = QB.parent / "libquickbeam.so"
    lib = ctypes.CDLL(str(path), os.RTLD_LAZY)
    lib.qb_detail.restype = ctypes.c_char_p
    return lib


def convert(lib, source, target, origin=(0.0, 0.0)):
    """origin: of RTK's image, relative to a centred one."""
    detector = Detector(ROWS, COLUMNS, *PIXEL, *origin)
    geometry = Geometry()
    for status in (
        lib.qb_geometry_load(str(source).encode(), ctypes.byref(detector), None,
                             ctypes.byref(geometry)),
        lib.qb_geometry_save(str(target).encode(), ctypes.byref(geometry)),
    ):
        assert status == 0, lib.qb_detail()
    lib.qb_geometry_destroy(ctypes.byref(geometry))


def our_pixels(lib, source, folder, points, origin=(0.0, 0.0)):
    """[view][point](column, row) of points in our frame."""
    convert(lib, source, folder / "matrices.csv", origin)
    matrices = np.loadtxt(folder / "matrices.csv", delimiter=",", ndmin=2).reshape(-1, 3, 4)
    p = np.einsum("vij,pj->vpi", matrices, np.c_[points, np.ones(len(points))])
    assert (p[..., 2] > 0).all()
    return p[..., :2] / p[..., 2:]


def rtk_pixels(geometry, points, origin=(0.0, 0.0)):
    theirs = np.c_[points[:, 0], points[:, 2], -points[:, 1], np.ones(len(points))]
    matrices = np.array([itk.array_from_matrix(geometry.GetMatrix(i)) for i in range(VIEWS)])
    p = np.einsum("vij,pj->vpi", matrices, theirs)
    mm = p[..., :2] / p[..., 2:]
    first = np.array([origin[0] - PIXEL[0] * (COLUMNS - 1) / 2,
                      origin[1] - PIXEL[1] * (ROWS - 1) / 2])
    return (mm - first) / PIXEL


def write(geometry, path):
    writer = rtk.ThreeDCircularProjectionGeometryXMLFileWriter.New()
    writer.SetFilename(str(path))
    writer.SetObject(geometry)
    writer.WriteFile()


def read(path):
    reader = rtk.ThreeDCircularProjectionGeometryXMLFileReader.New()
    reader.SetFilename(str(path))
    reader.GenerateOutputInformation()
    return reader.GetOutputObject()


def points():
    return np.random.default_rng(1).uniform(-40, 40, (50, 3))


#        sid, sdd, gantry, projection x, y, out of plane, in plane, source x, y
CASES = {
    "circle": lambda k: (400, 900, 37 * k, 0, 0, 0, 0, 0, 0),
    "projection_offset": lambda k: (400, 900, 37 * k, 12, -5, 0, 0, 0, 0),
    "source_offset": lambda k: (400, 900, 37 * k, 0, 0, 0, 0, 7, -3),
    "out_of_plane": lambda k: (400, 900, 37 * k, 0, 0, 11, 0, 0, 0),
    "in_plane": lambda k: (400, 900, 37 * k, 0, 0, 0, -23, 0, 0),
    "all": lambda k: (400 + k, 900 - k, 37 * k, 3 - k, k, 2 * k, 200 - 3 * k, k, 1 + k),
    "parallel": lambda k: (400, 0, 37 * k, 3, 4, 5, 6, 0, 0),
}


def make(case):
    geometry = rtk.ThreeDCircularProjectionGeometry.New()
    for k in range(VIEWS):
        geometry.AddProjection(*[float(x) for x in CASES[case](k)])
    return geometry


@pytest.mark.parametrize("origin", [(0.0, 0.0), (4.5, -2.25)])
@pytest.mark.parametrize("case", CASES)
def test_reads_what_rtk_writes(library, tmp_path, case, origin):
    geometry = make(case)
    write(geometry, tmp_path / "rtk.xml")
    ours = our_pixels(library, tmp_path / "rtk.xml", tmp_path, points(), origin)
    difference = np.abs(ours - rtk_pixels(geometry, points(), origin)).max()
    print(f"{case}: {difference:.2e} px")
    assert difference < 1e-4


@pytest.mark.parametrize("case", CASES)
def test_rtk_reads_what_we_write(library, tmp_path, case):
    geometry = make(case)
    write(geometry, tmp_path / "rtk.xml")
    convert(library, tmp_path / "rtk.xml", tmp_path / "ours.xml")
    back = read(tmp_path / "ours.xml")
    difference = np.abs(rtk_pixels(back, points()) - rtk_pixels(geometry, points())).max()
    print(f"{case}: {difference:.2e} px")
    assert difference < 1e-4
