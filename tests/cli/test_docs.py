# SPDX-License-Identifier: MIT
"""Every command that the README and docs/ show is run; docs/cli.md is what the command says of itself."""
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from qbtest import DATA, NO_RANKS, PATIENCE, QB, RANKS_ENV, ROOT, slow

BUILDING = ("make", "scripts/", "cmake", "ctest", "git", "cd ", "build/", "NO_INSTALL", "clang-format")
BY_SCRIPT = ("gallery.md",)  # which test_the_gallery_is_what_its_commands_make runs
MEASURING = {ROOT / "docs" / "performance.md", *(ROOT / "bench" / "notes").glob("*.md")}  # too long to run; that they could be is checked


def commands(text):
    """The lines of all ```sh blocks, continued lines joined, remarks gone."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            line = re.sub(r"(^|\s+)#\s.*$", "", line).strip()
            if line:
                yield line


def pages():
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "bench" / "notes").glob("*.md"))]:
        if path.name in BY_SCRIPT:
            continue
        found = [c for c in commands(path.read_text()) if not c.startswith(BUILDING)]
        for number, command in enumerate(found):
            marks = [slow] if path.name == "cookbook.md" else []
            yield pytest.param(path, command, marks=marks, id=f"{path.name}-{number}-{command[:60]}")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One folder a page: its commands build on one another."""
    made = {}

    def folder(page):
        if page not in made:
            made[page] = tmp_path_factory.mktemp(page.stem)
            (made[page] / "data").symlink_to(DATA)
            (made[page] / "bench").symlink_to(ROOT / "bench")
        return made[page]

    return folder


@pytest.mark.in_order
@pytest.mark.parametrize("page,command", list(pages()))
def test_command(page, command, folders):
    if page in MEASURING:
        command += " --help"
    if NO_RANKS and (command.startswith(("mpirun", "bench/scaling.py")) or "here.json" in command):  # which mpirun makes
        pytest.skip(NO_RANKS)
    env = dict(RANKS_ENV if command.startswith(("mpirun", "bench/scaling.py")) else os.environ,
               PATH=os.path.dirname(QB) + os.pathsep + os.environ["PATH"])
    done = subprocess.run(command, shell=True, cwd=folders(page), env=env, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def test_cli_page_is_up_to_date():
    made = subprocess.run([ROOT / "scripts" / "make-cli-docs.sh", QB], capture_output=True, text=True, check=True)
    page = (ROOT / "docs" / "cli.md").read_text()
    assert page == made.stdout, "run scripts/make-cli-docs.sh build/qb >docs/cli.md"


def test_every_warning_code_is_explained():
    made = subprocess.run([QB, "help", "--warnings"], capture_output=True, text=True, check=True)
    assert (ROOT / "docs" / "warnings.md").read_text() == made.stdout, "run build/qb help --warnings >docs/warnings.md"
    listed = re.findall(r"^## (.*)$", made.stdout, re.M)
    used = set()
    for source in [*(ROOT / "src").rglob("*.[ch]"), *(ROOT / "tools").rglob("*.[ch]")]:
        if source.name != "warning.h":
            used.update(re.findall(r'QB__CODE\(\s*"([^"]+)"\)', source.read_text()))
    used.update(code for source in (ROOT / "tools").rglob("*.c") for code in re.findall(r' \[([a-z-]+)\]"', source.read_text()))
    assert listed == sorted(listed) and set(listed) == used
    for code in listed:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)
        assert subprocess.run([QB, "help", code], capture_output=True, text=True, check=True).stdout.startswith(code)
    assert subprocess.run([QB, "help", "no-such-code"], capture_output=True).returncode == 2


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "bench" / "notes").glob("*.md")]:
        for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", page.read_text()):
            target = page.parent / link if link else page
            assert target.exists(), f"{page.name}: {link}"
            if anchor:
                titles = re.findall(r"^#+ (.*)$", target.read_text(), re.M)
                assert anchor in [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles], f"{page.name}: {link}#{anchor}"


def test_the_readme_opens_with_the_two_commands():
    first = list(commands((ROOT / "README.md").read_text()))[:2]
    assert first == ["make demo", "make test"]


@slow
def test_the_gallery_is_what_its_commands_make(tmp_path):
    """Each picture is named by one command of its page, has the size that the command gives today, and is small."""
    page = (ROOT / "docs" / "gallery.md").read_text()
    shown, made = (sorted(re.findall(p, page)) for p in (r"\]\(gallery/([^)]+)\)", r"(?:--preview|contact_sheet\.png) (\S+)"))
    assert shown == sorted(p.name for p in (ROOT / "docs" / "gallery").iterdir())  # the script fails where one is not made
    assert set(shown) >= {name for name in made if "$" not in name}
    done = subprocess.run([sys.executable, ROOT / "scripts" / "make-gallery.py", QB, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in shown:
        kept = ROOT / "docs" / "gallery" / name
        assert kept.stat().st_size <= 120_000, name
        if name.endswith(".png"):  # their width and height
            assert kept.read_bytes()[16:24] == (tmp_path / name).read_bytes()[16:24], name
        else:
            one, other = (re.sub("[-0-9.]+", "0", p.read_text()) for p in (kept, tmp_path / name))
            assert one == other, "run scripts/make-gallery.py build/qb"


def test_table_and_plots_of_speed_are_those_of_the_results(tmp_path):
    made = subprocess.run([sys.executable, ROOT / "scripts" / "make-plots.py", tmp_path], capture_output=True, text=True, check=True)
    remedy = "run scripts/make-plots.py"
    assert made.stdout in (ROOT / "docs" / "performance.md").read_text(), remedy
    for picture in tmp_path.glob("*.svg"):
        ElementTree.parse(picture)
        assert picture.read_text() == (ROOT / "docs" / picture.name).read_text(), remedy


def test_verbs_are_in_the_readme():
    """But for solvers: it names those that most want, and docs/cli.md has all."""
    readme = (ROOT / "README.md").read_text()
    solvers = re.findall(r'ROW\((\w+), "', (ROOT / "include/quickbeam/solvers.h").read_text())
    assert len(solvers) > 2
    usage = subprocess.run([QB, "--help"], capture_output=True, text=True, check=True).stdout
    for verb in re.findall(r"^  ([a-z]+) ", usage, re.M):
        assert f"`qb {verb}" in readme or verb in solvers, verb


def test_examples_in_the_help_are_understood(tmp_path):
    usage = subprocess.run([QB, "--help"], capture_output=True, text=True, check=True).stdout
    for verb in re.findall(r"^  ([a-z]+) ", usage, re.M):
        page = subprocess.run([QB, verb, "--help"], capture_output=True, text=True, check=True).stdout
        example = shlex.split(re.search(r"^Example: qb (.*)$", page, re.M).group(1))
        done = subprocess.run([QB, *example, "--help"], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_code_of_the_c_api_is_that_of_the_examples():
    """Which an installation's test builds and runs."""
    blocks = re.findall(r"^```c\n(.*?)^```", (ROOT / "docs" / "c-api.md").read_text(), re.M | re.S)
    examples = {path.name: path.read_text() for path in (ROOT / "examples").glob("*.c")}
    used = set()
    for block in blocks:
        found = {name for name, text in examples.items() if block in text}
        assert found, f"in no example:\n{block}"
        used |= found
    assert used == set(examples), "each example is shown"
