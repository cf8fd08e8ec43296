# Everything a developer runs, and exactly what CI runs. Each target sets up what it needs in the
# checkout, with a Python of 3.11 or later and make; a second run finds it there. `make PYTHON=…` chooses
# the Python of .venv.

.DEFAULT_GOAL := check
.PHONY: demo test test-newest check lint types imports format bench soak conformance peers interop \
	clean
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

ifndef PYTHON
PYTHON := $(shell tools/find_python.sh 3.11 3.12 3.13 3.14 || echo python3)
endif
# The newest Python here: the tests run on it too when it is not .venv's own, and the benchmarks.
NEWEST := $(shell tools/find_python.sh 3.13 3.14 3.12)
NEWEST_VERSION := $(if $(NEWEST),$(shell $(NEWEST) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
BASE_VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
BENCH_PYTHON := $(or $(NEWEST),$(PYTHON))

BIN := .venv/bin
RUNTIME := .venv/.runtime-installed
DEV := .venv/.dev-installed
NEWEST_DEV := .venv-$(NEWEST_VERSION)/.installed
BENCH_DEV := .venv-bench/.installed
BENCH_PEERS := .venv-bench-mcp/.installed .venv-bench-fastmcp/.installed .venv-bench-node/.installed
# Many tests wait for processes and sockets, so that more of them run than there are cores.
SIDE_BY_SIDE := -n 4 --dist worksteal
# Where tests run on a second Python. What is said on pages, how pytest is extended, what no input or
# peer may do and what the sources look like is the same on every Python: it is tested on that one alone,
# quicker and without coverage. The commands and the doctor, which start many processes, are not.
HAS_NEWEST := $(if $(filter-out $(BASE_VERSION),$(NEWEST_VERSION)),yes)
TESTED_ON_NEWEST := tests/docs tests/e2e/test_pytest_plugin.py tests/faults tests/properties \
	tests/test_benchmarks.py tests/test_conformance.py tests/test_layout.py tests/test_public_api.py
TESTED_ON_BASE := tests/cli tests/doctor
PIP_INSTALL := -m pip install -qq --disable-pip-version-check
# Hundreds of processes are started by tests; without bytecode each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

# Kitebase: a client without Wigwag, against a server with it, and every message between them.
demo: $(RUNTIME)
	$(BIN)/python examples/kitebase/main.py $(ARGS)

check: lint types imports test conformance

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(DEV)
	$(BIN)/mypy
	$(BIN)/pyright

imports: $(DEV)
	$(BIN)/lint-imports

format: $(DEV)
	$(BIN)/ruff check --fix . || true
	$(BIN)/ruff format .

test: $(DEV)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q $(SIDE_BY_SIDE) $(if $(HAS_NEWEST),$(TESTED_ON_NEWEST:%=--ignore=%)) $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
ifdef HAS_NEWEST
	$(MAKE) test-newest
endif

test-newest: $(NEWEST_DEV)
	.venv-$(NEWEST_VERSION)/bin/python -m pytest -q $(SIDE_BY_SIDE) $(TESTED_ON_BASE:%=--ignore=%) $(ARGS)

# Bytecode first: import and start times mean nothing without it.
bench: $(BENCH_DEV) $(BENCH_PEERS)
	.venv-bench/bin/python -m compileall -q src benchmarks
	.venv-bench/bin/python benchmarks/run.py $(ARGS)

# Calls of servers that are killed all the time: none may be lost or wrong, and memory stays flat.
soak: $(BENCH_DEV)
	.venv-bench/bin/python benchmarks/soak.py $(ARGS)

# The official suite, against a server and a client made for it.
conformance: $(DEV)
	$(BIN)/python conformance/run.py $(ARGS)

# Others' toolkits and servers, a browser and a proxy: what `interop` talks to.
peers: $(DEV)
	$(BIN)/python tests/interop/setup.py

interop: peers
	$(BIN)/python -m pytest -q tests/interop $(ARGS)

clean:
	rm -rf .venv .venv-* .conformance .interop .coverage .coverage.* build dist
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests examples benchmarks conformance tools -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Wigwag needs Python 3.11 or later") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv

$(RUNTIME): pyproject.toml | .venv/bin/python
	$(BIN)/python $(PIP_INSTALL) -e '.[http]'
	@touch $@

$(DEV): pyproject.toml $(RUNTIME)
	$(BIN)/python $(PIP_INSTALL) -e '.[dev]'
	@touch $@

$(NEWEST_DEV): pyproject.toml
	test -x .venv-$(NEWEST_VERSION)/bin/python || $(NEWEST) -m venv .venv-$(NEWEST_VERSION)
	.venv-$(NEWEST_VERSION)/bin/python $(PIP_INSTALL) -e '.[test]'
	@touch $@

$(BENCH_DEV): pyproject.toml
	test -x .venv-bench/bin/python || $(BENCH_PYTHON) -m venv .venv-bench
	.venv-bench/bin/python $(PIP_INSTALL) -e '.[cli,http]'
	@touch $@

# Others' toolkits, each with what it wants.
.venv-bench-%/.installed: benchmarks/peers/%.txt
	test -x .venv-bench-$*/bin/python || $(BENCH_PYTHON) -m venv .venv-bench-$*
	.venv-bench-$*/bin/python $(PIP_INSTALL) -r $<
	@touch $@

# Without npm the benchmarks leave it out.
.venv-bench-node/.installed: benchmarks/peers/node/package-lock.json
	mkdir -p .venv-bench-node
	cp benchmarks/peers/node/package*.json .venv-bench-node
	! command -v npm >/dev/null || (cd .venv-bench-node && npm ci --ignore-scripts --no-audit --no-fund --silent)
	@touch $@
