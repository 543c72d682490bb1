# SPDX-License-Identifier: MIT
"""An Operator, fbp and fdk inside PyTorch's graph: the gradient of a linear map is its exact transpose. As a custom operator
an Operator also stays whole under torch.compile; fbp and fdk are steps between two graphs there."""
import itertools
import weakref

import torch

from ._library import BadArgument

_count = itertools.count()
_known = weakref.WeakValueDictionary()  # key: Operator; the graph holds numbers only


def _apply(x, key):
    operator = _known.get(key)
    if operator is None:
        raise BadArgument("the operator of this compiled graph is gone: keep it as long as the graph", 6)
    return operator.apply(x.detach().to(torch.float32).contiguous())


@torch.library.custom_op("quickbeam::apply", mutates_args=())
def apply(x: torch.Tensor, key: int, back: int) -> torch.Tensor:
    return _apply(x, key)


@apply.register_fake
def _(x, key, back):
    return x.new_empty((*x.shape[:-3], *_known[key].range), dtype=torch.float32)


def _setup(ctx, inputs, output):
    x, ctx.key, ctx.back = inputs
    ctx.dtype, ctx.kept = x.dtype, (_known.get(ctx.key), _known.get(ctx.back))  # alive as long as the graph


def _backward(ctx, gradient):
    return apply(gradient, ctx.back, ctx.key).to(ctx.dtype), None, None


apply.register_autograd(_backward, setup_context=_setup)


class TorchOperator:
    """A as a function of tensors [...][z][y][x], with gradients; T is its transpose."""

    def __init__(self, operator, transpose=None):
        self._operator, self._key = operator, next(_count)
        _known[self._key] = operator
        self.T = transpose or TorchOperator(operator.T, self)

    def __reduce__(self):
        return TorchOperator, (self._operator,)

    def __call__(self, x):
        if not isinstance(x, torch.Tensor):
            raise BadArgument(f"x is a {type(x).__name__}: give a tensor of PyTorch, or use the operator itself", 6)
        if tuple(x.shape[-3:]) != self._operator.domain:
            raise BadArgument(f"a tensor of shape {tuple(x.shape)} for an operator on {self._operator.domain}", 6)
        return apply(x, self._key, self.T._key)

    __matmul__ = __call__

    def __repr__(self):
        return f"<TorchOperator: {self._operator.domain} to {self._operator.range}>"


class _Reconstruct(torch.autograd.Function):
    """B lines, by make(lines), a Plan; its gradient is the plan's transpose."""

    @staticmethod
    def forward(ctx, lines, make):
        plan = make(lines.detach().to(torch.float32))
        volume = plan.run()
        fixed = {"center": plan.report["column"]} if plan.verb == "fbp" else {}
        ctx.plan, ctx.make, ctx.dtype = plan, lambda lines: make(lines, **fixed), lines.dtype
        return volume

    @staticmethod
    def backward(ctx, gradient):
        return _Transpose.apply(gradient, ctx.plan, ctx.make).to(ctx.dtype), None


class _Transpose(torch.autograd.Function):
    @staticmethod
    def forward(ctx, volume, plan, make):
        ctx.make, ctx.dtype = make, volume.dtype
        return plan.transpose(volume.detach().to(torch.float32)).reshape(plan._source.shape)

    @staticmethod
    def backward(ctx, gradient):
        return _Reconstruct.apply(gradient, ctx.make).to(ctx.dtype), None, None


@torch.compiler.disable
def reconstruct(make, lines):
    return _Reconstruct.apply(lines, make)
