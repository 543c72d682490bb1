# SPDX-License-Identifier: MIT
"""Geometries and data of the Core Imaging Library (CIL)."""
import numpy

from ._calls import fbp, fdk
from ._geometry import Geometry
from ._library import BadArgument
from ._operator import operator

_LINES, _VOLUME = ("angle", "vertical", "horizontal"), ("vertical", "horizontal_y", "horizontal_x")


def cil(acquisition, image=None, **env):
    """A CIL LinearOperator from an ImageGeometry (None: the usual one) to an AcquisitionGeometry of one channel: direct(x) and
    its exact transpose, adjoint(y), for CIL's algorithms. Also threads, device, max_vram."""
    from cil.optimisation.operators import LinearOperator
    image = acquisition.get_ImageGeometry() if image is None else image
    inner = operator(_rays(acquisition), *_grid(acquisition, image), **env)

    class Projection(LinearOperator):
        def __init__(self):
            super().__init__(domain_geometry=image, range_geometry=acquisition)

        def direct(self, x, out=None):
            return _fill(inner.apply(_array(x, _VOLUME, inner.domain)), acquisition, _LINES, out)

        def adjoint(self, x, out=None):
            return _fill(inner.T.apply(_array(x, _LINES, inner.range)), image, _VOLUME, out)

    return Projection()


def cil_fbp(data, image=None, **options):
    """CIL's ImageData from its AcquisitionData of line integrals: by fbp of a parallel beam, by fdk of a cone. `options` are theirs."""
    acquisition = data.geometry
    image = acquisition.get_ImageGeometry() if image is None else image
    rays = _rays(acquisition)
    shape, voxel, offset = _grid(acquisition, image)
    lines = _array(data, _LINES, rays.shape)
    if rays.beam == "cone":
        volume = fdk(lines, rays, size=tuple(reversed(shape)), voxel=voxel, offset=offset, **options)
    else:
        angles, center, pixel, heights = _level(rays)
        middle = offset[2] + voxel[2] * (numpy.arange(shape[0]) - (shape[0] - 1) / 2)
        order = numpy.argsort(heights)
        apart = abs(heights[order] - middle).max() if len(heights) == shape[0] else numpy.inf
        if apart > 1e-3 * voxel[2] or abs(voxel[0] - voxel[1]) > 1e-6 * voxel[0]:
            raise BadArgument("a parallel beam's slices are its detector rows: give an ImageGeometry of as many, as far apart, "
                              "of square pixels", 6)
        volume = fbp(lines[:, order], angles, pixel, center=center, size=(shape[2], shape[1]), voxel=voxel[0], offset=offset[:2], **options)
    return _fill(volume, image, _VOLUME, None)


def _rays(acquisition):
    """CIL turns the object by its angles: seen from that, source and detector turn the other way."""
    if acquisition.channels > 1:
        raise BadArgument(f"{acquisition.channels} channels: give one at a time", 6)
    if acquisition.geom_type not in ("parallel", "cone"):
        raise BadArgument(f"a CIL geometry of type {acquisition.geom_type}: parallel and cone are known", 6)
    config = acquisition.copy().config
    system, panel, angles = config.system, config.panel, config.angles
    system.align_reference_frame("cil")
    flat = len(system.detector.position) == 2

    def space(vector):
        return numpy.append(numpy.asarray(vector, float), 0.0) if flat else numpy.asarray(vector, float)

    u = space(system.detector.direction_x) * panel.pixel_size[0] * (-1 if "right" in panel.origin else 1)
    v = (numpy.array([0, 0, panel.pixel_size[0]]) if flat else
         numpy.asarray(system.detector.direction_y, float) * panel.pixel_size[1] * (-1 if "top" in panel.origin else 1))
    columns, rows = panel.num_pixels
    corner = space(system.detector.position) - (columns - 1) / 2 * u - (rows - 1) / 2 * v
    source = space(system.ray.direction if acquisition.geom_type == "parallel" else system.source.position)
    turns = -(numpy.asarray(angles.angle_data, float) + angles.initial_angle)
    turns = numpy.deg2rad(turns) if angles.angle_unit == "degree" else turns
    vectors = numpy.empty((len(turns), 4, 3))
    for at, turn in zip(vectors, turns):
        c, s = numpy.cos(turn), numpy.sin(turn)
        at[:] = numpy.stack([source, corner, u, v]) @ numpy.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    return Geometry.from_vectors(vectors, rows, columns, acquisition.geom_type)


def _grid(acquisition, image):
    """shape [z][y][x], voxel and offset x, y, z."""
    if image.channels > 1:
        raise BadArgument(f"{image.channels} channels: give one at a time", 6)
    flat = image.voxel_num_z == 0
    voxel = (image.voxel_size_x, image.voxel_size_y, image.voxel_size_x if flat else image.voxel_size_z)
    return ((1 if flat else image.voxel_num_z, image.voxel_num_y, image.voxel_num_x), voxel,
            (image.center_x, image.center_y, 0.0 if flat else image.center_z))


def _labels(geometry):
    return [str(getattr(label, "value", label)) for label in geometry.dimension_labels]


def _array(data, order, shape):
    """The numbers in our order of dimensions, float32; those that CIL leaves out have one element."""
    labels = _labels(data.geometry)
    return numpy.ascontiguousarray(data.as_array().transpose([labels.index(name) for name in order if name in labels]), numpy.float32).reshape(shape)


def _fill(array, geometry, order, out):
    labels = _labels(geometry)
    out = geometry.allocate(None) if out is None else out
    there = [name for name in order if name in labels]
    dense = array.reshape([n for n, name in zip(array.shape, order) if name in labels])
    out.fill(dense.transpose([there.index(name) for name in labels]))
    return out


def _level(rays):
    """Angles, axis column, pixel and heights of rows of a parallel beam whose rows are level, as fbp takes them."""
    along, corner, u, v = rays.vectors.transpose(1, 0, 2)
    pixel = numpy.linalg.norm(u, axis=1)
    angles = numpy.arctan2(u[:, 1], u[:, 0])
    centers = -(corner * u).sum(1) / pixel**2
    odd = [abs(u[:, 2]), abs(v[:, :2]), abs(centers - centers[0]), abs(pixel - pixel[0]), abs(along[:, 2]), abs((along * u).sum(1))]
    if max(values.max() for values in odd) > 1e-6 * pixel[0]:
        raise BadArgument("a tilted parallel beam: fbp takes rays at right angles to a level detector; cgls and the operator take any", 6)
    return angles, float(centers.mean()), float(pixel[0]), corner[0, 2] + numpy.arange(rays.shape[1]) * v[0, 2]
