# SPDX-License-Identifier: MIT
"""An Operator inside PyTorch's graph: the gradient of A x is the exact transpose, A.T. As a custom operator it also stays whole
under torch.compile."""
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

    def __call__(self, x):
        if tuple(x.shape[-3:]) != self._operator.domain:
            raise BadArgument(f"a tensor of shape {tuple(x.shape)} for an operator on {self._operator.domain}", 6)
        return apply(x, self._key, self.T._key)

    __matmul__ = __call__

    def __repr__(self):
        return f"<TorchOperator: {self._operator.domain} to {self._operator.range}>"
