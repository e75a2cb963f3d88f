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

# What `make test WHAT=...` and `make bench WHAT=...` run: a recipe each.
define test-all
@scripts/setup.sh --full
$(call configure,$(PRESET),build)
$(call ninja,build)
@cd build && ctest --output-on-failure -j 3  # some of them wait
@echo "make test: $$(($$(date +%s) - $(START))) s in all"
endef

define test-asan
@scripts/setup.sh --full
$(call configure,asan,build/asan)
$(call ninja,build/asan)
@cd build/asan && ctest --output-on-failure -j 2 -E '^cli'  # hundreds of starts: too slow here
endef

# With the compiler and the sanitizers of `make fuzz`, in its folder.
define test-asan-sim
@scripts/setup.sh --full --fuzz
$(call configure,fuzz,build/fuzz)
$(call ninja,build/fuzz,unit_tests)
@cd build/fuzz && ctest --output-on-failure -j 2 --no-tests=error -R '^unit\.'
endef

define test-tsan
@scripts/setup.sh --full
$(call configure,tsan,build/tsan)
$(call ninja,build/tsan,$(TSAN_TESTS:%=test_%))
@cd build/tsan && TSAN_OPTIONS=ignore_noninstrumented_modules=1 \
  ctest --output-on-failure -j 2 --no-tests=error -R '^unit\.($(subst $() ,|,$(TSAN_TESTS)))$$'
endef
TSAN_TESTS := comm data plan parallel

define test-bare
@scripts/setup.sh --full
$(call configure,bare,build/bare)
$(call ninja,build/bare)
@cd build/bare && ctest --output-on-failure -j 2
endef

define test-sim
@scripts/setup.sh --full
$(call configure,sim-only,build/sim-only)
$(call ninja,build/sim-only,sim_tests)
@cd build/sim-only && ctest --output-on-failure -j 2
endef

define test-report
@scripts/setup.sh --sim
$(call configure,sim-only,build/sim-only)
$(call ninja,build/sim-only,adagp)
@tests/browser/run.sh build/sim-only/bin/adagp $(PYTEST_ARGS)
endef

define test-rtl
@JOBS=$(JOBS) tests/rtl/run.sh
endef

define bench-steps
@scripts/setup.sh --auto
$(call configure,$(PRESET),build)
$(call ninja,build,adagp_bench)
@build/bin/adagp_bench $(BENCH_ARGS)
endef

define bench-parallel
@$(MAKE) build
@python3 bench/pipeline_run.py $(BENCH_ARGS)
@python3 bench/data_parallel.py
endef

define bench-sim
@scripts/setup.sh --full
$(call configure,sim-only,build/sim-only)
$(call ninja,build/sim-only,adagp accel_bench)
@build/sim-only/bin/accel_bench $(BENCH_ARGS)
@python3 bench/scalesim_compare.py --adagp build/sim-only/bin/adagp
endef

# $(call chosen,target,default,choices): the recipe of WHAT.
chosen = $(if $(filter-out $(3),$(WHAT)),$(error make $(1): no WHAT=$(WHAT): choose from $(3)))$($(1)-$(or $(WHAT),$(2)))

# $(call tidy,preset,half): half as in scripts/lint.sh
define tidy
$(call configure,$(1),build/$(1))
$(call ninja,build/$(1),build.ninja) > /dev/null  # sources that came since
@scripts/lint.sh tidy build/$(1) $(JOBS) $(2) $(if $(ALL),all,changed)
endef

.PHONY: build run test test-gpu test-python bench bench-gpu fuzz nightly lint format configs sim-only wheel docs setup clean help

build: ## the program, build/bin/adagp (default)
	@scripts/setup.sh --auto
	$(call configure,$(PRESET),build)
	$(call ninja,build,adagp)

run: ## build, then the demo: backprop, ADA-GP and the controls side by side
	@[ -x build/bin/adagp ] || echo "make run: three steps: set-up (it says what it installs before it does)," \
	  "the build (25 processor minutes; ninja counts its steps), the demo (15 short runs)"
	@$(MAKE) build
	@OMP_WAIT_POLICY=$${OMP_WAIT_POLICY:-passive} \
	  build/bin/adagp compare configs/recipes/demo.toml -o runs/demo

test: ## build everything and run every test. WHAT=asan, asan-sim (torch-free unit tests) or tsan (sanitizers), bare (without rivals), sim (torch-free parts), report (in Chromium), rtl
	$(call chosen,test,all,asan asan-sim tsan bare sim report rtl)

test-gpu: ## the tests of the GPU (SANITIZE=1: of the kernels, under compute-sanitizer)
	@scripts/gpu.sh ready
	$(call configure,cuda,build/cuda,$(shell scripts/gpu.sh args))
	$(call ninja,build/cuda,$(if $(SANITIZE),test_kernels))
	@scripts/gpu.sh $(if $(SANITIZE),sanitize,test) build/cuda
	@echo "make test-gpu: $$(($$(date +%s) - $(START))) s in all"

test-python: wheel ## the tests of the Python package, in an environment with the wheel (PYTEST_ARGS=-k plan)
	@scripts/setup.sh --full
	@python/tests/run.sh $(PYTEST_ARGS)

bench: ## step times per phase (BENCH_ARGS=--benchmark_filter=...). WHAT=parallel (pipelines, all-reduce), sim (and SCALE-Sim)
	$(call chosen,bench,steps,parallel sim)

bench-gpu: ## step times on the GPU beside PyTorch's, into docs/results (BENCH_ARGS=--models=...)
	@scripts/gpu.sh ready
	$(call configure,cuda,build/cuda,$(shell scripts/gpu.sh args))
	$(call ninja,build/cuda,adagp)
	@python3 bench/gpu/run.py $(BENCH_ARGS)

fuzz: ## every fuzz target for FUZZ_SECONDS=30 each, or FUZZ_RUNS=n inputs
	@scripts/setup.sh --sim --fuzz
	$(call configure,fuzz,build/fuzz)
	$(call ninja,build/fuzz,fuzz_targets)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_RUNS=$(FUZZ_RUNS) tests/fuzz/run.sh build/fuzz

nightly: ## tests that take hours (NIGHTLY="fuzz vgg13": some of them; scripts/nightly.sh lists them)
	@scripts/nightly.sh $(NIGHTLY)

# TIDY=torch: the second half, which `make lint` calls where such sources changed.
lint: ## clang-format, ruff, shellcheck; clang-tidy on changed sources (ALL=1: on all)
ifeq ($(TIDY),torch)
	@scripts/setup.sh --auto --lint
	$(call tidy,dev,torch)
else
	@scripts/setup.sh --sim --lint
	@scripts/lint.sh check
	$(call tidy,lint,free)
	@if [ -n "$$(scripts/lint.sh list torch $(if $(ALL),all,changed) 2>/dev/null)" ]; then $(MAKE) lint TIDY=torch; \
	  else echo "lint: clang-tidy (torch): nothing changed"; fi
endif

format: ## clang-format every source file in place
	@scripts/setup.sh --sim --lint
	@scripts/lint.sh format

configs: build ## configs/layers and configs/*.schema.json anew: layer tables of every network, what editors know of recipes
	@rm -f configs/layers/*.csv
	@build/bin/adagp layers --zoo configs/layers
	@build/bin/adagp list schema > configs/recipe.schema.json
	@build/bin/adagp list accelerator-schema > configs/accelerator.schema.json

sim-only: ## the torch-free parts alone, build/sim-only/bin/adagp
	@scripts/setup.sh --sim
	$(call configure,sim-only,build/sim-only)
	$(call ninja,build/sim-only,adagp)

wheel: ## the Python package, dist/adagp-*.whl
	@scripts/setup.sh --sim
	@scripts/wheel.sh

docs: ## the documentation site, build/docs/site/index.html
	@scripts/setup.sh --sim
	@docs/tools/build.sh

setup: ## packages and .venv only (also done by the targets above)
	@scripts/setup.sh --auto

clean: ## remove build/ (.venv and runs/ stay)
	@rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
