# SPDX-License-Identifier: MIT
"""RTK's own projections of ellipsoids onto flat and bent detectors, shifted and turned, come back at their values, with
the geometry file that RTK wrote."""
import itk
import numpy as np
import pytest

from conebeam import Circle
from qbtest import qb, read_h5
from test_fdk_values import OBJECT, good

rtk = itk.RTK
ANGLES = np.arange(300) * 1.2


def from_rtk(circle, thing, angles, path):
    """Its projections; its geometry goes to `path`. Its y is our z, its z our -y, its in-plane angle the other way."""
    image = itk.Image[itk.F, 3]
    geometry = rtk.ThreeDCircularProjectionGeometry.New()
    for angle in angles:
        geometry.AddProjection(circle.sod, circle.sdd, float(angle), *map(float, circle.offset), 0.0,
                               -float(circle.tilt[0]))
    if circle.radius:
        geometry.SetRadiusCylindricalDetector(float(circle.radius))
    writer = rtk.ThreeDCircularProjectionGeometryXMLFileWriter.New()
    writer.SetFilename(str(path))
    writer.SetObject(geometry)
    writer.WriteFile()
    empty = rtk.ConstantImageSource[image].New()
    empty.SetOrigin([-(circle.columns - 1) / 2 * circle.pixel, -(circle.rows - 1) / 2 * circle.pixel, 0.0])
    empty.SetSpacing([circle.pixel, circle.pixel, 1.0])
    empty.SetSize([circle.columns, circle.rows, len(angles)])
    empty.SetConstant(0.0)
    total = 0
    for value, c, half in thing:
        ray = rtk.RayEllipsoidIntersectionImageFilter[image, image].New()
        ray.SetInput(empty.GetOutput())
        ray.SetGeometry(geometry)
        ray.SetDensity(value)
        ray.SetCenter([c[0], c[2], -c[1]])
        ray.SetAxis([half[0], half[2], half[1]])
        ray.Update()
        total = total + itk.array_from_image(ray.GetOutput())
    return total.astype(np.float32)


@pytest.mark.parametrize("radius,offset,tilt", [
    (0, (0, 0), 0), (0, (-30, 3), 6), (480, (0, 0), 0), (250, (35, -4), 0), (250, (35, -4), 6)])
def test_projections_of_rtk(tmp_path, radius, offset, tilt):
    circle = Circle(300, 480, 180, 48, 1.0, radius=radius, offset=offset, tilt=(tilt, 0, 0))
    p = from_rtk(circle, OBJECT, ANGLES, tmp_path / "g.xml")
    assert abs(p[::50] - circle.project(OBJECT, ANGLES[::50])).max() < 1e-5
    np.save(tmp_path / "p.npy", p)
    qb("fdk", tmp_path / "p.npy", "-g", tmp_path / "g.xml", "--pixel-size", 1, "--size", "160,160,32", "--voxel", "0.625",
       "-o", tmp_path / "v.h5")
    assert good(read_h5(tmp_path / "v.h5"), 0.625, 16)
