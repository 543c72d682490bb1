# SPDX-License-Identifier: MIT
"""What holds for all of these tests."""
import os
import random

CASES = 1 # of a test, where QB_QUICK=1: QB_SEED says which


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: left out with QB_QUICK=1")
    config.addinivalue_line("markers", "in_order: cases that need those before them")


def cases_of(items):
    tests = {}
    for item in items:
        if not item.get_closest_marker("slow"):
            name = item.nodeid if item.get_closest_marker("in_order") else item.nodeid.split("[")[0]
            tests.setdefault(name, []).append(item)
    return tests


def pytest_collection_modifyitems(config, items):
    if os.environ.get("QB_QUICK") == "1":
        dice = random.Random(os.environ.get("QB_SEED", "0"))
        chosen = {item for cases in cases_of(items).values() for item in dice.sample(cases, min(CASES, len(cases)))}
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]


def pytest_make_parametrize_id(val):
    """Short: pytest puts a test's name into the environment, which does not hold 128 KiB."""
    if isinstance(val, str) and len(val) > 60:
        return f"{val[:40]}...{len(val)}"
    return None
