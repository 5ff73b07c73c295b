# SPDX-License-Identifier: Apache-2.0
# The front door. CMakePresets.json says how each build is made; build/<preset>/bin holds its programs.

JOBS ?= $(shell nproc)
# One more than cores: some tests wait for clocks, signals or other processes.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)
PRESET ?= dev
FUZZ_SECONDS ?= 30
PHASE := tools/phase
SOURCES = $$(git ls-files -co --exclude-standard '*.h' '*.cpp' '*.cu' '*.cuh')

ifneq ($(wildcard ../shared/data),)
export NIBBLE_DATA ?= $(abspath ../shared/data)
endif

GPU_PROGRAMS := device_quantize_test device_accumulate_test device_backend_test device_engine_test device_every_network_test device_training_test \
  device_float_test device_placement_test device_sweep offload_layers placement_bench device_quantize_bench \
  device_accumulate_bench cuda_training_bench

.DEFAULT_GOAL := help
.PHONY: help setup demo test timings full bench frozen gpu-test gpu-pack torch-test wheel wheels docs docs-test fuzz tsan aarch64 targets format lint clean
.NOTPARALLEL:

help:  ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

setup:  ## install what building and testing need
	@tools/setup

demo:  ## install what is missing, build, show what Nibble does
	@tools/setup --demo
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS) --target nibble
	@tools/demo

test:  ## install what is missing, build, run all tests but the long ones
	@rm -f build/timings.txt
	@$(PHASE) "setup" tools/setup
	@$(PHASE) "configure both" tools/configure dev asan
	@$(PHASE) "build dev" cmake --build --preset dev -j $(JOBS)
	@$(PHASE) "test dev" ctest --preset dev -j $(TEST_JOBS)
	@$(PHASE) "build asan" cmake --build --preset asan -j $(JOBS)
	@$(PHASE) "test asan (quick)" ctest --preset asan -j $(TEST_JOBS)
	@echo && cat build/timings.txt

timings:  ## where the time of the last build went (PRESET=dev): ninja's log, the compiler's report
	@tools/build_times.py build/$(PRESET)

full:  ## the long tests: exhaustive sweeps, accuracy
	@tools/setup
	@cmake --preset dev
	@cmake --build --preset dev -j $(JOBS)
	@ctest --preset full -j $(JOBS)

bench:  ## speeds of the release build as shares of the machine's limits
	@tools/setup --demo
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS) --target bench

frozen:  ## RUN=FOLDER DATA=NAME [TARGETS="cortex-m4 rv32imac"]: a run of integer training answers as its trainer did, in the engine and as C
	@tools/check_frozen.py $(RUN) $(DATA) --targets $(TARGETS)

gpu-test:  ## on a machine with a GPU: its kernels against the CPU, all 2^32 inputs, Python, the tables of speed
ifneq ($(wildcard gpu-pack/bin),)
	@tools/gpu_test gpu-pack
else
	@tools/setup --gpu
	@cmake --preset cuda -D NIBBLE_BUILD_TESTS=ON
	@cmake --build --preset cuda -j $(JOBS) --target $(GPU_PROGRAMS)
	@tools/gpu_test build/cuda
endif

gpu-pack:  ## here, for a machine with a GPU and nothing else: gpu-pack, which `make gpu-test` runs there
	@cmake --preset dev
	@cmake --build --preset dev -j $(JOBS) --target nibble $(GPU_PROGRAMS) engine_soak loadgen_overhead
	@tools/gpu_pack build/dev gpu-pack

torch-test:  ## what speaks of torch with PyTorch 2 on the CPU, from PyPI (0.8 GB with CUDA 13 here, else 2.8); TORCH=FOLDER: an environment that has it
	@tools/setup
	@cmake --preset dev
	@cmake --build --preset dev -j $(JOBS) \
	  --target nibble nibble_python nibble_python_stub nibble_networks nibble_networks_stub
	@ctest --preset dev -R '^python\.wheel$$'
	@tools/torch_test $(TORCH)

wheel:  ## the Python package as dist/*.whl; pip install takes it anywhere
	@tools/setup
	@tools/wheel dist

wheels:  ## manylinux wheels for the Pythons that are found, as dist/*.whl, each tried in a fresh environment; CUDA=ON: dist/cuda
	@tools/setup --wheels
	@NIBBLE_WITH_CUDA=$(if $(filter ON,$(CUDA)),ON tools/wheels dist/cuda,OFF tools/wheels dist)

docs:  ## the documentation as a site, build/site: no broken link, looked at and searched in chromium
	@tools/docs build/site

docs-test:  ## the site and its checks, every notebook from its first cell to its last, and the pages' shell blocks, long ones too
	@tools/docs build/site
	@build/docs-venv/bin/python -B tests/tools/check_site_test.py
	@tools/notebooks_test
	@NIBBLE_BIN=$(CURDIR)/build/dev/bin/nibble /usr/bin/python3 -B tests/cli/long_pages.py

fuzz:  ## each fuzzer for FUZZ_SECONDS (30) from another seed (FUZZ_SEED); finds stay in build/fuzz
	@tools/setup --fuzz
	@cmake --preset fuzz
	@cmake --build --preset fuzz -j $(JOBS)
	@tools/fuzz build/fuzz $(FUZZ_SECONDS) $(FUZZ_SEED)

tsan:  ## engine teams, parallel_for and LoadGen's systems under ThreadSanitizer
	@tools/setup --tsan
	@cmake --preset tsan
	@cmake --build --preset tsan -j $(JOBS) --target core_test engine_test planted_race \
	  $(if $(wildcard .loadgen),load_systems_test)
	@tools/tsan build/tsan

aarch64:  ## cross build for AArch64, run by qemu: the signature must be this machine's
	@tools/setup --cross
	@cmake --preset release
	@cmake --build --preset release -j $(JOBS) --target nibble
	@cmake --preset aarch64
	@cmake --build --preset aarch64 -j $(JOBS)
	@set -e; here=$$(build/release/bin/nibble signature); \
	for isa in portable reference; do \
	  there=$$(NIBBLE_ISA=$$isa qemu-aarch64 build/aarch64/bin/nibble signature); \
	  echo "signature $$here here, $$there on AArch64 ($$isa)"; test "$$here" = "$$there"; \
	done

targets:  ## emitted C on every processor that can be emulated here: a table of results, then of costs
	@tools/setup --targets
	@cmake --preset dev
	@cmake --build --preset dev -j $(JOBS) --target nibble random_networks
	@NIBBLE_BIN=build/dev/bin/nibble RANDOM_NETWORKS=build/dev/bin/random_networks \
	  tests/emit/make_networks.py build/targets --full
	@tests/emit/matrix.py build/targets
	@tests/emit/costs.py build/targets

format:  ## lay out the sources with clang-format
	@tools/setup --lint
	@clang-format -i $(SOURCES)

lint:  ## check layers, names of types, the tour, layout, links, clang-tidy
	@tools/setup --lint
	@tools/check_layers.py
	@tools/check_types.py
	@tools/check_tour.py
	@code=0; for file in $(SOURCES); do \
	  clang-format $$file | cmp -s - $$file || { echo "$$file: not laid out by clang-format (make format)"; code=1; }; \
	done; exit $$code
	@cmake --preset dev
	@tools/check_links.py build/dev/links.txt
	@run-clang-tidy -quiet -p build/dev -j $(JOBS) "$(CURDIR)/(src|apps)/"

clean:  ## remove the build folder
	@rm -rf build
