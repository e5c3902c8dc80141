# Each target creates the environment that it needs; later runs reuse it.
#   make demo      a complete analysis of real data, with a report
#   make test      all checks, and all tests except the slow ones
#   make test-all  also the slow tests, random examples, sanitizers, the lowest versions of all packages and the newest Python
#   make build     compile the kernels, after a change of src/native
#   make bench     speed compared with other packages, written to docs/benchmarks.md
#   make coverage  the simulation studies of intervals and tests (STUDIES="name ..." for some), written to docs/coverage.md
#   make docs      the site, written to docs/_build/html; warnings are errors
#   make quality   predictive performance of default models, written to docs/quality.md
#   make messages  all messages with examples from the tests, written to tests/messages.md

SHELL := /bin/bash
BIN := .venv/bin
INPUTS := pyproject.toml scripts/environment.sh
SOURCES := CMakeLists.txt scripts/kernels.sh $(wildcard src/native/*)
# The processes that tests start reuse the bytecode of the first one.
unexport PYTHONDONTWRITEBYTECODE
# Tests of one group run in one process, because memory does not suffice for two Spark and Dask clusters. One process
# more than there are cores uses the time in which others wait for browsers and clusters.
SPREAD := -n $(shell expr $$(nproc 2>/dev/null || echo 2) + 1) --dist loadgroup
PYTEST := $(BIN)/python -m pytest $(SPREAD)
# Old versions of packages warn about newer ones.
OLD := -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W ignore::FutureWarning
# The newest available Python: pyenv's, or one on the path.
NEWEST ?= $(shell ls -d "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.1[3-9].*/bin/python 2>/dev/null | sort -V | tail -1)
ifeq ($(NEWEST),)
NEWEST := $(shell command -v python3.14 || command -v python3.13)
endif

.PHONY: demo build docs messages pictures test test-all test-sanitized test-lowest test-newest bench quality coverage format clean

demo: .venv/.built
	$(BIN)/discriminant demo

build: .venv/.built

# Solvers are also tested with the baseline kernels; the kernel tests run with both builds.
test: .venv/.ready-test .venv/.built
	$(PYTEST) -m "not slow"
	DISCRIMINANT_KERNELS=baseline $(PYTEST) -q -m "not slow" tests/solvers tests/margins tests/test_objective.py

test-all: .venv/.ready-docs .venv/.built
	$(PYTEST) --hypothesis-profile=random
	DISCRIMINANT_KERNELS=baseline $(PYTEST) -m "not slow and not tools"
	$(MAKE) test-sanitized
	$(MAKE) test-lowest
	$(MAKE) test-newest

# Kernel tests in a build with AddressSanitizer and UndefinedBehaviorSanitizer. Python itself is not built with them, so
# their library is preloaded, together with the C++ library whose exceptions it intercepts, and leaks of Python at exit
# are not reported. The environment has the packages of .venv except the package itself, which is editable there.
SANITIZED := build/sanitized
library = $$($${CXX:-c++} -print-file-name=lib$(1).so)
test-sanitized: .venv/.ready-test
	BUILD=$(SANITIZED) scripts/kernels.sh -DDISCRIMINANT_IN_TREE=OFF -DDISCRIMINANT_SANITIZE=ON
	rm -rf $(SANITIZED)/site $(SANITIZED)/env && mkdir -p $(SANITIZED)/site && cp -r src/discriminant $(SANITIZED)/site
	rm -f $(SANITIZED)/site/discriminant/kernels/*.so
	$(BIN)/cmake --install $(SANITIZED) --prefix $(SANITIZED)/site
	$(BIN)/python -m venv --without-pip $(SANITIZED)/env
	$(BIN)/python -c "import sysconfig; print('$(CURDIR)/$(SANITIZED)/site', sysconfig.get_path('purelib'), sep='\n')" \
		> "$$($(SANITIZED)/env/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/packages.pth"
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$(call library,asan):$(call library,stdc++)" \
		$(SANITIZED)/env/bin/python -m pytest -q -s -p no:xdist tests/kernels

test-lowest: .venv-lowest/.ready-test .venv/.built
	.venv-lowest/bin/python -m pytest $(SPREAD) -m "not slow and not tools" $(OLD)

test-newest: .venv-newest/.ready-test .venv-newest/.built
	.venv-newest/bin/python -m pytest $(SPREAD) -m "not slow and not tools"

docs: .venv/.ready-docs .venv/.built
	$(BIN)/python -m pytest -n auto -q tests/test_documentation.py
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# Screenshots of the studio in docs/studio.md and README, taken by the tests of its pages.
pictures: .venv/.ready-test .venv/.built
	STUDIO_PICTURES=update $(BIN)/python -m pytest -q tests/studio/test_pictures.py

# Every test process records examples of messages; the page is written from the sources and these examples.
messages: .venv/.ready-test .venv/.built
	rm -f build/messages.* && mkdir -p build
	$(PYTEST) -q -m "not slow" --messages build/messages
	$(BIN)/python tests/messages.py build/messages

bench: .venv/.ready-bench .venv/.built
	$(BIN)/python -m benchmarks

quality: .venv/.ready-bench .venv/.built
	$(BIN)/python -m benchmarks.quality

# Exit code 1 if a result is out of bounds; the page is written in any case.
coverage: .venv/.ready-test .venv/.built
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.studies $(STUDIES)

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
