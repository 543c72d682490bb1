# SPDX-License-Identifier: MIT
"""The calls. Keyword arguments besides those named are the command's options of the same name."""
import ctypes

from ._arrays import new_like, tensor_of, wants_gradient
from ._geometry import rays_of
from ._jobs import Plan, tables
from ._library import SOLVERS, BadArgument, lib, raises
from ._options import ENVIRONMENT, Options, rows, sign
from ._run import run

@raises
def options(table):
    """The options of a call (fbp, fdk, sirt, ..., center, project, simulate), or those that several calls share: of
    opening a scan ("scan"), preparation ("prep"), a cone beam ("geometry"), a result ("output"). A list of
    {name, type, default, choices, range, help}."""
    return rows(table)


_ABOUT = """

    projections: the path of a scan, a Scan, or an array [view][row][column] ([view][column] of one row) of line
        integrals, or of counts with flats= and darks=, arrays of [frame][row][column].
    {where}
    pixel_size: mm; values come out in 1/mm, or with 0 in 1/pixel where the scan does not say.
    out: the array for the volume [z][y][x]; None: a new one, of the library and on the device of the projections.
    output: a path instead; then the report is returned, a dict.
    Other keywords: options("{verb}") and those of options("prep"), ("scan"){geometry} and ("output"); threads, max_ram,
        device, max_vram, progress(what, done, total)."""
_ANGLES = "angles: radians, one a view; of a scan file None, or a text as --angles has it."


def _differentiable(verb, projections, *rays, **given):
    """fbp or fdk inside PyTorch's graph."""
    from ._torch import reconstruct
    for name in ("flats", "darks", "out", "output", "dtype"):
        if given.pop(name, None) is not None:
            raise BadArgument(f"{name} with projections that require a gradient: leave it out, or hand in projections.detach()", 6)
    return reconstruct(lambda lines, **more: Plan(verb, lines, *rays, **{"accuracy": "high", "keep_all_views": True, **given, **more}),
                       projections)


def _call(verb, what, where, geometry=True):
    def reconstruct(projections, angles=None, pixel_size=0.0, *, geometry=None, flats=None, darks=None, out=None, **given):
        if verb == "fbp" and wants_gradient(projections):
            return _differentiable(verb, projections, angles, pixel_size, geometry=geometry, flats=flats, darks=darks, out=out, **given)
        return Plan(verb, projections, angles, pixel_size, geometry=geometry, flats=flats, darks=darks, out=out, **given).run()

    return _described(verb, reconstruct, what, where, geometry)


def _described(verb, call, what, where, geometry=True):
    call.__name__ = call.__qualname__ = verb
    call.__doc__ = what + _ABOUT.format(verb=verb, where=where, geometry=', ("geometry")' if geometry else "")
    return sign(call, tables(verb))


fbp = _call("fbp", "Filtered back-projection of a parallel beam.", _ANGLES, False)
_RAYS = _ANGLES + " geometry: a Geometry, or the path of one, in place of angles."
solvers = {verb: _call(verb, f"{what[0].upper()}{what[1:]}.\n\nOf a parallel beam or of a Geometry.", _RAYS) for verb, what in SOLVERS.items()}
mbir = _call("mbir", "Model-based reconstruction of a parallel beam or of a Geometry.", _RAYS)


def _fdk(projections, geometry=None, *, flats=None, darks=None, out=None, **given):
    if wants_gradient(projections):
        return _differentiable("fdk", projections, geometry=geometry, flats=flats, darks=darks, out=out, **given)
    return Plan("fdk", projections, geometry=geometry, flats=flats, darks=darks, out=out, **given).run()


fdk = _described("fdk", _fdk, "Cone-beam reconstruction after Feldkamp, Davis and Kress.",
                 "geometry: a Geometry, the path of one, or for a scan None and sod=, sdd= in mm.")


def project(volume, geometry, *, out=None, **given):
    """Line integrals of a volume [z][y][x] in 1/mm along a Geometry (options("project")). Voxels are as large as pixels
    appear at the axis, about the origin."""
    env = {name: given.pop(name) for name in ENVIRONMENT if name in given}
    rays_of(geometry)
    source, kept = tensor_of(volume, "volume")
    lines = new_like(volume, geometry.shape) if out is None else out
    target, kept_too = tensor_of(lines, "out", writes=True)
    with Options("project", given) as room:
        run(lib.qb_project, ctypes.byref(source), None, ctypes.byref(geometry._struct), ctypes.byref(target), room, **env)
    del kept, kept_too
    return lines


sign(project, ("project",))
