# SPDX-License-Identifier: MIT
"""The package beside ASTRA (2-D, on the CPU) and RTK (cones): projections, their transposes and reconstructions within 1e-3."""
import astra
import itk
import numpy as np

import quickbeam_ct as qb

rtk = itk.RTK
IMAGE = itk.Image[itk.F, 3]


def apart(ours, theirs):
    return np.linalg.norm(ours.astype(float) - theirs) / np.linalg.norm(theirs.astype(float))


def test_astra_in_a_slice():
    """Both are Joseph's method. ASTRA's picture begins with the highest y."""
    n, angles = 128, np.pi * np.arange(150) / 150
    made = astra.create_projector("linear", astra.create_proj_geom("parallel", 1.0, n, angles), astra.create_vol_geom(n, n))
    A = qb.operator(qb.Geometry.parallel(angles, 1, n, 1.0), (1, n, n), 1.0)
    random = np.random.default_rng(1)
    y, x = np.mgrid[:n, :n] - (n - 1) / 2
    volume = np.where(x**2 + y**2 < (n / 2 - 2)**2, random.random((n, n)), 0).astype(np.float32)
    _, lines = astra.create_sino(np.ascontiguousarray(volume[::-1]), made)
    assert apart((A @ volume[None])[:, 0], lines) < 1e-3
    _, back = astra.create_backprojection(lines, made)
    assert apart((A.T @ np.ascontiguousarray(lines)[:, None])[0], back[::-1]) < 1e-3
    astra.clear()


def image_of(array, spacing):
    image = itk.image_from_array(np.ascontiguousarray(array, np.float32))
    image.SetSpacing(spacing)
    image.SetOrigin([-(n - 1) / 2 * step for n, step in zip(array.shape[::-1], spacing)])
    return image


def stack_of(array, pixel):
    image = itk.image_from_array(np.ascontiguousarray(array, np.float32))
    image.SetSpacing([pixel, pixel, 1.0])
    image.SetOrigin([-(array.shape[2] - 1) / 2 * pixel, -(array.shape[1] - 1) / 2 * pixel, 0.0])
    return image


def theirs(volume):
    """[z][y][x] as RTK has it: its y is our z, its z our -y."""
    return volume.transpose(1, 0, 2)[::-1]


def ours(volume):
    return volume[::-1].transpose(1, 0, 2)


def run(kind, geometry, first, second):
    filter_ = getattr(rtk, kind)[IMAGE, IMAGE].New()
    filter_.SetGeometry(geometry)
    filter_.SetInput(0, first)
    filter_.SetInput(1, second)
    filter_.Update()
    return itk.array_from_image(filter_.GetOutput())


def test_rtk_with_a_cone():
    n, rows, columns, views, pixel, sod, sdd = 32, 40, 64, 120, 1.5, 150.0, 225.0
    degrees = 360 * np.arange(views) / views
    geometry = rtk.ThreeDCircularProjectionGeometry.New()
    for angle in degrees:
        geometry.AddProjection(sod, sdd, float(angle))
    rays = qb.Geometry.cone(np.deg2rad(degrees), rows, columns, pixel, sod, sdd)
    A = qb.operator(rays, (n, 40, 40), 1.0)
    z, y, x = np.mgrid[:n, :40, :40] - np.array([n - 1, 39, 39])[:, None, None, None] / 2
    volume = np.where(x**2 + y**2 + z**2 < 14**2, 0.02 + 0.01 * np.sin(x / 3) * np.cos(y / 4 + z / 5), 0).astype(np.float32)
    lines = A @ volume
    empty, there = stack_of(0 * lines, pixel), image_of(theirs(volume), [1.0] * 3)
    assert apart(lines, run("JosephForwardProjectionImageFilter", geometry, empty, there)) < 1e-3
    inside = x**2 + y**2 + z**2 < 13**2  # RTK's weights at the border of the volume are its own
    back = ours(run("JosephBackProjectionImageFilter", geometry, image_of(0 * theirs(volume), [1.0] * 3), stack_of(lines, pixel)))
    assert apart((A.T @ lines)[inside], back[inside]) < 1e-5
    fdk = rtk.FDKConeBeamReconstructionFilter[IMAGE].New()
    fdk.SetGeometry(geometry)
    fdk.SetInput(0, image_of(0 * theirs(volume), [1.0] * 3))
    fdk.SetInput(1, stack_of(lines, pixel))
    fdk.Update()
    want = ours(itk.array_from_image(fdk.GetOutput()))
    found = qb.fdk(lines, rays, size=(40, 40, n), voxel=1.0)
    assert apart(found[inside], want[inside]) < 1e-5
