# SPDX-License-Identifier: MIT
"""An Operator or a reconstruction in the words of other packages. Each function imports its package when it is called."""
import numpy

from ._calls import fbp
from ._cil import cil, cil_fbp  # noqa: F401
from ._library import BadArgument


def pylops(operator):
    """A PyLops LinearOperator: volumes `dims`, line integrals `dimsd`, float32."""
    import pylops as package

    class Projection(package.LinearOperator):
        def __init__(self):
            super().__init__(dtype=numpy.dtype("float32"), dims=operator.domain, dimsd=operator.range, name="quickbeam")

        def _matvec(self, x):
            return operator.apply(_image(x, operator.domain)).ravel()

        def _rmatvec(self, y):
            return operator.T.apply(_image(y, operator.range)).ravel()

    return Projection()


def odl(operator):
    """An ODL Operator between spaces rn(A.domain) and rn(A.range) of float32; its adjoint is A.T."""
    import odl as package
    spaces = [package.rn(shape, dtype="float32") for shape in (operator.domain, operator.range)]

    class Projection(package.Operator):
        def __init__(self, inner, domain, range_, other=None):
            super().__init__(domain, range_, linear=True)
            self._inner, self._other = inner, other

        def _call(self, x):
            return self.range.element(self._inner.apply(_image(x.data, self._inner.domain)))

        @property
        def adjoint(self):
            return self._other or Projection(self._inner.T, self.range, self.domain, self)

    return Projection(operator, *spaces)


def deepinv(operator, **given):
    """A deepinv LinearPhysics. Images are [batch][1][z][y][x] and measurements [batch][1][view][row][column]; an operator
    of one slice takes [batch][1][y][x]. Gradients go through it. Other keywords are LinearPhysics' (noise_model, ...)."""
    from deepinv.physics import LinearPhysics
    forward = operator.torch()
    flat = operator.domain[0] == 1

    def project(x, **_):
        return forward(x.unsqueeze(2) if flat and x.dim() == 4 else x)

    def back(y, **_):
        image = forward.T(y)
        return image.squeeze(2) if flat else image

    return LinearPhysics(A=project, A_adjoint=back, img_size=(1, *operator.domain[1 if flat else 0:]), **given)


def tomopy(method=fbp, **options):
    """A function for tomopy.recon(..., algorithm=): it hands blocks of sinograms to `method`, fbp, cgls, ..., with `options`.
    Slices come in TomoPy's order, row 0 the highest y, and 1/pixel; angles are theirs."""
    def reconstruct(tomo, center, recon, theta, *_, **__):
        if len(center) != len(tomo):
            raise BadArgument(f"{len(center)} centres for {len(tomo)} slices", 6)
        for first, end in _runs(center):
            lines = numpy.swapaxes(numpy.asarray(tomo[first:end], numpy.float32), 0, 1)
            size = recon.shape[2], recon.shape[1]
            recon[first:end] = method(lines, -numpy.asarray(theta, float), 1.0, center=float(center[first]), size=size, **options)

    return reconstruct


def _runs(center):
    """Neighbouring slices of one centre: [(first, end)]."""
    first = 0
    for i in range(1, len(center) + 1):
        if i == len(center) or center[i] != center[first]:
            yield first, i
            first = i


def _image(values, shape):
    return numpy.ascontiguousarray(values, numpy.float32).reshape(shape)
