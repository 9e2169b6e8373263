# make run    set up, then measure (ARGS="--only 'Pointwise/*'" narrows it)
#             TORCH='torch==2.14.1' installs another torch; BUILD=/path/to/venv uses an existing one
# make test   set up, then lint, type-check and test
# make test-all   the same with the tests that take long and that few changes touch
# make test-faults  the tests that inject faults; FAULT_SEEDS=50 runs that many disturbed at random
# make test-cuda BUILD=/path/to/venv   the tests that need a build of torch with CUDA, and no GPU
# make test-python  as root: test the engines with Python 3.13, on a Debian 13 in build/trixie (90 minutes)
# make docs   set up, then build the documentation as a site (build/docs/index.html)
# make pictures   set up, then make the pictures of README from a stored run
# make bench  set up, then compare the engines' speed (about 10 minutes)
# make bench-first   set up, then time the first count: cold, warm, and beside timeit
# make bench-cpp   set up, then compile and count C++ cases with g++ and clang
# make bench-detect  set up, then count what comparisons find and wrongly report (about four hours)
# make bench-power   set up, then find slow-downs of known size by times in turns (an hour and a half)
# make bench-layouts  set up, then count in four memory layouts (about 20 minutes)
# make bench-calibration  set up, then compare instructions and estimated cycles with times (about 10 minutes)
# make bench-guard   set up, then check a baseline with and without a change, 20 times each (about 45 minutes)
# make bench-scale  set up, then list, measure, store and compare very many cases (about 15 minutes)

PYTHON ?= python3
VENV   := .venv
# What is named for this call is installed even if another torch already is.
STAMP  := $(VENV)/.installed$(if $(BUILD),-without-torch)
BIN    := $(VENV)/bin
ARGS   ?=

.PHONY: help setup run test test-all test-ci test-faults lint docs pictures recording test-fast test-builds test-cuda test-python bench bench-first bench-cpp bench-detect bench-power bench-layouts bench-calibration bench-guard bench-scale clean system always

help:
	@sed -n 's/^# //p' Makefile

setup: system $(STAMP)

# Valgrind counts, the compiler builds C++ cases and a small C library. Tests use a server, too.
test test-all test-faults test-fast: SYSTEM = --for-tests
system:
	@scripts/system-packages $(SYSTEM)

$(STAMP): pyproject.toml constraints.txt scripts/set_up.py $(if $(TORCH),always)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Python 3.11 or later is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python scripts/set_up.py $(if $(BUILD),--without-torch,$(if $(TORCH),--torch '$(TORCH)'))
	@touch $(STAMP)

always:

run: setup
	@$(BIN)/python main.py $(if $(BUILD),--build 'build=$(BUILD)') $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# More than there are cores, as some wait; what is timed has a core of its own (tests/conftest.py).
WORKERS  ?= $(shell cores=$$(nproc); echo $$((cores < 4 ? 2 * cores : 8)))
PARALLEL := -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test: lint
	$(BIN)/pytest -m 'not thorough and not builds' $(PARALLEL) $(ARGS)

test-all: lint
	$(BIN)/pytest -m 'not builds' $(PARALLEL) $(ARGS)

# All there is, as continuous integration runs it; it ends with what took longest.
test-ci: SYSTEM = --for-tests --for-builds
test-ci: lint
	$(BIN)/pytest $(PARALLEL) --durations=40 $(ARGS)

# By how many seeds a run is disturbed at random.
FAULT_SEEDS ?= 3
test-faults: setup
	FAULT_SEEDS=$(FAULT_SEEDS) $(BIN)/pytest -m 'faults and not builds' $(PARALLEL) $(ARGS)

test-fast: setup
	$(BIN)/pytest -m 'not slow and not builds' $(PARALLEL) $(ARGS)

# Strictly: a page, link or anchor that leads nowhere is an error.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/docs/index.html"

pictures: setup
	$(BIN)/python -m scripts.pictures

recording: setup
	$(BIN)/python -m scripts.recording

bench: setup
	$(BIN)/python -m benchmarks.speed $(ARGS)

bench-first: setup
	$(BIN)/python -m benchmarks.first_count $(ARGS)

bench-cpp: setup
	$(BIN)/python -m benchmarks.compilers $(ARGS)

bench-detect: setup
	$(BIN)/python -m benchmarks.detect $(ARGS)

bench-power: setup
	$(BIN)/python -m benchmarks.power $(ARGS)

bench-layouts: setup
	$(BIN)/python -m benchmarks.layouts $(ARGS)

bench-calibration: setup
	mkdir -p build
	$(BIN)/python main.py run --metrics cycles --output build/calibration.json $(ARGS)
	$(BIN)/python -m benchmarks.calibration build/calibration.json --output build/calibration.html

bench-guard: setup
	$(BIN)/python -m benchmarks.guard $(ARGS)

bench-scale: setup
	$(BIN)/python -m benchmarks.scale $(ARGS)

# Debian's own build of torch is the second one.
test-builds: SYSTEM = --for-builds
test-builds: setup
	$(BIN)/pytest -m builds $(ARGS)

# A build of torch with CUDA: pip install --no-deps torch is enough, and no GPU is needed.
test-cuda: setup
	CUDA_BUILD='$(BUILD)' $(BIN)/pytest -m cuda $(ARGS)

# Nothing is set up here: the other Debian has all of it.
test-python:
	@scripts/test-python

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
