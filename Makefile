# Each target does its own set-up; a second run starts at once.
#   make demo      the whole journey on real data, ending in a report
#   make test      all checks and tests but the slow ones
#   make test-all  the slow ones too, and random examples
#   make bench     our times against the rivals', written to docs/benchmarks.md

SHELL := /bin/bash
BIN := .venv/bin
INPUTS := pyproject.toml scripts/environment.sh
PYTEST := $(BIN)/python -m pytest -n auto

.PHONY: demo test test-all bench format clean

demo: .venv/.ready
	$(BIN)/discriminant demo

test: .venv/.ready-test
	$(PYTEST) -m "not slow"

test-all: .venv/.ready-test
	$(PYTEST) --hypothesis-profile=random

bench: .venv/.ready-bench
	$(BIN)/python -m benchmarks

format: .venv/.ready-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

.venv/.ready: $(INPUTS)
	scripts/environment.sh demo
	touch $@

.venv/.ready-test: $(INPUTS)
	scripts/environment.sh demo test
	touch $@ .venv/.ready

.venv/.ready-bench: $(INPUTS)
	scripts/environment.sh demo test bench
	touch $@ .venv/.ready .venv/.ready-test
