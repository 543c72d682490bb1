# SPDX-License-Identifier: MIT
"""The last lines of `make test`: scripts/test-summary.py on what ctest writes."""
import subprocess
import sys
from xml.sax.saxutils import escape

from qbtest import ROOT

PYTEST = """..s.                      [100%]
=========================== short test summary info ============================
SKIPPED [2] ../tests/cli/test_x.py:7: there is no OpenCL device
3 passed, 2 skipped, 4 deselected in 0.10s
"""
CMOCKA = """[==========] Running 3 test(s).
[ RUN      ] first
[       OK ] first
[ RUN      ] second
no locale with
a decimal comma
[  SKIPPED ] second
[ RUN      ] third
[  SKIPPED ] third
[==========] 3 test(s) run.
[  PASSED  ] 1 test(s).
[  SKIPPED ] 2 test(s), listed below:
[  SKIPPED ] second
[  SKIPPED ] third
"""
BROKEN = CMOCKA.replace("[       OK ] first", "[  FAILED  ] first").replace(
    "[  PASSED  ] 1 test(s).", "[  PASSED  ] 0 test(s).") + "[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] first\n"


def write(file, tests):
    cases = "".join(f'<testcase name="{name}" status="{status}">' + ('<skipped message="SKIP_RETURN_CODE=77"/>' if status == "notrun" else "")
                    + f"<system-out>{escape(text)}</system-out></testcase>" for name, status, text in tests)
    file.write_text(f'<?xml version="1.0"?><testsuite name="all">{cases}</testsuite>')


def summary(folder, *tests, steps="", again=()):
    """(exit code, last lines) for tests of (name, status, output), and second tries."""
    write(folder / "release.xml", tests)
    if again:
        write(folder / "release.again.xml", again)
    (folder / "steps").write_text(steps)
    done = subprocess.run([sys.executable, ROOT / "scripts" / "test-summary.py", folder], capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout.strip().splitlines()


def test_cases_are_counted_and_skips_have_reasons(tmp_path):
    code, lines = summary(tmp_path, ("cli.x", "run", PYTEST), ("unit.y", "run", CMOCKA), ("fuzz.z", "run", "412 inputs"),
                          ("device.nvrtc", "notrun", "libnvrtc.so is not there\n"), steps="passed floors\n")
    assert code == 0 and lines[-1] == "6 passed, 0 failed, 5 skipped"
    text = "\n".join(lines)
    assert lines[0] == "skipped:"
    assert "cli.x (release) x 2: there is no OpenCL device" in text
    assert "unit.y (release): second: no locale with a decimal comma" in text
    assert "unit.y (release): third: no reason given" in text
    assert "device.nvrtc (release): libnvrtc.so is not there" in text


def test_failures_are_named(tmp_path):
    code, lines = summary(tmp_path, ("cli.x", "fail", "1 failed, 7 passed in 28.26s\n"), ("unit.y", "fail", BROKEN), ("fuzz.z", "fail", ""))
    assert code == 1 and lines[-5:] == ["failed:", "  cli.x (release)", "  unit.y (release)", "  fuzz.z (release)",
                                        "7 passed, 3 failed, 2 skipped"]


def test_a_second_try_counts_and_is_named(tmp_path):
    first = ("cli.x", "fail", "1 failed, 7 passed in 28.26s\n"), ("unit.y", "fail", BROKEN), ("fuzz.z", "run", "")
    code, lines = summary(tmp_path, *first, again=(("cli.x", "run", "8 passed in 9.1s\n"), ("unit.y", "fail", BROKEN)))
    assert code == 1 and lines[-5:] == ["passed at a second try, alone:", "  cli.x (release)", "failed:", "  unit.y (release)",
                                        "9 passed, 1 failed, 2 skipped"]
    code, lines = summary(tmp_path, *first, again=(("cli.x", "run", "8 passed in 9.1s\n"), ("unit.y", "run", CMOCKA)))
    assert code == 0 and lines[-4:] == ["passed at a second try, alone:", "  cli.x (release)", "  unit.y (release)", "10 passed, 0 failed, 2 skipped"]


def test_a_leak_after_all_cases_passed_is_a_failure(tmp_path):
    assert summary(tmp_path, ("unit.y", "fail", CMOCKA + "ERROR: LeakSanitizer\n"))[1][-1] == "1 passed, 1 failed, 2 skipped"


def test_a_build_that_fails_is_a_failure(tmp_path):
    code, lines = summary(tmp_path, steps="passed floors\nfailed release build\n")
    assert code == 1 and lines == ["failed:", "  release build", "1 passed, 1 failed, 0 skipped"]


def test_a_step_that_was_skipped_has_its_reason(tmp_path):
    code, lines = summary(tmp_path, steps="passed floors\nskipped libFuzzer: clang is not installed: apt-get install clang\n")
    assert code == 0 and lines == ["skipped:", "  libFuzzer: clang is not installed: apt-get install clang", "1 passed, 0 failed, 1 skipped"]
