# SPDX-License-Identifier: MIT
"""quickbeam in Python: CT reconstruction of arrays, by the C library libquickbeam.

Projections are [view][row][column] (or [view][column] of one row), volumes [z][y][x] (or [y][x]). Angles are in radians,
lengths in mm, values in 1/mm. NumPy arrays give NumPy arrays, CuPy's give CuPy's, PyTorch's give PyTorch's."""
from ._calls import fbp, fdk, mbir, options, project, solvers as _solvers
from ._center import Center, center
from ._config import show_config
from ._files import compare, info, read, simulate, write
from ._geometry import Geometry
from ._jobs import Plan, plan
from ._library import Error, Interrupted, QuickbeamWarning, version
from ._operator import Operator, backproject, operator
from ._prepare import prepare
from ._scan import Scan
from ._show import Viewer, show

__version__ = "0.2.0"
__all__ = ["Center", "Error", "Geometry", "Interrupted", "Operator", "Plan", "QuickbeamWarning", "Scan", "Viewer", "backproject",
           "center", "compare", "fbp", "fdk", "info", "mbir", "operator", "options", "plan", "prepare",
           "project", "read", "show", "show_config", "simulate", "version", "write"]
globals().update(_solvers)
__all__ += _solvers
