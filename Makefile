# Each target does its own set-up; a second run starts at once.
#   make demo      the whole journey on real data, ending in a report
#   make test      all checks and tests but the slow ones
#   make test-all  the slow ones too, random examples, the lowest versions of all packages and the newest Python
#   make build     compile the kernels, after a change of src/native
#   make bench     our times against the rivals', written to docs/benchmarks.md
#   make coverage  the simulation studies of intervals and tests (STUDIES="name ..." for some), written to docs/coverage.md
#   make docs      the site, written to docs/_build/html; warnings are errors
#   make quality   how well defaults predict, ours and the rivals', written to docs/quality.md

SHELL := /bin/bash
BIN := .venv/bin
INPUTS := pyproject.toml scripts/environment.sh
SOURCES := CMakeLists.txt scripts/kernels.sh $(wildcard src/native/*)
# Every process that a test starts loads what the first one has made of the sources.
unexport PYTHONDONTWRITEBYTECODE
# Tests of one group run in one process: two sets of Spark and Dask would not fit beside each other. A process more than
# there are cores works while others wait for browsers and clusters.
SPREAD := -n $(shell expr $$(nproc 2>/dev/null || echo 2) + 1) --dist loadgroup
PYTEST := $(BIN)/python -m pytest $(SPREAD)
# Old packages beside newer ones warn of each other.
OLD := -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning
# The newest Python to be had: pyenv's, or one on the path.
NEWEST ?= $(shell ls -d "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.1[3-9].*/bin/python 2>/dev/null | sort -V | tail -1)
ifeq ($(NEWEST),)
NEWEST := $(shell command -v python3.14 || command -v python3.13)
endif

.PHONY: demo build docs pictures test test-all test-lowest test-newest bench quality coverage format clean

demo: .venv/.built
	$(BIN)/discriminant demo

build: .venv/.built

# Solvers also with the kernels of older processors, which are tested with both builds themselves.
test: .venv/.ready-test .venv/.built
	$(PYTEST) -m "not slow"
	DISCRIMINANT_KERNELS=baseline $(PYTEST) -q -m "not slow" tests/solvers tests/margins tests/test_objective.py

test-all: .venv/.ready-docs .venv/.built
	$(PYTEST) --hypothesis-profile=random
	DISCRIMINANT_KERNELS=baseline $(PYTEST) -m "not slow and not tools"
	$(MAKE) test-lowest
	$(MAKE) test-newest

test-lowest: .venv-lowest/.ready-test .venv/.built
	.venv-lowest/bin/python -m pytest $(SPREAD) -m "not slow and not tools" $(OLD)

test-newest: .venv-newest/.ready-test .venv-newest/.built
	.venv-newest/bin/python -m pytest $(SPREAD) -m "not slow and not tools"

docs: .venv/.ready-docs .venv/.built
	$(BIN)/python -m pytest -n auto -q tests/test_documentation.py
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Pictures of the studio in docs/studio.md and README, taken by the tests that look at its pages.
pictures: .venv/.ready-test .venv/.built
	STUDIO_PICTURES=anew $(BIN)/python -m pytest -q tests/studio/test_pictures.py

bench: .venv/.ready-bench .venv/.built
	$(BIN)/python -m benchmarks

quality: .venv/.ready-bench .venv/.built
	$(BIN)/python -m benchmarks.quality

# 1 where a figure is out of its bounds; pages are written all the same.
coverage: .venv/.ready-test .venv/.built
	$(BIN)/python -m tests.studies $(STUDIES)

format: .venv/.ready-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf src/discriminant/kernels/*.so docs/_build docs/gallery docs/api .venv .venv-lowest .venv-newest .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

.venv/.ready: $(INPUTS)
	scripts/environment.sh demo
	touch $@

%/.built: $(SOURCES) | %/.ready
	VENV=$* scripts/kernels.sh
	touch $@

.venv/.ready-test: $(INPUTS)
	scripts/environment.sh demo test
	touch $@ .venv/.ready

.venv/.ready-docs: $(INPUTS)
	scripts/environment.sh demo test docs
	touch $@ .venv/.ready .venv/.ready-test

.venv/.ready-bench: $(INPUTS)
	scripts/environment.sh demo test bench
	touch $@ .venv/.ready .venv/.ready-test

.venv-lowest/.ready-test: $(INPUTS) scripts/lowest_versions.py .venv/.ready-test
	$(BIN)/python scripts/lowest_versions.py > .venv/lowest.txt
	VENV=.venv-lowest CONSTRAINTS=.venv/lowest.txt scripts/environment.sh demo test
	touch $@

.venv-newest/.ready-test: $(INPUTS)
	@test -n "$(NEWEST)" || { echo "The newest Python is not here: pyenv install 3.13, or make NEWEST=/path/to/python"; exit 1; }
	VENV=.venv-newest PYTHON=$(NEWEST) scripts/environment.sh demo test
	touch $@ .venv-newest/.ready

.venv-newest/.ready: .venv-newest/.ready-test ;
