# SPDX-License-Identifier: MIT
"""What the library is made of, and that what a wheel holds keeps to itself."""
import ctypes
import os
import pathlib
import subprocess

import quickbeam_ct as qb


def test_the_parts_are_those_of_the_command():
    config = qb.show_config()
    lines = subprocess.run([os.environ["QB"], "--version"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0] == f"quickbeam {config['version']}"
    shown = dict(line.split(": ", 1) for line in lines[1:])
    shown.pop("ZeroMQ of qb live", None)  # of the command alone
    assert shown == config["parts"]
    assert config["parts"]["FFT"].split()[0] in ("FFTW", "quickbeam's")


def test_a_wheel_hides_its_libraries_and_has_their_licences():
    config = qb.show_config()
    if not config["licences"]:  # of a build tree, whose libraries are the machine's
        assert not (pathlib.Path(qb.__file__).parent / "LICENSES").exists()
        return
    assert {"cjson", "expat", "hdf5", "libpng1.6", "tiff", "xxhash", "zlib"} <= set(config["licences"])
    assert not any("GENERAL PUBLIC LICENSE" in text.upper() for text in config["licences"].values())
    assert "GPL" not in config["parts"]["FFT"]
    library = ctypes.CDLL(config["library"])
    for name in ("H5Fopen", "TIFFOpen", "png_create_read_struct", "inflate", "cJSON_Parse", "XML_Parse", "XXH64"):
        assert not hasattr(library, name), name


def test_one_version_everywhere():
    root = pathlib.Path(__file__).parents[2]
    version = qb.version()
    assert qb.__version__ == version
    assert f"\nversion: {version}\n" in (root / "CITATION.cff").read_text()
    assert f"\n## {version} " in (root / "CHANGELOG.md").read_text()
