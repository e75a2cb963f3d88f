# The front door: `make` builds, `make run` shows the method beside its controls, `make help` lists
# the rest. CMake and Ninja come from .venv (scripts/setup.sh) and do the work.
SHELL := /bin/bash
.DEFAULT_GOAL := build
MAKEFLAGS += --no-print-directory
export PATH := $(CURDIR)/.venv/bin:$(PATH)

START := $(shell date +%s)
CMAKE_ARGS ?=
# ci: the same with warnings as errors.
PRESET ?= release
# Another LibTorch, which set-up installs: make build ADAGP_TORCH_VERSION=2.15.0
ADAGP_TORCH_VERSION ?=
export ADAGP_TORCH_VERSION
options = $(strip $(1) $(CMAKE_ARGS) -DADAGP_TORCH_VERSION=$(ADAGP_TORCH_VERSION))
BENCH_ARGS ?=
FUZZ_SECONDS ?= 30
# A file that includes torch takes up to 3 GB to compile.
JOBS ?= $(shell awk -v n=$$(nproc) '/MemAvailable/ {j = int($$2 / 3e6)} END {print j < 1 ? 1 : j < n ? j : n}' /proc/meminfo)

# $(call configure,preset,folder[,options]): cmake runs when the folder is new or the options or
# CMAKE_ARGS changed; ninja itself runs it again when a CMake file did.
define configure
@args=$(2)/.cmake-args; \
if [ ! -f $(2)/build.ninja ] || [ "$$(cat $$args 2>/dev/null)" != '$(1) $(call options,$(3))' ]; then \
  cmake --preset $(1) $(call options,$(3)) && echo '$(1) $(call options,$(3))' > $$args; fi
endef
ninja = @ninja -j $(JOBS) -C $(1) $(2)

.PHONY: build run test test-asan test-gpu test-sim test-report test-rtl nightly bench bench-gpu bench-sim bench-parallel \
  layers schemas fuzz sim-only format cross lint lint-all rtl-synth docs setup offline-bundle wheel test-python clean help

build: ## the program, build/bin/adagp (default)
	@scripts/setup.sh --auto
	$(call configure,$(PRESET),build)
	$(call ninja,build,adagp)

run: ## build, then the demo: backprop, ADA-GP and the controls side by side
	@[ -x build/bin/adagp ] || echo "make run: three steps: set-up (it says what it installs before it does)," \
	  "the build (five to ten minutes on two cores; ninja counts its steps), the demo (one to three minutes)"
	@$(MAKE) build
	@OMP_WAIT_POLICY=$${OMP_WAIT_POLICY:-passive} \
	  build/bin/adagp compare configs/recipes/demo.toml -o runs/demo

test: ## build everything and run every test
	@scripts/setup.sh --full
	$(call configure,$(PRESET),build)
	$(call ninja,build)
	@cd build && ctest --output-on-failure -j 2
	@echo "make test: $$(($$(date +%s) - $(START))) s in all"

test-asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/setup.sh --full
	$(call configure,asan,build/asan)
	$(call ninja,build/asan)
	@cd build/asan && ctest --output-on-failure -j 2 -E '^cli'  # hundreds of starts: too slow here

test-gpu: ## the tests of the GPU (SANITIZE=1: of the kernels, under compute-sanitizer)
	@scripts/gpu.sh ready
	$(call configure,cuda,build/cuda,$(shell scripts/gpu.sh args))
	$(call ninja,build/cuda,$(if $(SANITIZE),test_kernels))
	@scripts/gpu.sh $(if $(SANITIZE),sanitize,test) build/cuda
	@echo "make test-gpu: $$(($$(date +%s) - $(START))) s in all"

bench: ## step times per phase (BENCH_ARGS=--benchmark_filter=...)
	@scripts/setup.sh --auto
	$(call configure,$(PRESET),build)
	$(call ninja,build,adagp_bench)
	@build/bin/adagp_bench $(BENCH_ARGS)

bench-gpu: ## step times on the GPU beside PyTorch's, into docs/results (BENCH_ARGS=--models=...)
	@scripts/gpu.sh ready
	$(call configure,cuda,build/cuda,$(shell scripts/gpu.sh args))
	$(call ninja,build/cuda,adagp)
	@python3 bench/gpu/run.py $(BENCH_ARGS)

bench-parallel: ## real pipelines beside the simulator, and how all-reduce hides behind backward
	@$(MAKE) --no-print-directory build
	@python3 bench/pipeline_run.py $(BENCH_ARGS)
	@python3 bench/data_parallel.py

bench-sim: ## the simulator's speed, and SCALE-Sim beside it (BENCH_ARGS=--benchmark_filter=...)
	@scripts/setup.sh --full
	$(call configure,sim-only,build/sim-only)
	$(call ninja,build/sim-only,adagp accel_bench)
	@build/sim-only/bin/accel_bench $(BENCH_ARGS)
	@python3 bench/scalesim_compare.py --adagp build/sim-only/bin/adagp

layers: build ## configs/layers anew: the layer tables of every network
	@rm -f configs/layers/*.csv
	@build/bin/adagp layers --zoo configs/layers

schemas: build ## configs/*.schema.json anew: what editors know of recipes and accelerator files
	@build/bin/adagp list schema > configs/recipe.schema.json
	@build/bin/adagp list accelerator-schema > configs/accelerator.schema.json

fuzz: ## every fuzz target for FUZZ_SECONDS=30 each, or FUZZ_RUNS=n inputs
	@scripts/setup.sh --sim --fuzz
	$(call configure,fuzz,build/fuzz)
	$(call ninja,build/fuzz,fuzz_targets)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_RUNS=$(FUZZ_RUNS) tests/fuzz/run.sh build/fuzz

test-sim: ## the tests of the torch-free parts, in build/sim-only
	@scripts/setup.sh --full
	$(call configure,sim-only,build/sim-only)
	$(call ninja,build/sim-only,sim_tests)
	@cd build/sim-only && ctest --output-on-failure -j 2

test-report: ## the page of `adagp report` in Chromium, which it installs if need be (PYTEST_ARGS=-k zoom)
	@scripts/setup.sh --sim
	$(call configure,sim-only,build/sim-only)
	$(call ninja,build/sim-only,adagp)
	@tests/browser/run.sh build/sim-only/bin/adagp $(PYTEST_ARGS)

test-rtl: ## the tests of the hardware in rtl/ with Verilator, which it installs if need be
	@JOBS=$(JOBS) tests/rtl/run.sh

nightly: ## tests that take hours (NIGHTLY="fuzz vgg13": some of them; scripts/nightly.sh lists them)
	@scripts/nightly.sh $(NIGHTLY)

wheel: ## the Python package, dist/adagp-*.whl
	@scripts/setup.sh --sim
	@scripts/wheel.sh

test-python: wheel ## the tests of the Python package, in an environment with the wheel (PYTEST_ARGS=-k plan)
	@scripts/setup.sh --full
	@python/tests/run.sh $(PYTEST_ARGS)

rtl-synth: ## what the RTL's four designs need on an FPGA and in standard cells (LIBERTY=file.lib, SYNTH_ARGS=...)
	@scripts/setup.sh --sim --synth
	@LIBERTY="$(LIBERTY)" COPY="$(COPY)" rtl/tools/synth.sh $(SYNTH_ARGS)

docs: ## the documentation site, build/docs/site/index.html
	@scripts/setup.sh --sim
	@docs/tools/build.sh

sim-only: ## the torch-free parts alone, build/sim-only/bin/adagp
	@scripts/setup.sh --sim
	$(call configure,sim-only,build/sim-only)
	$(call ninja,build/sim-only,adagp)

cross: ## compile all that needs no LibTorch for the other CPU (aarch64 or x86_64)
	@scripts/setup.sh --sim
	@JOBS=$(JOBS) scripts/cross_check.sh

format: ## clang-format every source file in place
	@scripts/setup.sh --sim --lint
	@scripts/lint.sh format

lint: ## clang-format as a check, clang-tidy on the torch-free sources
	@scripts/setup.sh --sim --lint
	@scripts/lint.sh check
	$(call configure,lint,build/lint)
	$(call ninja,build/lint,build.ninja) > /dev/null  # sources that came since
	@scripts/lint.sh tidy build/lint $(JOBS)

lint-all: ## the same with clang-tidy on every source (slow)
	@scripts/setup.sh --auto --lint
	@scripts/lint.sh check
	$(call configure,dev,build/dev)
	$(call ninja,build/dev,build.ninja) > /dev/null  # sources that came since
	@scripts/lint.sh tidy build/dev $(JOBS)

setup: ## packages and .venv only (also done by the targets above)
	@scripts/setup.sh --auto

offline-bundle: ## local/deps: the libraries, for a GPU node with neither packages nor network
	@scripts/offline_bundle.sh

clean: ## remove build/ (.venv and runs/ stay)
	@rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
