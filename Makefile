# Every target sets up what it needs: a virtual environment in .venv, with the versions of constraints.txt.
# `make` alone explains.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Nothing outside the checkout: pip keeps a cache.
PIP := PIP_CACHE_DIR=$(CURDIR)/.cache/pip $(BIN)/python -m pip

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast zoo check bench man clean

help: ## what there is
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# Byte code is written at install: where Python may not write it later, every start would compile everything again.
# The `unhang` that a pip before 25 writes imports `re` before anything else: a sixth of what `unhang run -- true` takes.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "unhang needs Python 3.11 or newer; say which: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet --disable-pip-version-check -c constraints.txt 'pip>=25'
	@$(PIP) install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@$(BIN)/python -m compileall -q src
	@touch $@

demo: $(STAMP) ## a real hang, watched, explained and ended whole (15 seconds)
	@$(BIN)/python scripts/demo.py

test: $(STAMP) ## everything
	@$(BIN)/python -m compileall -q src
	@scripts/test-programs
	$(BIN)/python -m pytest -q -n 4

test-fast: $(STAMP) ## what needs no npm programs and no long waits: to begin with, and between changes (90 seconds)
	@$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest -q -n 3 --fast

zoo: $(STAMP) ## the diagnosis on the whole zoo, most of it in sixteen languages (Debian's packages) too
	@scripts/test-programs zoo
	$(BIN)/python -m tests.zoo.runner

check: $(STAMP) ## formatting, lint, types (strict), layers, names and maps
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -p no:randomly tests/test_maps.py tests/test_architecture.py

bench: $(STAMP) ## the budgets, each as a ratio to its reference in the same run (text, and bench.json)
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python scripts/bench.py --json bench.json

man: $(STAMP) ## the man pages, one for each command (build/man; an install brings them along)
	@$(BIN)/python scripts/cli_docs.py man build/man
	@echo "read one with: man -l build/man/unhang-run.1"

clean: ## remove what the targets above made
	rm -rf $(VENV) .cache build bench.json .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
