# SPDX-License-Identifier: MIT
"""Projection and its exact transpose as an operator, for methods of one's own."""
import ctypes
import math

from ._arrays import is_dense, new_like, shape_of, tensor_of
from ._check import numbers, text_bytes, whole
from ._geometry import rays_of
from ._library import BadArgument, Env, GeometryStruct, GridStruct, Tensor, declare, lib, raises
from ._options import ENVIRONMENT
from ._run import run

_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_size_t
declare("qb_projector_create", ctypes.POINTER(GeometryStruct), ctypes.POINTER(GridStruct), ctypes.c_char_p, ctypes.POINTER(Env),
        ctypes.POINTER(_POINTER))
declare("qb_projector_destroy", _POINTER, result=None)
declare("qb_projector_kernel", _POINTER, result=ctypes.c_char_p)
declare("qb_projector_forward_tensor", _POINTER, ctypes.POINTER(Tensor), _SIZE, _SIZE, ctypes.POINTER(Env), ctypes.POINTER(Tensor))
declare("qb_projector_adjoint_tensor", _POINTER, ctypes.POINTER(Tensor), _SIZE, _SIZE, ctypes.c_bool, ctypes.POINTER(Env),
        ctypes.POINTER(Tensor))
declare("qb_projector_gradient", _POINTER, _POINTER, _POINTER, _SIZE, _SIZE, ctypes.POINTER(Env), _POINTER)
declare("qb_grid_default", ctypes.POINTER(GeometryStruct), ctypes.POINTER(GridStruct), result=None)


class _Handle:
    """The library's projector; operators of its views and its transpose share it."""

    def __init__(self, geometry, grid, kernel, env):
        self.pointer = _POINTER()
        self._made_of, self._stacks = (geometry, grid, kernel, env), {}
        run(lib.qb_projector_create, ctypes.byref(geometry._struct), ctypes.byref(grid), text_bytes(kernel, "kernel") if kernel else None,
            after=(ctypes.byref(self.pointer),), **env)

    def __reduce__(self):
        """Copies, also in another process, are made anew; operators that share this share one copy."""
        return _Handle, self._made_of

    def stack(self, count):
        """The projector of a volume of `count` slices that does to each slice what this one does to its only one; None where
        there is none. The last few are kept."""
        if count not in self._stacks:
            geometry, grid, kernel, env = self._made_of
            rays = geometry._stacked(count, grid)
            if rays is None:
                return None
            tall = GridStruct.from_buffer_copy(grid)
            tall.n[2] = count
            if len(self._stacks) >= 4:
                self._stacks.pop(next(iter(self._stacks)))
            self._stacks[count] = _Handle(rays, tall, kernel, env)
        return self._stacks[count]

    def __del__(self):
        if lib and self.pointer:
            lib.qb_projector_destroy(self.pointer)


class Operator:
    """A: a volume [z][y][x] in 1/mm to line integrals [view][row][column], by Joseph's method; A.T is its exact transpose.

    `A @ x` and `A.T @ y` take float32 arrays of NumPy, CuPy or PyTorch, and give the same; more dimensions in front are
    a batch. `A[10:20]` has those views alone."""

    def __init__(self, handle, volume_shape, lines_shape, first, end, transposed=False):
        self._handle, self._volume, self._lines = handle, volume_shape, lines_shape
        self._first, self._end, self._transposed = first, end, transposed

    @property
    def domain(self):
        """Shape of what it is applied to."""
        return (self._end - self._first, *self._lines[1:]) if self._transposed else self._volume

    @property
    def range(self):
        """Shape of what comes out."""
        return self.T.domain

    @property
    def T(self):
        return Operator(self._handle, self._volume, self._lines, self._first, self._end, not self._transposed)

    @property
    def kernel(self):
        return lib.qb_projector_kernel(self._handle.pointer).decode()

    def __getitem__(self, views):
        first, end, step = views.indices(self._end - self._first) if isinstance(views, slice) else (0, 0, 0)
        if step != 1 or end <= first:
            raise BadArgument(f"views {views}: give a slice of neighbours, as A[10:20]; A has {self._end - self._first} views", 6)
        return Operator(self._handle, self._volume, self._lines, self._first + first, self._first + end, self._transposed)

    def apply(self, x, out=None, accumulate=False):
        """A x into `out` (None: a new array); with `accumulate`, of A.T alone, out += A.T x."""
        shape = shape_of(x, "x")
        if shape[-3:] != self.domain:
            raise BadArgument(f"an array of shape {shape} for an operator on {self.domain}", 6)
        if out is None:
            out = new_like(x, (*shape[:-3], *self.range))
        if shape_of(out, "out") != (*shape[:-3], *self.range):
            raise BadArgument(f"out has the shape {shape_of(out)} and should have {(*shape[:-3], *self.range)}", 6)
        if accumulate and not self._transposed:
            raise BadArgument("accumulate is for the transpose, A.T", 6)
        if len(shape) > 3:
            return self._apply_batch(x, out, accumulate)
        self._run(self._handle, x, out, accumulate)
        return out

    def _apply_batch(self, x, out, accumulate):
        """One call: slices of a parallel beam as the slices of one volume and the rows of one detector, others as the library's
        batch. Arrays that are not dense go one by one."""
        count = math.prod(shape_of(x)[:-3])
        if not (is_dense(x) and is_dense(out)):
            for i in range(len(x)):
                self.apply(x[i], out[i], accumulate)
            return out
        slices = self._volume[0] == self._lines[1] == 1 and count > 1
        stacked = self._handle.stack(count) if slices else None
        if stacked is None:
            if count:
                self._run(self._handle, x.reshape((count, *self.domain)), out.reshape((count, *self.range)), accumulate)
            return out
        images, lines = (out, x) if self._transposed else (x, out)
        images = images.reshape((count, *self._volume[1:]))
        lines = lines.reshape((count, self._end - self._first, self._lines[2])).swapaxes(0, 1)
        self._run(stacked, *((lines, images) if self._transposed else (images, lines)), accumulate)
        return out

    def _run(self, handle, x, out, accumulate):
        source, kept = tensor_of(x, "x")
        target, kept_too = tensor_of(out, "out", writes=True)
        views = (self._first, self._end)
        if self._transposed:
            run(lib.qb_projector_adjoint_tensor, handle.pointer, ctypes.byref(source), *views, accumulate,
                after=(ctypes.byref(target),))
        else:
            run(lib.qb_projector_forward_tensor, handle.pointer, ctypes.byref(source), *views,
                after=(ctypes.byref(target),))
        del kept, kept_too

    def __matmul__(self, x):
        return self.apply(x)

    def geometry_gradient(self, x, y):
        """How sum(y * (A @ x)) changes with Geometry.vectors: float64 [view][4][3] of source, pixel (0, 0), column step
        and row step, per mm, for calibration. x and y: NumPy arrays. Computed on the CPU, in double precision."""
        import numpy
        if self._transposed:
            raise BadArgument("the transpose has no gradient: give A.geometry_gradient(x, y)", 6)
        arrays = []
        for array, shape, name in ((x, self.domain, "x"), (y, self.range, "y")):
            if shape_of(array) != shape:
                raise BadArgument(f"{name} of shape {shape_of(array)} for an operator from {self.domain} to {self.range}", 6)
            arrays.append(numpy.ascontiguousarray(array, numpy.float32))
        out = numpy.empty((self._end - self._first, 4, 3))
        run(lib.qb_projector_gradient, self._handle.pointer, *(array.ctypes.data for array in arrays), self._first, self._end,
            after=(out.ctypes.data,))
        odd = int((~numpy.isfinite(out)).any((1, 2)).sum())
        if odd:
            raise BadArgument(f"x or y: NaN or infinite values, in the gradients of {odd} of {len(out)} views: replace them first", 6)
        return out

    __call__ = apply

    def scipy(self):
        """A scipy.sparse.linalg.LinearOperator on flat vectors."""
        import numpy
        from scipy.sparse.linalg import LinearOperator

        def flat(operator):
            def apply(x):
                return operator.apply(numpy.ascontiguousarray(x, numpy.float32).reshape(operator.domain)).reshape(-1)
            return apply

        size = [int(numpy.prod(shape)) for shape in (self.range, self.domain)]
        return LinearOperator(size, matvec=flat(self), rmatvec=flat(self.T), dtype=numpy.float32)

    def torch(self):
        """A as a function of PyTorch's tensors with gradients, also under torch.compile: A.torch()(x), A.torch().T(y)."""
        from ._torch import TorchOperator
        return TorchOperator(self)

    def __repr__(self):
        return f"<Operator: {self.domain} to {self.range}, {self.kernel}>"


@raises
def operator(geometry, shape=None, voxel=None, offset=None, *, kernel=None, **env):
    """The projection along a Geometry of a volume of `shape` [z][y][x] with voxels of `voxel` mm (one number or x, y, z),
    its middle at `offset` (x, y, z) mm. None: as qb.project has it. Also threads, device, max_vram."""
    unknown = [name for name in env if name not in ENVIRONMENT]
    if unknown:
        raise TypeError(f"operator() has no option {unknown[0]}: it has shape, voxel, offset, kernel, {', '.join(ENVIRONMENT)}")
    grid = GridStruct()
    rays_of(geometry)
    lib.qb_grid_default(ctypes.byref(geometry._struct), ctypes.byref(grid))
    if shape is not None:
        if not hasattr(shape, "__len__") or len(shape) != 3:
            raise BadArgument(f"shape {shape}: give three numbers, (z, y, x)", 6)
        grid.n[:] = [whole(n, "shape", 1) for n in reversed(shape)]
    if voxel is not None:
        grid.voxel[:] = numbers(voxel, "voxel", 3)
    if offset is not None:
        grid.offset[:] = numbers(offset, "offset", 3)
    handle = _Handle(geometry, grid, kernel, env)
    return Operator(handle, tuple(reversed(grid.n[:])), geometry.shape, 0, geometry.shape[0])


@raises
def backproject(projections, geometry, shape=None, voxel=None, offset=None, *, out=None, **env):
    """Back-projection without a filter, the exact transpose of project: projections [view][row][column] along a Geometry
    into a volume [z][y][x]. shape, voxel and offset are those of operator(). Other keywords: threads, device, max_vram."""
    return operator(geometry, shape, voxel, offset, **env).T.apply(projections, out)
