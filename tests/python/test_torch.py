# SPDX-License-Identifier: MIT
"""Gradients through the operator: they are the exact transpose, in the graph, in batches and compiled."""
import copy
import gc

import numpy as np
import pytest

import quickbeam_ct as qb

torch = pytest.importorskip("torch")
RAYS = qb.Geometry.cone(2 * np.pi * np.arange(12) / 12, 6, 14, 0.5, 100, 150)
A = qb.operator(RAYS, (6, 10, 12), 0.4)


def random(*shape):
    return torch.from_numpy(np.random.default_rng(3).standard_normal(shape).astype(np.float32))


def test_values_and_gradient():
    op, x, y = A.torch(), random(*A.domain).requires_grad_(), random(*A.range)
    lines = op(x)
    np.testing.assert_array_equal(lines.detach().numpy(), A @ x.detach().numpy())
    (0.5 * ((lines - y) ** 2).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), A.T @ (lines - y).detach().numpy(), rtol=1e-5, atol=1e-5)


def test_gradcheck_both_ways():
    """The map is linear: large steps keep float32's rounding small beside the difference."""
    op = A[:3].torch()
    for function, shape in ((op, op._operator.domain), (op.T, op.T._operator.domain)):
        x = random(*shape).double().requires_grad_()
        assert torch.autograd.gradcheck(lambda v: function(v).double(), (x,), eps=0.5, atol=1e-4, rtol=1e-3, nondet_tol=0,
                                        fast_mode=True)


def test_second_derivative_of_a_square():
    op, x = A.torch(), random(*A.domain).requires_grad_()
    first, = torch.autograd.grad((op(x) ** 2).sum(), x, create_graph=True)
    v = random(*A.domain)
    second, = torch.autograd.grad((first * v).sum(), x)
    np.testing.assert_allclose(second.numpy(), 2 * (A.T @ (A @ v.numpy())), rtol=1e-4, atol=1e-3)


def test_batches():
    op, x = A.torch(), random(2, 3, *A.domain).requires_grad_()
    lines = op @ x
    assert lines.shape == (2, 3, *A.range)
    lines.sum().backward()
    want = A.T @ np.ones(A.range, np.float32)
    for i in range(2):
        np.testing.assert_array_equal(x.grad[i, 1].numpy(), want)


def test_an_unrolled_network_learns():
    """Five steps of gradient descent whose step sizes are learnt reduce the error, more so after learning."""
    torch.manual_seed(0)
    op, truth = A.torch(), torch.zeros(A.domain)
    truth[2:4, 3:7, 4:9] = 0.5
    lines = op(truth)
    scale = 1 / float(op.T(op(torch.ones(A.domain))).max())
    steps = torch.full((5,), 0.5, requires_grad=True)
    optimiser, losses = torch.optim.Adam([steps], 0.1), []
    for _ in range(15):
        x = torch.zeros(A.domain)
        for step in steps:
            x = x - step * scale * op.T(op(x) - lines)
        loss = ((x - truth) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss))
    assert losses[-1] < 0.8 * losses[0] and losses[0] < float((truth ** 2).mean())


def test_under_compile():
    op, x = A.torch(), random(*A.domain).requires_grad_()
    compiled = torch.compile(lambda v: (op(v) * 2).sum(), backend="aot_eager", fullgraph=True)
    compiled(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), A.T @ np.full(A.range, 2, np.float32), rtol=1e-6)


def test_what_does_not_fit():
    with pytest.raises(qb.Error, match="10, 12"):
        A.torch()(random(6, 10, 11))
    with pytest.raises(qb.Error, match="ndarray: give a tensor"):
        A.torch()(np.ones(A.domain, np.float32))


@pytest.mark.parametrize("change, words", [
    (torch._neg_view, "resolve_neg"), (torch.Tensor.bfloat16, "x is of torch.bfloat16: quickbeam takes float32"),
    (torch.Tensor.bool, "torch.bool"), (torch.Tensor.long, "torch.int64"), (torch.Tensor.to_sparse, "dense array in memory"),
    (lambda x: x.to("meta"), "dense array in memory")])
def test_tensors_that_are_not_taken(change, words):
    """Among them views whose memory has the other sign, which DLPack shows without it."""
    with pytest.raises(qb.Error, match=words):
        A @ change(random(*A.domain))


def test_files_and_numbers_from_tensors(tmp_path):
    x = torch.nn.Parameter(random(2, 3, 4))
    qb.write(tmp_path / "a.npy", x, voxel=torch.tensor(0.5))
    np.testing.assert_array_equal(qb.read(tmp_path / "a.npy"), x.detach().numpy())
    assert qb.compare(x, tmp_path / "a.npy")["max_abs"] == 0


def test_a_copied_model_has_an_operator_of_its_own():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.project = qb.operator(RAYS, (6, 10, 12), 0.4).torch()

        def forward(self, x):
            return self.project.T(self.project(x))

    x, model = random(6, 10, 12), Model()
    want, copied = model(x), copy.deepcopy(model)
    del model
    gc.collect()
    assert torch.equal(copied(x), want)


def test_the_graph_keeps_its_operator():
    x = random(*A.domain).requires_grad_()
    lines = qb.operator(RAYS, (6, 10, 12), 0.4).torch()(x)
    gc.collect()
    lines.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), A.T @ np.ones(A.range, np.float32))


def fbp(lines):
    views = lines.shape[0]
    return qb.fbp(lines, np.pi * np.arange(views) / views, 0.5, center=4.4)


def fdk(lines):
    return qb.fdk(lines, qb.Geometry.cone(2 * np.pi * np.arange(7) / 7, 3, 9, 0.5, 60, 90), size=(6, 6, 3))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function, shape", [(fbp, (6, 2, 9)), (fbp, (6, 9)), (fdk, (7, 3, 9))])
def test_gradients_of_fbp_and_fdk(function, shape):
    lines = random(*shape).requires_grad_()
    volume = function(lines)
    np.testing.assert_array_equal(volume.detach().numpy(), function(lines.detach()).numpy()) if function is fbp else None
    x = torch.randn(volume.shape)
    gradient, = torch.autograd.grad(volume, lines, x)
    assert gradient.shape == lines.shape
    difference = float((volume.double() * x).sum() - (lines.double() * gradient).sum())
    assert abs(difference) < 1e-6 * float(volume.norm() * x.norm())
    lines = random(*shape).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda v: function(v).double(), (lines,), eps=0.5, atol=1e-4, rtol=1e-3, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda v: (function(v).double() ** 2).sum(), (lines,), eps=0.5, atol=1e-3, rtol=1e-3, fast_mode=True)


@pytest.mark.filterwarnings("ignore")
def test_fbp_with_gradients_says_what_it_cannot_do():
    lines = random(6, 2, 9).requires_grad_()
    with pytest.raises(qb.Error, match="out with projections"):
        qb.fbp(lines, np.arange(6), 0.5, center=4, out=torch.empty(2, 9, 9))
    with pytest.raises(qb.Error, match="detach"):
        qb.sirt(lines, np.arange(6), 0.5, center=4, iterations=1)
    with torch.no_grad():
        assert qb.sirt(lines, np.pi * np.arange(6) / 6, 0.5, center=4, iterations=1).shape == (2, 9, 9)
    with pytest.raises(qb.Error, match="taper"):
        qb.fbp(lines, np.pi * np.arange(6) / 6, 0.5, center=4, pad="taper").sum().backward()
