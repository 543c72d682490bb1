# SPDX-License-Identifier: MIT
"""What holds for all of these tests."""
import os


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: left out with QB_QUICK=1")


def pytest_collection_modifyitems(config, items):
    if os.environ.get("QB_QUICK") == "1":
        left_out = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_make_parametrize_id(val):
    """Short: pytest puts a test's name into the environment, which does not hold 128 KiB."""
    if isinstance(val, str) and len(val) > 60:
        return f"{val[:40]}...{len(val)}"
    return None
