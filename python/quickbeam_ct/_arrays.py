# SPDX-License-Identifier: MIT
"""Arrays of NumPy, CuPy, PyTorch and others as qb_tensor, without a copy."""
import ctypes
import math
import sys

from ._library import BadArgument, Tensor, check, lib

_names = ["float32", "uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float64"]
DTYPES = {name: number for number, name in enumerate(_names)}
assert all(lib.qb_dtype_name(number).decode() == name for name, number in DTYPES.items())
DTYPE_SIZES = [4, 1, 1, 2, 2, 4, 4, 2, 8]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
CPU, CUDA = 1, 2


def _library_of(array):
    return type(array).__module__.split(".")[0]


def _typed(typestr):
    name = {"f": "float", "u": "uint", "i": "int"}.get(typestr[1], "?") + (str(8 * int(typestr[2:])) if typestr[2:].isdigit() else "")
    if typestr[0] == ">" or name not in DTYPES:
        raise BadArgument(f"an array of {typestr}: quickbeam takes {', '.join(_names)} in the machine's byte order", 6)
    return name


def _from_interface(about, memory, device, stream, what):
    """__array_interface__ and __cuda_array_interface__ have the same fields."""
    name, shape = _typed(about["typestr"]), about["shape"]
    size = DTYPE_SIZES[DTYPES[name]]
    if not 1 <= len(shape) <= 4:
        raise BadArgument(f"{what} has {len(shape)} dimensions: give 2 or 3", 6)
    tensor = Tensor(data=about["data"][0], memory=memory, device=device, ndim=len(shape), dtype=DTYPES[name], stream=stream)
    tensor.shape[:len(shape)] = shape
    if about.get("strides"):
        if any(step % size for step in about["strides"]):
            raise BadArgument(f"{what}: its strides {about['strides']} are no whole numbers of elements", 6)
        tensor.strides[:len(shape)] = [step // size for step in about["strides"]]
    return tensor


def refuse_mask(array, what):
    """NumPy's masked arrays, whose masks the library would not see."""
    if hasattr(array, "filled") and hasattr(array, "mask") and array.mask.any():
        raise BadArgument(f"{what}: {int(array.mask.sum())} of its values are masked, which is not supported: hand in {what}.filled(value)", 6)


def tensor_of(array, what, writes=False):
    """A qb_tensor of an array, and what must live as long."""
    refuse_mask(array, what)
    if _library_of(array) == "torch":
        import torch
        if array.requires_grad:
            if torch.is_grad_enabled():
                raise BadArgument(f"{what} requires a gradient, which this call does not give: hand in {what}.detach()", 6)
            array = array.detach()
        if str(array.dtype).removeprefix("torch.") not in DTYPES:
            raise BadArgument(f"{what} is of {array.dtype}: quickbeam takes {', '.join(_names)}", 6)
        if array.is_neg():  # a view whose memory has the other sign
            raise BadArgument(f"{what} is a view with the sign changed: hand in {what}.resolve_neg()", 6)
        if array.is_cuda:
            stream = torch.cuda.current_stream(array.device).cuda_stream
            tensor = Tensor()
            capsule = array.__dlpack__(stream=stream or 1)
            check(lib.qb_tensor_from_dlpack(_get_pointer(capsule, b"dltensor"), stream or None, ctypes.byref(tensor)))
            return tensor, (array, capsule)
    if hasattr(array, "__cuda_array_interface__"):
        about = array.__cuda_array_interface__
        device = getattr(getattr(array, "device", None), "id", 0)
        return _from_interface(about, CUDA, device, about.get("stream") or None, what), array
    if hasattr(array, "__array_interface__"):
        about = array.__array_interface__
        if writes and about["data"][1]:
            raise BadArgument(f"{what} is read-only: give an array that can be written", 6)
        return _from_interface(about, CPU, 0, None, what), array
    if hasattr(array, "__dlpack__"):
        tensor = Tensor()
        try:
            capsule = array.__dlpack__()
        except BufferError as error:
            raise BadArgument(f"{what}: {error}: give a dense array in memory", 6) from error
        check(lib.qb_tensor_from_dlpack(_get_pointer(capsule, b"dltensor"), None, ctypes.byref(tensor)))
        return tensor, (array, capsule)
    raise BadArgument(f"{what} is a {type(array).__name__}: give an array of NumPy, CuPy or PyTorch", 6)


def _extent(tensor):
    """First byte and past the last one; the library takes strides of 0 throughout for dense."""
    size = DTYPE_SIZES[tensor.dtype]
    shape, strides = list(tensor.shape[:tensor.ndim]), list(tensor.strides[:tensor.ndim])
    if not any(strides):
        return tensor.data, tensor.data + size * math.prod(shape)
    steps = [(n - 1) * step * size for n, step in zip(shape, strides)]
    return tensor.data + sum(s for s in steps if s < 0), tensor.data + size + sum(s for s in steps if s > 0)


def overlap(a, b):
    """Do two tensors share memory, by where they begin and end?"""
    if (a.memory, a.device) != (b.memory, b.device) or not (a.data and b.data):
        return False
    (first, end), (other, other_end) = _extent(a), _extent(b)
    return first < other_end and other < end


def wants_gradient(array):
    """Is it a tensor of PyTorch's to which gradients are to go?"""
    return _library_of(array) == "torch" and array.requires_grad and sys.modules["torch"].is_grad_enabled()


def shape_of(array, what="an argument"):
    if not hasattr(array, "shape"):
        raise BadArgument(f"{what} is a {type(array).__name__}: give an array of NumPy, CuPy or PyTorch", 6)
    return tuple(int(n) for n in array.shape)


def on_host(array):
    """The same for NumPy: a tensor without its gradient, a device's array copied."""
    library = _library_of(array)
    return array.detach().cpu() if library == "torch" or hasattr(array, "detach") else array.get() if library == "cupy" else array


def is_dense(array):
    """Can it be reshaped without a copy?"""
    if _library_of(array) == "torch":
        return array.is_contiguous()
    return bool(getattr(getattr(array, "flags", None), "c_contiguous", False))


def new_like(array, shape, dtype="float32"):
    """An array of what `array` is of, on its device; None: of NumPy."""
    library = None if array is None else _library_of(array)
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device=array.device)
    if library == "cupy":
        cupy = sys.modules["cupy"]
        with array.device:
            return cupy.empty(shape, dtype=dtype)
    import numpy
    return numpy.empty(shape, dtype=dtype)


def doubles(values, what):
    """A list of numbers, or an array of any kind, as C's double *."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    try:
        return (ctypes.c_double * len(values))(*values)
    except (TypeError, OverflowError):
        raise BadArgument(f"{what}: give a list of numbers", 6) from None
