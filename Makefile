# SPDX-License-Identifier: Apache-2.0
# A thin front for Meson: every target sets up what it needs, then does its job.
#   make          build/lpo                      make run      profile the embedded workload
#   make deps     install what is missing        make quick    fast tests, no sanitizers: after every edit
#   make test     tests under sanitizers         make nightly  everything: hours
#   make check    format, static analysis, both compilers
#   make bench    timings as ratios              make fuzz     every fuzz target for a minute
#   make torture  kills, faults, mutants: long   make coverage how much the tests reach
#   make stage1-run, make stage2-profile, make stage-all-run: old names of three ways to run; ARGS='run.repeats=5 …'
#   make install  PREFIX=/usr/local DESTDIR=     make tags     git tags of the versions in CHANGELOG.md
#   make deb      a Debian package in dist/      make dist     a tarball and single static programs in dist/
#   make image    an OCI image in dist/         make wheel    a Python wheel and an sdist in dist/
PREFIX ?= /usr/local
BUILD  ?= build
SAN    ?= build-san
.DEFAULT_GOAL := build

.PHONY: stage1-run stage2-profile stage-all-run build setup deps run quick test nightly torture bench fuzz check coverage install clean portable deb dist deps-arm64 image wheel tags

# Says what is missing; `make deps` installs it, and so do `make run`, `make test` and `make nightly`.
setup:
	@scripts/setup.sh $(DEPS)

DEPS = --check
deps run test nightly: DEPS =
deps: setup
	@scripts/setup.sh packages-test.txt || echo "deps: some tests will be skipped" >&2

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

stage1-run stage2-profile stage-all-run: QUIET = >/dev/null
stage1-run: build
	@$(BUILD)/lpo run --config-name llm_profile_runner $(ARGS)

stage2-profile: build
	@$(BUILD)/lpo run --config-name deep_profile_runner $(ARGS)

stage-all-run: build
	@$(BUILD)/lpo run pipeline.nsys.enable=true $(ARGS)

quick: build
	@scripts/test.sh $(BUILD) --suite quick

test: deps $(SAN)/build.ninja
	@scripts/test.sh --lint $(SAN) --suite quick --suite test

nightly: deps build $(SAN)/build.ninja
	@scripts/nightly.sh $(BUILD) $(SAN)

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

# The compiler and libraries for the arm64 program of `make dist`; no foreign package is installed.
deps-arm64: setup
	@scripts/setup.sh packages-arm64.txt
	@scripts/arm64-root.sh

# For other machines: a tarball for x86-64 with glibc 2.28 or newer, and one program each for any x86-64 and arm64.
dist portable: setup
	@scripts/dist.sh

# The same programs for pip, and the sources.
wheel: setup
	@scripts/wheel.py
	@scripts/wheel.py --sdist

# An OCI image as files, of the same programs.
image: setup
	@scripts/image.py

deb: setup
	@scripts/deb.sh

install: build
	@meson configure $(BUILD) --prefix=$(PREFIX) && ninja -C $(BUILD) >/dev/null
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild

tags:
	@scripts/tags.py

clean:
	rm -rf $(BUILD) $(SAN) build-portable build-single-* build-arm64 build-deb build-coverage build-fuzz build-nightly build-check-* dist
