# SPDX-License-Identifier: MIT
# make          build a release into build/
# make demo     from a fresh machine to a picture
# make check    tests of under a minute, where a release is built
# make test     every test that needs nothing but this folder and the system's packages, with cases drawn by chance
# make test-all the same with every case: some hours
# make test-peers   beside other programs, and CUDA sources compiled for every chip: fetched into build-peers/
# make wheel    the Python wheel for PyPI, in build-wheel/dist (libraries from Debian's sources, zig from PyPI)
# make test-python   that wheel in empty environments of several Pythons
# make fuzz     look for inputs that the readers do not survive, by clang's libFuzzer (SECONDS=600 for each)
# make test-faults   tiny runs in which every call fails once (some hours; MOST=20 tries 20 places of each kind)
BUILD ?= build
PREFIX ?= /usr/local
CMAKE_ARGS ?=
TARGET ?= product # of CMake: `all` builds the test programs too

.PHONY: all demo check test test-all test-peers test-faults wheel test-python fuzz asan bench install clean packages

all: packages
	@cmake -S . -B $(BUILD) -G Ninja -DQB_UNITS=ON -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_ARGS) >$(BUILD).log 2>&1 || (cat $(BUILD).log; exit 1)
	@rm -f $(BUILD).log
	@cmake --build $(BUILD) --target $(TARGET)

packages:
	@scripts/install-packages.sh build

demo: all
	@scripts/demo.sh $(BUILD)

check:
	@scripts/test.sh check

test:
	@scripts/test.sh test

test-all:
	@scripts/test.sh all

test-peers:
	@scripts/test.sh peers

wheel:
	@scripts/make-wheel.sh build-wheel

test-python:
	@scripts/test-python.sh build-wheel

test-faults:
	@$(MAKE) all TARGET=all
	@QB_TUNING= /usr/bin/env python3 tests/faults/walk.py $(BUILD)/qb $(BUILD)/tests/faults/libshim_faults.so --most $(or $(MOST),0)

fuzz:
	@$(MAKE) all BUILD=build-clang CMAKE_ARGS="-DCMAKE_C_COMPILER=clang -DQB_TESTS=OFF -DQB_FUZZ=ON" TARGET=all
	@scripts/fuzz.sh build-clang $(or $(SECONDS),600)

asan:
	@$(MAKE) all BUILD=build-asan CMAKE_ARGS=-DQB_SANITIZE=ON TARGET=all

bench: all
	@scripts/bench.sh $(BUILD)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf build build-* demo
