# A thin front for Meson: every target sets up what it needs, then does its job.
#   make          build/lpo                      make run      profile the embedded workload
#   make test     all tests under sanitizers     make check    format, static analysis, both compilers
#   make bench    timings as ratios              make fuzz     every fuzz target for a minute
#   make install  PREFIX=/usr/local
PREFIX ?= /usr/local
BUILD  ?= build
SAN    ?= build-san
.DEFAULT_GOAL := build

.PHONY: build setup run test bench fuzz check install clean portable

setup:
	@scripts/setup.sh

$(BUILD)/build.ninja: | setup
	@meson setup $(BUILD) --prefix=$(PREFIX) >/dev/null || { cat $(BUILD)/meson-logs/meson-log.txt; exit 1; }

$(SAN)/build.ninja: | setup
	@meson setup $(SAN) -Db_sanitize=address,undefined >/dev/null || { cat $(SAN)/meson-logs/meson-log.txt; exit 1; }

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) $(QUIET)

run: QUIET = >/dev/null
run: build
	@$(BUILD)/lpo run

test: build $(SAN)/build.ninja
	@scripts/test.sh $(SAN)

bench: build
	@scripts/bench.py $(BUILD)
	@scripts/bench-gpu.sh $(BUILD)

fuzz: setup
	@scripts/fuzz.sh

check: setup
	@scripts/check.sh

# One binary that runs on another glibc machine: our libraries linked statically.
portable: setup
	@[ -f build-portable/build.ninja ] || meson setup build-portable -Dportable=true -Dbuildtype=release >/dev/null
	@ninja -C build-portable lpo src/collect/liblpo-collect.so workloads/toy_llm

install: build
	@meson install -C $(BUILD) --no-rebuild

clean:
	rm -rf $(BUILD) $(SAN) build-portable build-fuzz build-clang
