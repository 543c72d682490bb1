# SPDX-License-Identifier: MIT
"""The calls from array to array. Keyword arguments besides those named are the command's options of the same name."""
import ctypes
import typing

from ._arrays import doubles, new_like, shape_of, tensor_of
from ._library import BadArgument, CenterResult, lib, run
from ._options import Options, rows

_ENV = ("threads", "max_ram", "device", "max_vram", "progress")


def options(verb):
    """The options of fbp, fdk, sirt, cgls, tv, mbir, center or project: [{name, type, default, choices, range, help}]."""
    return rows(verb)


class Center(typing.NamedTuple):
    """Where the rotation axis falls: column, confidence (0 to 1), and what each finder says."""
    column: float
    confidence: float
    methods: dict
    warning: str


def _split(given):
    return {k: given.pop(k) for k in _ENV if k in given}, given


def _sizes(given):
    size = given.get("size")
    return [] if size is None else [int(n) for n in (size if isinstance(size, (list, tuple)) else [size])]


def _volume_shape(shape, given):
    """[z][y][x] of what is asked for; one row makes one slice."""
    size = _sizes(given)
    if given.get("slices") is not None or given.get("like") is not None:
        raise BadArgument("slices and like need an array for the result: give out=", 6)
    nx = size[0] if size else shape[-1]
    ny = size[1] if len(size) > 1 else nx
    if len(shape) == 2:
        return ny, nx
    return (size[2] if len(size) > 2 else shape[1]), ny, nx


def _result(projections, out, given):
    return new_like(projections, _volume_shape(shape_of(projections), given)) if out is None else out


def _angles(angles, shape):
    radians = doubles(angles, "angles")
    if shape and len(radians) != shape[0]:
        raise BadArgument(f"{len(radians)} angles for {shape[0]} views", 6)
    return radians


def _solve(verb, projections, angles, geometry, pixel_size, out, given):
    env, given = _split(given)
    source, kept = tensor_of(projections, "projections")
    volume = _result(projections, out, given)
    target, kept_too = tensor_of(volume, "out", writes=True)
    radians = None if angles is None else _angles(angles, shape_of(projections))
    rays = None if geometry is None else ctypes.byref(geometry._struct)
    with Options(verb, given) as room:
        run(getattr(lib, f"qb_{verb}"), ctypes.byref(source), radians, pixel_size, rays, ctypes.byref(target), room, **env)
    del kept, kept_too
    return volume


def fbp(projections, angles, pixel_size=0.0, *, out=None, **given):
    """Filtered back-projection of a parallel beam.

    projections: line integrals [view][row][column], or [view][column] of one row. angles: radians, one a view. pixel_size:
    mm; values come out in 1/mm, or with 0 in 1/pixel. out: the array for the volume [z][y][x]; None: a new one. Other
    keywords: center, filter, pad, ... (options("fbp")), and threads, max_ram, device, max_vram, progress(what, done, total)."""
    env, given = _split(given)
    source, kept = tensor_of(projections, "projections")
    volume = _result(projections, out, given)
    target, kept_too = tensor_of(volume, "out", writes=True)
    with Options("fbp", given) as room:
        run(lib.qb_fbp, ctypes.byref(source), _angles(angles, shape_of(projections)), pixel_size, ctypes.byref(target), room,
            **env)
    del kept, kept_too
    return volume


def fdk(projections, geometry, *, out=None, **given):
    """Cone-beam reconstruction after Feldkamp, Davis and Kress along a Geometry; else as fbp (options("fdk"))."""
    env, given = _split(given)
    source, kept = tensor_of(projections, "projections")
    volume = _result(projections, out, given)
    target, kept_too = tensor_of(volume, "out", writes=True)
    with Options("fdk", given) as room:
        run(lib.qb_fdk, ctypes.byref(source), ctypes.byref(geometry._struct), ctypes.byref(target), room, **env)
    del kept, kept_too
    return volume


def sirt(projections, angles=None, pixel_size=0.0, *, geometry=None, out=None, **given):
    """Least squares by SIRT, of a parallel beam (angles, pixel_size) or of a Geometry; else as fbp (options("sirt"))."""
    return _solve("sirt", projections, angles, geometry, pixel_size, out, given)


def cgls(projections, angles=None, pixel_size=0.0, *, geometry=None, out=None, **given):
    """Least squares by conjugate gradients; else as sirt (options("cgls"))."""
    return _solve("cgls", projections, angles, geometry, pixel_size, out, given)


def tv(projections, angles=None, pixel_size=0.0, *, geometry=None, out=None, **given):
    """Least squares and total variation by a primal-dual method; else as sirt (options("tv"))."""
    return _solve("tv", projections, angles, geometry, pixel_size, out, given)


def mbir(projections, angles=None, pixel_size=0.0, *, geometry=None, out=None, **given):
    """Model-based reconstruction of a parallel beam or of a fan's Geometry; else as sirt (options("mbir"))."""
    return _solve("mbir", projections, angles, geometry, pixel_size, out, given)


def center(projections, angles, **given):
    """The rotation axis of line integrals of a parallel beam, as a Center (options("center"))."""
    env, given = _split(given)
    source, kept = tensor_of(projections, "projections")
    found = CenterResult(struct_size=ctypes.sizeof(CenterResult))
    with Options("center", given) as room:
        run(lib.qb_center, ctypes.byref(source), _angles(angles, shape_of(projections)), room,
            after=(ctypes.byref(found),), **env)
    del kept
    methods = {m.name.decode(): (m.column, m.confidence) for m in found.method[:found.count]}
    return Center(found.column, found.confidence, methods, found.warning.decode())


def project(volume, geometry, *, out=None, **given):
    """Line integrals of a volume [z][y][x] in 1/mm along a Geometry (options("project")). Voxels are as large as pixels
    appear at the axis, about the origin."""
    env, given = _split(given)
    source, kept = tensor_of(volume, "volume")
    lines = new_like(volume, geometry.shape) if out is None else out
    target, kept_too = tensor_of(lines, "out", writes=True)
    with Options("project", given) as room:
        run(lib.qb_project, ctypes.byref(source), None, ctypes.byref(geometry._struct), ctypes.byref(target), room, **env)
    del kept, kept_too
    return lines
