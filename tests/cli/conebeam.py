# SPDX-License-Identifier: MIT
"""Exact cone-beam projections of ellipsoids onto any flat or bent detector, in the frame of docs/geometry.md; they
owe nothing to quickbeam."""
import numpy as np


def turned(vectors, axis, degrees):
    """Rodrigues: rows of `vectors` turned about a unit axis, right-handed."""
    c, s, axis = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees)), np.asarray(axis, float)
    return vectors * c + np.cross(axis, vectors) * s + np.outer(vectors @ axis, axis) * (1 - c)


class Circle:
    """A circular scan; tilt in degrees (in-plane, out-of-plane, slant); radius of a bent detector, 0 = flat: offsets
    move its pixels along the arc."""

    def __init__(self, sod, sdd, columns, rows, pixel, offset=(0, 0), tilt=(0, 0, 0), radius=0, shift=lambda t: (0, 0)):
        self.__dict__.update(sod=sod, sdd=sdd, columns=columns, rows=rows, pixel=pixel, offset=offset, tilt=tilt,
                             radius=radius, shift=shift)

    def view(self, degrees):
        """(source, pixel centres [row][column][3]) at one angle."""
        t = np.deg2rad(degrees)
        ray, side, up = np.array([-np.sin(t), np.cos(t), 0]), np.array([np.cos(t), np.sin(t), 0]), np.array([0, 0, 1.0])
        du, dv = self.shift(degrees)
        y = (np.arange(self.rows) - (self.rows - 1) / 2) * self.pixel + self.offset[1] + dv
        arc = (np.arange(self.columns) - (self.columns - 1) / 2) * self.pixel + self.offset[0] + du
        x, depth = arc, np.zeros_like(arc)
        if self.radius:
            x, depth = self.radius * np.sin(arc / self.radius), self.radius * (np.cos(arc / self.radius) - 1)
        axes = np.stack([side, up, ray])
        for axis, angle in ((side, self.tilt[1]), (up, self.tilt[2]), (ray, self.tilt[0])):
            axes = turned(axes, axis, angle)
        line = np.outer(axes[0], x) + np.outer(axes[2], depth) + (self.sdd - self.sod) * ray[:, None]
        place = line[:, None, :] + np.outer(axes[1], y)[:, :, None]
        return -self.sod * ray, np.moveaxis(place, 0, -1)

    def project(self, ellipsoids, angles):
        out = np.empty((len(angles), self.rows, self.columns), np.float32)
        for i, angle in enumerate(angles):
            out[i] = integrals(ellipsoids, *self.view(angle))
        return out

    def args(self):
        return ["--sod", self.sod, "--sdd", self.sdd, "--pixel-size", self.pixel]


def integrals(ellipsoids, source, place):
    """Of (value, centre, half axes) along the rays from the source through each place."""
    d = np.ascontiguousarray(np.moveaxis(place - source, -1, 0))
    total = 0
    for value, center, half in ellipsoids:
        # where |w + t e| = 1: t differs by 2 sqrt((w e)^2 - e^2 (w^2 - 1)) / e^2
        w = (source - np.asarray(center, float)) / half
        x, y, z = (axis / h for axis, h in zip(d, half))
        q, s = x * x + y * y + z * z, w[0] * x + w[1] * y + w[2] * z
        total = total + value * 2 * np.sqrt(np.maximum(s * s - q * (w @ w - 1), 0)) / q
    return total * np.sqrt((d * d).sum(0))


def voxels(shape, size, offset=(0, 0, 0)):
    """x, y, z of the voxel centres of a volume [z][y][x]."""
    z, y, x = (np.indices(shape)[i] for i in range(3))
    return tuple((at - (n - 1) / 2) * size + o for at, n, o in zip((x, y, z), shape[::-1], offset))


def inside(ellipsoids, shape, size, margin=0.0):
    """(truth, far): the object at the voxel centres; which voxels are further than `margin` mm from any surface."""
    x, y, z = (axis.reshape(where) for axis, where in zip(
        ((np.arange(n) - (n - 1) / 2) * size for n in shape[::-1]), ((1, 1, -1), (1, -1, 1), (-1, 1, 1))))
    truth, far = np.zeros(shape), np.ones(shape, bool)
    for value, c, half in ellipsoids:
        def within(grow):
            return sum(((p - o) / (h + grow)) ** 2 for p, o, h in zip((x, y, z), c, half)) <= 1
        truth += value * within(0)
        far &= within(-margin) | ~within(margin)
    return truth, far


def closed_fdk(sod, radius, value, z, samples=200001):
    """What FDK of a ball about the origin makes of the point (0, 0, z): the filtered, cosine-weighted row is the
    same in every view, and at its middle the ramp is 1/(2 pi^2) times the finite part of -1/u^2. Hence
    f = 1/pi * int_0^inf (g(0) - g(u)) / u^2 du with g on the plane through the axis."""
    # u = reach sin(s): the square root's end becomes smooth
    # the ray from (0, -sod, 0) through (u, 0, z) passes the origin at sod sqrt(u^2 + z^2) / sqrt(sod^2 + u^2 + z^2)
    reach = np.sqrt(radius**2 * sod**2 / (sod**2 - radius**2) - z**2)
    s = (np.arange(samples) + 0.5) / samples * np.pi / 2
    u = reach * np.sin(s)

    def g(u):
        far2 = sod**2 + u**2 + z**2
        return 2 * value * np.sqrt(np.maximum(radius**2 - sod**2 * (u**2 + z**2) / far2, 0)) * sod / np.sqrt(far2)

    body = ((g(0.0) - g(u)) / u**2 * reach * np.cos(s)).sum() * (np.pi / 2 / samples)
    return (body + g(0.0) / reach) / np.pi
