# SPDX-License-Identifier: MIT
"""Plans: a reconstruction that is decided, with its memory and time, and can be run."""
import ctypes
import json
import math
import os

from ._arrays import new_like, overlap, shape_of, tensor_of
from ._center import center
from ._check import path_bytes, whole
from ._geometry import Geometry, rays_of
from ._library import SOLVERS, BadArgument, Env, GeometryStruct, GridStruct, MbirOptions, OutputOptions, Tensor, check, declare, lib, raises
from ._options import ENVIRONMENT, Options, names, plain
from ._run import run
from ._scan import FEW_VALUES, Scan, is_path, tell_problems

_POINTER, _SIZE, _ref = ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER
VERBS = ("fbp", "fdk", *SOLVERS, "mbir")
for _verb in VERBS:
    _rays = [_ref(GeometryStruct)] * (_verb != "fbp")
    declare(f"qb_{_verb}_plan", _POINTER, *_rays, _POINTER, _POINTER, _POINTER, ctypes.c_char_p, _ref(Env), _ref(_POINTER))
declare("qb_range_parse", ctypes.c_char_p, ctypes.c_char_p, _SIZE, *[_ref(_SIZE)] * 3)
declare("qb_grid_load", ctypes.c_char_p, _ref(GridStruct))
declare("qb_job_plan", _POINTER, result=ctypes.c_char_p)
declare("qb_job_run", _POINTER, _ref(Env), _ref(ctypes.c_char_p))
declare("qb_job_transpose", _POINTER, _ref(Tensor), _ref(Env), _ref(Tensor))
declare("qb_job_destroy", _POINTER, result=None)

_BEAM = ("sod", "sdd")
_FEW_SUMS = 1 << 26  # voxels by views: one thread takes a tenth of a second


def tables(verb):
    """The tables of options that a call takes, the verb's own first."""
    return (verb, "prep", "scan", "output") + (("geometry",) if verb != "fbp" else ())


def _is_image(value):
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and len(shape) > 1


def shared_out(verb, given):
    """Keywords by table: {table: {name: value}}; TypeError for one that no table has."""
    parts = {table: {} for table in tables(verb)}
    for name, value in given.items():
        table = next((t for t in parts if name in names(t)), None)
        if table is None:
            raise TypeError(f"{verb}() has no option {name}: it has {', '.join(sorted(names(verb)))}, and those of "
                            f"options({', '.join(map(repr, tables(verb)[1:]))})")
        parts[table][name] = value if _is_image(value) else plain(value)
    return parts


def _count(value):
    return 0 if value is None else len(value) if isinstance(value, (list, tuple)) else 1


def result_shape(shape, flat, options):
    """[z][y][x] of the volume from projections of this (views, rows, columns); `flat`: [y][x] of one row without slices."""
    if options.get("like") is not None:
        n = list(grid_of(options["like"]).n)
    else:
        size = options.get("size")
        size = list(size) if isinstance(size, (list, tuple)) else [size] * _count(size)
        size = [whole(n, "size", 1, 65536) for n in size]
        nx = size[0] if size else shape[2]
        n = [nx, size[1] if len(size) > 1 else nx, size[2] if len(size) > 2 else shape[1]]
    if options.get("slices") is not None:
        first, end, step = _SIZE(), _SIZE(), _SIZE()
        check(lib.qb_range_parse(str(options["slices"]).encode(), b"slices", n[2], *map(ctypes.byref, (first, end, step))))
        n[2] = len(range(first.value, end.value, step.value))
    elif flat and n[2] == 1:
        return n[1], n[0]
    return n[2], n[1], n[0]


def grid_of(path):
    """The grid of a volume file."""
    grid = GridStruct()
    check(lib.qb_grid_load(path_bytes(path), ctypes.byref(grid)))
    return grid


class Plan:
    """What a reconstruction will do: `forecast` is the command's plan as a dict (seconds, memory, kernel, chunks), `shape`
    that of the volume. `run()` does it and returns the volume, or with output= the report; `report` is kept."""

    def __init__(self, verb, source, angles=None, pixel_size=0.0, *, geometry=None, flats=None, darks=None, out=None, **given):
        if verb not in VERBS:
            raise BadArgument(f"plan of {verb!r}: give one of {', '.join(VERBS)}", 6)
        self.verb, self._report, self._job, self._room = verb, None, _POINTER(), []
        self._env = {name: given.pop(name) for name in ENVIRONMENT if name in given}
        if verb == "fbp" and isinstance(geometry, Geometry):
            raise BadArgument("fbp goes by angles: give angles and pixel_size, or the path of a geometry file", 6)
        self._parts = shared_out(verb, given)
        if is_path(geometry):
            self._parts["fbp" if verb == "fbp" else "geometry"]["geometry"] = os.fsdecode(geometry)
        elif geometry is not None and not isinstance(geometry, Geometry):
            raise BadArgument(f"geometry is a {type(geometry).__name__}: give a Geometry, or the path of one", 6)
        self._source, self._given_out = source, out
        self._scan = self._open(source, angles, pixel_size, geometry, flats, darks)
        tell_problems(self._scan, geometry, self._parts["prep"].get("air"))
        self._rays = self._geometry(geometry)
        self._volume = self._decide(out)

    def _open(self, source, angles, pixel_size, geometry, flats, darks):
        options, quiet = self._parts["scan"], {k: v for k, v in self._env.items() if k in ("threads", "max_ram")}
        if isinstance(source, Scan):
            if angles is not None or pixel_size or flats is not None or darks is not None or options:
                raise BadArgument("this Scan was opened with its angles, fields and options: give them to Scan()", 6)
            return source
        if not is_path(source) and angles is not None and geometry is not None:
            raise BadArgument("the geometry states the angles: leave out the angles or the geometry", 6)
        return Scan(source, angles, pixel_size or None, flats=flats, darks=darks, **options, **quiet)

    def _geometry(self, geometry):
        """The Geometry of a beam that is not parallel by the scan's own angles; None: parallel."""
        if self.verb == "fbp" or isinstance(geometry, Geometry):
            return rays_of(geometry) if isinstance(geometry, Geometry) else None
        options = dict(self._parts["geometry"])
        cone = self.verb == "fdk" or options or self._scan.info["beam"] == "cone"
        if cone and str(options.get("detector_offset", "")).startswith("auto"):
            options["detector_offset"] = self._offset(options)
        return self._scan.geometry(**options) if cone else None

    def _offset(self, options):
        """The text that detector_offset="auto[,V]" stands for, by the axis that the scan shows."""
        found = center(self._scan, **{name: options[name] for name in _BEAM if options.get(name)}, **self._parts["prep"])
        v = str(options["detector_offset"])[len("auto"):] or ",0"
        about = self._scan.info
        return f"{((about['shape'][2] - 1) / 2 - found.column) * (1 if v.endswith('px') else about['pixel_size']):.9g}{v}"

    def _decide(self, out):
        """The array for the result, None where a file is written."""
        to_file, array = self._parts["output"].get("output"), not is_path(self._source) and not isinstance(self._source, Scan)
        if to_file is not None:
            if out is not None:
                raise BadArgument("out and output are both given: give one of the two", 6)
            self._parts["output"]["output"] = os.fsdecode(to_file)
            self._make(None)
            return None
        if out is None:
            if self._parts["output"].get("dtype"):
                Options("output", self._parts["output"]).close()  # refuses a type that is none
            flat = array and len(self._source.shape) == 2
            shape = result_shape(self._scan.shape, flat, self._parts[self.verb])
            out = new_like(self._source if array else None, shape, self._parts["output"].get("dtype") or "float32")
        else:
            self._parts["output"].pop("dtype", None)
        self._make(out)
        return out

    def _size_of(self, out):
        """The verb's options with the size of the array for the result, where they do not say."""
        options = self._parts[self.verb]
        if out is None or options.get("size") is not None or options.get("like") is not None:
            return options
        size = tuple(reversed(shape_of(out, "out")))
        rows = self.verb in ("fbp", "mbir") or options.get("slices") is not None
        return {**options, "size": size[:2] if rows else size + (1,) * (3 - len(size))}

    def _images_of(self, options):
        """Take the arrays of start and prox out of mbir's options; returns {field: its tensor, what keeps it}."""
        found = {}
        for name in [name for name, value in options.items() if _is_image(value)]:
            if self.verb != "mbir" or name not in ("start", "prox"):
                raise BadArgument(f"{name} is an array: give the path of a file (quickbeam_ct.write makes one)", 6)
            found[f"{name}_array"] = tensor_of(options.pop(name), name)
        return found

    def _make(self, out):
        self._drop()
        options = dict(self._size_of(out))
        self._images = self._images_of(options)
        rooms = [Options(table, given) for table, given in
                 ((self.verb, options), ("prep", self._parts["prep"]), ("output", self._parts["output"]))]
        try:
            verb, prep, output = (room.room for room in rooms)
            if out is not None:
                tensor, kept = tensor_of(out, "out", writes=True)
                self._room = [tensor, kept]
                if any(isinstance(read, Tensor) and overlap(read, tensor) for read in self._scan._kept):
                    raise BadArgument("out overlaps the projections: give an array of its own", 6)
                OutputOptions.from_buffer(output).array = ctypes.pointer(tensor)
            for field, (tensor, _) in self._images.items():
                setattr(MbirOptions.from_buffer(verb), field, ctypes.pointer(tensor))
            rays = [] if self.verb == "fbp" else [None if self._rays is None else ctypes.byref(self._rays._struct)]
            run(getattr(lib, f"qb_{self.verb}_plan"), self._scan._pointer, *rays, prep, verb, output,
                f"quickbeam_ct.{self.verb}".encode(), after=(ctypes.byref(self._job),), short=self._is_small(), **self._env)
        finally:
            for room in rooms:
                room.close()
        self._forecast = None

    def _is_small(self):
        """Are these few line integrals in memory?"""
        return not is_path(self._scan._kept[0]) and math.prod(self._scan.shape) < FEW_VALUES

    @property
    def forecast(self):
        if self._forecast is None:
            self._forecast = json.loads(lib.qb_job_plan(self._job))
        return self._forecast

    @property
    def report(self):
        if isinstance(self._report, bytes):
            self._report = json.loads(self._report)
        return self._report

    @property
    def shape(self):
        """(z, y, x) of the volume."""
        return tuple(self._volume.shape) if self._volume is not None else tuple(int(n) for n in reversed(self.forecast["size"]))

    def run(self, progress=None):
        report, env = ctypes.c_char_p(), {**self._env}
        if progress is not None:
            env["progress"] = progress
        short = self.verb == "fbp" and self._is_small() and math.prod(self.shape) * self._scan.shape[0] < _FEW_SUMS
        run(lib.qb_job_run, self._job, after=(ctypes.byref(report),), short=short, **env)
        self._report, self._forecast = report.value, None
        return self.report if self._volume is None else self._volume

    def transpose(self, volume, out=None):
        """The exact transpose of what fbp or fdk makes of line integrals: float32 [z][y][x] to [view][row][column], for
        gradients. An axis that is looked for is known once the plan has run. On a device where the job has run there."""
        lines = new_like(volume, self._scan.shape) if out is None else out
        source, kept = tensor_of(volume, "volume")
        target, kept_too = tensor_of(lines, "out", writes=True)
        env = {name: self._env[name] for name in ("threads", "progress") if name in self._env}
        run(lib.qb_job_transpose, self._job, ctypes.byref(source), after=(ctypes.byref(target),), **env)
        del kept, kept_too
        return lines

    def _drop(self):
        if self._job:
            lib.qb_job_destroy(self._job)
            self._job = _POINTER()

    def __repr__(self):
        return f"<Plan: {self.verb} of {self._scan!r} to {self.shape}>"

    def __del__(self):
        if lib and getattr(self, "_job", None):
            self._drop()


@raises
def plan(verb, projections, angles=None, pixel_size=0.0, **given):
    """The plan of a call without doing it: plan("fbp", "scan.h5").forecast. Arguments are the call's own; run() does it."""
    return Plan(verb, projections, angles, pixel_size, **given)
