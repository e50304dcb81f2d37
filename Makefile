# Everything runs in a virtual environment of this folder; `make` alone says what there is.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.10 python3; do command -v $$p >/dev/null 2>&1 && { echo $$p; break; }; done)
BIN := .venv/bin
H2H := $(BIN)/h2h

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint golden bench lock locks clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/installed  ## install PyTorch and TensorFlow into .venv and compare them on this machine's CPU (some minutes)
	$(H2H) run --suite quick

test: .venv/installed  ## the tests: those that measure no time side by side, the others one by one
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m 'not slow and not alone' -n auto --dist worksteal
	$(BIN)/python -m pytest -m 'alone and not slow'

test-all: .venv/installed  ## the slow tests too
	$(BIN)/python -m pytest -m ""

lint: .venv/installed  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

golden: .venv/installed  ## the golden curves of the library anew, after a workload changed (hours; h2h check --write NAME does one)
	$(H2H) check --write

bench: .venv/installed  ## what the suite itself costs, against loops written by hand
	$(BIN)/python tests/bench/overhead.py

lock: .venv/installed  ## pin the newest versions that pyproject.toml allows (then make locks, since the era current keeps to them)
	$(BIN)/uv pip compile --universal --all-extras --upgrade --no-annotate --no-header --python-version 3.10 pyproject.toml -o frameworks/eras/current.txt

locks: .venv/installed  ## the locks of all eras anew, from frameworks/eras/*.yaml
	$(BIN)/python -m runner.eras.make_locks

clean:  ## remove the environment and what tools leave behind
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The lock holds for every platform, so it is a list of constraints: what a platform needs of it is installed, in these versions.
.venv/installed: pyproject.toml frameworks/eras/current.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' || \
	  { echo "headtohead's frameworks need Python 3.10 to 3.12, $(PYTHON) is another: make demo PYTHON=python3.11"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c frameworks/eras/current.txt -e '.[pytorch,tensorflow,test]'
	@touch $@
