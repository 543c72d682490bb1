# SPDX-License-Identifier: MIT
"""One version everywhere; what the packages of Debian and conda run as their tests runs here."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

import quickbeam_ct as qb

ROOT = pathlib.Path(__file__).parents[2]


def text(name):
    return (ROOT / name).read_text()


def test_the_version_is_the_same_everywhere():
    header = text("include/quickbeam/version.h")
    version = ".".join(re.search(rf"QB_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))
    assert qb.version() == qb.__version__ == version
    assert re.search(r"quickbeam \((.*?)\)", text("debian/changelog"))[1] == version
    assert re.search(r"^  version: (.*)$", text("recipe/recipe.yaml"), re.M)[1] == version
    assert re.search(r"^version: (.*)$", text("CITATION.cff"), re.M)[1] == version
    assert f"## {version}" in text("CHANGELOG.md")


def test_the_library_packages_are_named_after_its_interface():
    soname = qb._library.SONAME
    assert f"Package: lib{soname[3:].replace('.so.', '')}\n" in text("debian/control")


def test_both_need_the_libraries_that_a_build_installs():
    """scripts/install-packages.sh knows them; FFTW is left out, for quickbeam's own transforms."""
    wanted = set(re.search(r'^want="(.*)"$', text("scripts/install-packages.sh"), re.M)[1].split()) - {"gcc", "libfftw3-dev", "pkg-config"}
    assert {name for name in wanted if name not in text("debian/control")} == set()
    conda = {"libcjson-dev": "cjson", "libhdf5-dev": "hdf5", "libtiff-dev": "libtiff", "libpng-dev": "libpng", "libexpat1-dev": "libexpat",
             "libfreetype-dev": "freetype", "fonts-dejavu-core": "", "libblosc-dev": "blosc", "liblz4-dev": "lz4-c", "libcfitsio-dev": "cfitsio", "libopenjp2-7-dev": "openjpeg", "libzstd-dev": "zstd", "libxxhash-dev": "xxhash", "zlib1g-dev": "zlib", "cmake": "cmake", "ninja-build": "ninja"}
    recipe = text("recipe/recipe.yaml")
    assert wanted == set(conda) and all(f"- {name}\n" in recipe for name in conda.values() if name)


def test_the_recipe_is_yaml():
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load(text("recipe/recipe.yaml"))
    assert recipe["schema_version"] == 1 and [output["package"]["name"] for output in recipe["outputs"]] == ["libquickbeam", "quickbeam-ct"]


def test_rattler_build_takes_the_recipe():
    """With what conda-forge states for all recipes."""
    rattler = pytest.importorskip("rattler_build")
    variants = {"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"], "c_compiler": ["gcc"], "c_compiler_version": ["14"]}
    rendered = rattler.Stage0Recipe.from_file(str(ROOT / "recipe/recipe.yaml")).render(rattler.VariantConfig(variants), rattler.RenderConfig())
    assert [(variant.recipe.package.name, variant.recipe.package.version) for variant in rendered] == [
        ("libquickbeam", qb.version()), ("quickbeam-ct", qb.version())]


@pytest.mark.parametrize("name, arguments", [("python", []), ("command", [os.environ["QB"]])])
def test_what_the_packages_run(name, arguments):
    path = ROOT / "debian" / "tests" / name
    subprocess.run([sys.executable if name == "python" else "sh", path, *arguments], check=True, stdout=subprocess.DEVNULL)


def test_what_is_opened_when_it_runs_is_suggested():
    assert "libzmq5" in text("debian/control") and "libzmq5" in text("scripts/install-packages.sh") and "libzmq5" in text("README.md")
