# SPDX-License-Identifier: MIT
"""CIL's geometries and data. CIL comes by conda alone: where it is not installed, a double stands in that has what is used of it."""
import copy
import sys
import types

import numpy as np
import pytest

import quickbeam_ct as qb
from quickbeam_ct import adapters


class Data:
    def __init__(self, geometry):
        self.geometry, self.array = geometry, np.full(geometry.shape, np.nan, np.float32)

    def as_array(self):
        return self.array

    def fill(self, array):
        assert array.shape == self.array.shape
        self.array[:] = array


class Shaped:
    channels = 1

    @property
    def shape(self):
        return tuple(self.sizes[name] for name in self.dimension_labels)

    def allocate(self, value):
        return Data(self)


class Image(Shaped):
    center_x = center_y = center_z = 0.0

    def __init__(self, n, slices, voxel):
        self.voxel_num_x = self.voxel_num_y = n
        self.voxel_num_z = slices
        self.voxel_size_x = self.voxel_size_y = self.voxel_size_z = voxel
        self.sizes = {"vertical": slices, "horizontal_y": n, "horizontal_x": n}
        self.dimension_labels = [name for name in self.sizes if self.sizes[name] > 0]


class System(types.SimpleNamespace):
    frame = None

    def align_reference_frame(self, name):
        self.frame = name


class Acquisition(Shaped):
    def __init__(self, geom_type, angles, columns, rows, pixel, source=None, detector=(0.0, 0.0, 0.0), origin="bottom-left", unit="degree"):
        flat = rows == 0
        cut = slice(0, 2 if flat else 3)
        self.geom_type = geom_type
        self.sizes = {"angle": len(angles), "vertical": rows, "horizontal": columns}
        self.dimension_labels = [name for name in self.sizes if self.sizes[name] > 0]
        place = types.SimpleNamespace
        self.config = place(
            system=System(ray=place(direction=np.array([0, 1.0, 0])[cut]), source=place(position=np.array(source)[cut] if source else None),
                          detector=place(position=np.array(detector)[cut], direction_x=np.array([1.0, 0, 0])[cut],
                                         direction_y=np.array([0, 0, 1.0]))),
            panel=place(num_pixels=np.array([columns, max(rows, 1)]), pixel_size=np.array([pixel, pixel]), origin=origin),
            angles=place(angle_data=np.array(angles, np.float32), initial_angle=0.0, angle_unit=unit))

    def copy(self):
        return copy.deepcopy(self)

    def get_ImageGeometry(self):
        panel, system = self.config.panel, self.config.system
        large = 1 if self.geom_type == "parallel" else 1 - system.detector.position[1] / system.source.position[1]
        return Image(panel.num_pixels[0], self.sizes["vertical"], panel.pixel_size[0] / large)


class LinearOperator:
    def __init__(self, domain_geometry, range_geometry):
        self.domain, self.range = domain_geometry, range_geometry


@pytest.fixture(autouse=True)
def double(monkeypatch):
    for name in ("cil", "cil.optimisation", "cil.optimisation.operators"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["cil.optimisation.operators"].LinearOperator = LinearOperator


ANGLES = np.arange(90) * 2.0
CONE = {"source": (0.0, -60.0, 0.0), "detector": (0.0, 40.0, 0.0)}
KINDS = {
    "parallel": lambda: Acquisition("parallel", ANGLES, 48, 4, 0.5, detector=(1.2, 0.0, 0.0)),
    "parallel, one slice": lambda: Acquisition("parallel", np.deg2rad(ANGLES), 48, 0, 0.5, unit="radian"),
    "cone": lambda: Acquisition("cone", 2 * ANGLES, 48, 8, 0.8, **CONE),
    "cone from the top right": lambda: Acquisition("cone", 2 * ANGLES, 48, 8, 0.8, origin="top-right", **CONE),
    "fan": lambda: Acquisition("cone", 2 * ANGLES, 48, 0, 0.8, **CONE),
}


def disc(image):
    data = image.allocate(None)
    x, y = (image.voxel_size_x * (np.arange(image.voxel_num_x) - (image.voxel_num_x - 1) / 2) for _ in "xy")
    data.fill(np.broadcast_to(np.where((x - 2.2)**2 + (y[:, None] + 1.8)**2 < 16, 0.02, 0), image.shape).astype(np.float32))
    return data


@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back(kind):
    acquisition = KINDS[kind]()
    image = acquisition.get_ImageGeometry()
    A, truth = adapters.cil(acquisition), disc(image)
    lines = A.direct(truth)
    assert lines.geometry is acquisition and acquisition.config.system.frame is None  # CIL's own geometry stays as it was
    random = Data(acquisition)
    random.fill(np.random.default_rng(0).random(acquisition.shape, np.float32))
    back = A.adjoint(random, out=image.allocate(None))
    forth = np.vdot(lines.array.astype(float), random.array)
    assert abs(forth - np.vdot(truth.array, back.array.astype(float))) < 1e-6 * abs(forth)
    volume = adapters.cil_fbp(lines).array
    middle = (image.shape[0] // 2,) if len(image.shape) == 3 else ()
    found, want = volume[middle], truth.array[middle]
    assert np.corrcoef(found.ravel(), want.ravel())[0, 1] > 0.98
    x, y = np.meshgrid(*[np.arange(image.voxel_num_x)] * 2)
    inside = np.hypot(*(image.voxel_size_x * (at - 23.5) - place for at, place in ((x, 2.2), (y, -1.8)))) < 3
    assert found[inside].mean() == pytest.approx(0.02, rel=0.02)


def test_where_a_ray_falls():
    """CIL's angles turn the object: after 90 degrees a point at y = 10 lies at x = -10."""
    acquisition = Acquisition("parallel", [0.0, 90.0], 33, 1, 1.0)
    acquisition.dimension_labels = ["angle", "vertical", "horizontal"]
    point = acquisition.get_ImageGeometry().allocate(None)
    array = np.zeros(point.array.shape, np.float32)
    array[0, 26, 16] = 1
    point.fill(array)
    lines = adapters.cil(acquisition).direct(point).array
    assert np.argmax(lines[0, 0]) == 16 and np.argmax(lines[1, 0]) == 16 - 10


def test_order_of_dimensions():
    one, other = KINDS["cone"](), KINDS["cone"]()
    other.dimension_labels = ["vertical", "angle", "horizontal"]
    truth = disc(one.get_ImageGeometry())
    np.testing.assert_array_equal(adapters.cil(other).direct(truth).array, adapters.cil(one).direct(truth).array.swapaxes(0, 1))


@pytest.mark.parametrize("change, words", [
    (lambda a: setattr(a, "channels", 3), "3 channels"),
    (lambda a: setattr(a, "geom_type", "cone_flex"), "cone_flex"),
])
def test_what_is_not_taken(change, words):
    acquisition = KINDS["cone"]()
    change(acquisition)
    with pytest.raises(qb.Error, match=words):
        adapters.cil(acquisition)


def test_slices_of_a_parallel_beam_are_its_rows():
    acquisition = KINDS["parallel"]()
    lines = adapters.cil(acquisition).direct(disc(acquisition.get_ImageGeometry()))
    with pytest.raises(qb.Error, match="of as many"):
        adapters.cil_fbp(lines, Image(48, 3, 0.5))
