# SPDX-License-Identifier: MIT
# make          build a release into build/
# make demo     from a fresh machine to a picture
# make test     every test
# make test-faults   tiny runs in which every call fails once (an hour; MOST=20 tries 20 places of each kind)
BUILD ?= build
PREFIX ?= /usr/local
CMAKE_ARGS ?=

.PHONY: all demo test test-faults asan bench install clean packages

all: packages
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_ARGS) >$(BUILD).log 2>&1 || (cat $(BUILD).log; exit 1)
	@rm -f $(BUILD).log
	@cmake --build $(BUILD)

packages:
	@scripts/install-packages.sh build

demo: all
	@scripts/demo.sh $(BUILD)

test:
	@scripts/test.sh

test-faults: all
	@QB_TUNING= /usr/bin/env python3 tests/faults/walk.py $(BUILD)/qb $(BUILD)/tests/faults/libshim_faults.so --most $(or $(MOST),0)

asan:
	@$(MAKE) all BUILD=build-asan CMAKE_ARGS=-DQB_SANITIZE=ON

bench: all
	@scripts/bench.sh $(BUILD)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf build build-* demo
