# SPDX-License-Identifier: MIT
"""What holds for all of these tests."""
import os
import random

# With QB_QUICK=1 one case of each test is drawn, and none that is marked slow. QB_SLOW=N adds slow ones: the commands of
# the pages, which build on one another, and one case of every N-th slow test. QB_SEED says which.


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: left out with QB_QUICK=1")
    config.addinivalue_line("markers", "in_order: cases that need those before them")


def tests_of(items, slow):
    """The cases of each test, slow ones or the others."""
    tests = {}
    for item in items:
        if bool(item.get_closest_marker("slow")) == slow:
            name = item.nodeid if item.get_closest_marker("in_order") else item.nodeid.split("[")[0]
            tests.setdefault(name, []).append(item)
    return list(tests.values())


def pytest_collection_modifyitems(config, items):
    if os.environ.get("QB_QUICK") != "1":
        return
    dice, share = random.Random(os.environ.get("QB_SEED", "0")), int(os.environ.get("QB_SLOW") or 0)
    chosen = {dice.choice(cases) for cases in tests_of(items, slow=False)}
    for cases in tests_of(items, slow=True) if share else []:
        if cases[0].get_closest_marker("in_order") or dice.randrange(share) == 0:
            chosen.add(dice.choice(cases))
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def pytest_make_parametrize_id(val):
    """Short: pytest puts a test's name into the environment, which does not hold 128 KiB."""
    if isinstance(val, str) and len(val) > 60:
        return f"{val[:40]}...{len(val)}"
    return None
