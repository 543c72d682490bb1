#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test-summary.py FOLDER: what the *.xml that ctest wrote there and the file `steps` (a line each: passed|failed, name; or skipped, name: why)
come to: the failures, what was skipped and why, and last a line `N passed, N failed, N skipped`. A test program of
many cases (pytest, cmocka) counts as many. Exit code 1 when something failed."""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as tree

PYTEST = re.compile(r"^=*\s*(?:no tests ran|(?:\d+ \w+(?:, )?)+) in [\d.]+s.*$", re.M)
CMOCKA = re.compile(r"^\[  (PASSED|FAILED|SKIPPED) ?\s*\] (\d+) test\(s\)", re.M)
passed = failed = 0
failures = []
skipped = collections.Counter()  # (test, why)


def of_pytest(name, text, summary):
    """Counts (passed, failed) of pytest's last line; notes its skips."""
    count = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", summary)}
    for n, where, why in re.findall(r"^SKIPPED \[(\d+)\] (?:\S*/)?(\S+?)(?::\d+)?: (.*)$", text, re.M):
        skipped[name, why] += int(n)
    return count.get("passed", 0), count.get("failed", 0) + count.get("error", 0) + count.get("errors", 0)


def of_cmocka(name, text):
    """The same of cmocka's; what a case printed before it was skipped is the reason."""
    count = collections.Counter()
    for kind, n in CMOCKA.findall(text):
        count[kind] += int(n)
    cases = re.findall(r"^\[ RUN      \] (\S+)\n((?:(?!\[ RUN ).*\n)*?)\[  SKIPPED \] \1$", text, re.M)
    for case, said in cases:
        skipped[name, f"{case}: {' '.join(said.split()) or 'no reason given'}"] += 1
    skipped[name, "no reason given"] += count["SKIPPED"] - len(cases)
    return count["PASSED"], count["FAILED"]


def of_test(name, status, text, message):
    """Of one ctest test, whatever it is."""
    summaries = PYTEST.findall(text)
    if summaries:
        good, bad = of_pytest(name, text, summaries[-1])
    elif CMOCKA.search(text):
        good, bad = of_cmocka(name, text)
    elif status == "skip":
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        skipped[name, lines[-1] if lines else message] += 1
        return 0, 0
    else:
        good, bad = (1, 0) if status == "run" else (0, 1)
    if status == "fail" and not bad:  # a crash, a leak, no time left
        bad = 1
    return good, bad


folder = pathlib.Path(sys.argv[1])
tests = {}  # (name, title): its case of the last try
again = set()
for file in sorted(folder.glob("*.xml"), key=lambda file: file.stem.endswith(".again")):
    title = file.stem.removesuffix(".again")
    for case in tree.parse(file).getroot().iter("testcase"):
        key = f"{case.get('name')} ({title})"
        if title != file.stem:
            again.add(key)
        tests[key] = case
for name, case in tests.items():
    status = {"run": "run", "fail": "fail"}.get(case.get("status"), "fail")
    reason = case.find("skipped")
    if reason is not None:
        status = "skip"
    good, bad = of_test(name, status, case.findtext("system-out") or "", (reason.get("message") if reason is not None else "") or "")
    passed, failed = passed + good, failed + bad
    if bad:
        failures.append(name)
for line in (folder / "steps").read_text().splitlines() if (folder / "steps").exists() else []:
    kind, name = line.split(" ", 1)
    if kind == "skipped":
        name, _, why = name.partition(": ")
        skipped[name, why] += 1
        continue
    passed, failed = passed + (kind == "passed"), failed + (kind == "failed")
    if kind == "failed":
        failures.append(name)

skipped = +skipped
print()
if skipped:
    print("skipped:")
    by_reason = collections.defaultdict(list)
    for (name, why), n in skipped.items():
        by_reason[why].append(name if n == 1 else f"{name} x {n}")
    for why, names in sorted(by_reason.items(), key=lambda item: item[1]):
        print(f"  {', '.join(names)}: {why}")
if again - set(failures):
    print("passed at a second try, alone:")
    for name in sorted(again - set(failures)):
        print(f"  {name}")
if failures:
    print("failed:")
    for name in failures:
        print(f"  {name}")
print(f"{passed} passed, {failed} failed, {sum(skipped.values())} skipped")
sys.exit(failed > 0)
