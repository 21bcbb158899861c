# SPDX-License-Identifier: Apache-2.0
# A thin front for Meson: every target sets up what it needs, then does its job.
#   make          build/lpo                      make run      profile the embedded workload
#   make test     all tests under sanitizers     make check    format, static analysis, both compilers
#   make bench    timings as ratios              make fuzz     every fuzz target for a minute
#   make torture  kills, faults, mutants: long   make coverage how much the tests reach
#   make stage1-run, make stage2-profile: old names of two ways to run; ARGS='run.repeats=5 …'
#   make install  PREFIX=/usr/local DESTDIR=
#   make deb      a Debian package in dist/      make dist     a tarball for glibc 2.28+ in dist/
#   make image    an OCI image in dist/
PREFIX ?= /usr/local
BUILD  ?= build
SAN    ?= build-san
.DEFAULT_GOAL := build

.PHONY: stage1-run stage2-profile build setup run test torture bench fuzz check coverage install clean portable deb dist image

setup:
	@scripts/setup.sh

$(BUILD)/build.ninja: | setup
	@meson setup $(BUILD) --prefix=$(PREFIX) >/dev/null || { cat $(BUILD)/meson-logs/meson-log.txt; exit 1; }

# -O2 -g takes gcc almost three times as long with both sanitizers; -g1 still names lines in reports.
$(SAN)/build.ninja: | setup
	@meson setup $(SAN) -Db_sanitize=address,undefined -Doptimization=1 -Dc_args=-g1 >/dev/null || { cat $(SAN)/meson-logs/meson-log.txt; exit 1; }

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) $(WHAT) $(QUIET)

run: QUIET = >/dev/null
run: build
	@$(BUILD)/lpo run

stage1-run stage2-profile: QUIET = >/dev/null
stage1-run: build
	@$(BUILD)/lpo run --config-name llm_profile_runner $(ARGS)

stage2-profile: build
	@$(BUILD)/lpo run --config-name deep_profile_runner $(ARGS)

# Some tests run an lpo without sanitizers; what is only tested needs no second build.
test: WHAT = programs
test: build $(SAN)/build.ninja
	@scripts/setup.sh packages-test.txt || echo "test: going on without them" >&2
	@scripts/test.sh $(SAN)

torture: build $(SAN)/build.ninja
	@scripts/torture.sh $(SAN)

bench: build
	@scripts/bench.py $(BUILD)
	@scripts/bench-gpu.sh $(BUILD)

fuzz: setup
	@scripts/fuzz.sh

check: setup
	@scripts/check.sh

coverage: setup
	@scripts/coverage.sh

# Programs that run on another x86-64 machine with glibc 2.28 or newer, and a tarball of them.
dist portable: setup
	@scripts/dist.sh

# An OCI image as files, of the same programs.
image: setup
	@scripts/image.py

deb: setup
	@scripts/deb.sh

install: build
	@meson configure $(BUILD) --prefix=$(PREFIX) && ninja -C $(BUILD) >/dev/null
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf $(BUILD) $(SAN) build-portable build-deb build-coverage build-fuzz build-check-* dist
