# The front door. Everything below sets itself up: all it needs is Python 3.11 or newer, with pip and venv.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

PYTHON ?= python3
BIN := .venv/bin
BENCH_BIN := .venv-bench/bin

# A stamp per content of the lock: a changed lock installs again, an unchanged one costs nothing.
digest = $(shell cat $(1) 2>/dev/null | cksum | cut -d' ' -f1)
READY := .venv/.ready-$(call digest,requirements/dev.txt pyproject.toml)
BENCH_READY := .venv-bench/.ready-$(call digest,requirements/bench.txt)

UPGRADE ?=
PAGES ?= 6000
ROUNDS ?= 3
MINUTES ?= 10

.PHONY: help
help: ## List what can be done
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(READY) ## Make .venv with pinned, hash-checked dependencies

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"gossamer needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}. Try: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --no-deps --no-build-isolation -e .
	rm -f .venv/.ready-*
	touch $@

.PHONY: demo
demo: $(READY) ## Crawl a bundled example site, served on loopback, and show what came of it
	$(BIN)/gossamer demo

.PHONY: test
test: format-check lint contracts types unit ## Every check, the quick ones first

.PHONY: format
format: $(READY) ## Rewrite the code in the one format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: format-check
format-check: $(READY) ## Is everything in the one format?
	$(BIN)/ruff format --check .

.PHONY: lint
lint: $(READY) ## Look for likely mistakes
	$(BIN)/ruff check .

.PHONY: contracts
contracts: $(READY) ## Do imports point one way?
	$(BIN)/lint-imports

.PHONY: types
types: $(READY) ## Check types, strictly
	$(BIN)/mypy

.PHONY: unit
unit: $(READY) ## Run the tests, on all cores
	$(BIN)/pytest -n auto

.PHONY: soak
soak: $(READY) ## Kill crawls again and again for MINUTES, and check that nothing is lost
	$(BIN)/python -m tests.crash.soak --minutes $(MINUTES)

.PHONY: bench
bench: $(READY) $(BENCH_READY) ## Race gossamer against Scrapy on a site of PAGES pages, ROUNDS times
	$(BIN)/python -m benchmarks.speed --peer $(BENCH_BIN)/python --pages $(PAGES) --rounds $(ROUNDS)

$(BENCH_READY): requirements/bench.txt
	$(PYTHON) -m venv .venv-bench
	$(BENCH_BIN)/python -m pip install --require-hashes -r requirements/bench.txt
	rm -f .venv-bench/.ready-*
	touch $@

.PHONY: bench-memory
bench-memory: $(READY) ## Measure memory: 100,000 URLs on one host, and 10,000 hosts with 10 each
	$(BIN)/python -m benchmarks.memory

.PHONY: bench-duplicates
bench-duplicates: $(READY) ## How well near duplicates are found, and at what cost
	$(BIN)/python -m benchmarks.duplicates

.PHONY: bench-pace
bench-pace: $(READY) ## Adaptive pace against every fixed one, on servers that mind (10 minutes)
	$(BIN)/python -m benchmarks.pace

PIP_COMPILE = CUSTOM_COMPILE_COMMAND='make lock' $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options --no-annotate

.PHONY: lock
lock: ## Pin dependencies with their hashes; UPGRADE=--upgrade takes the newest that fit
	test -x $(BIN)/pip-compile || { $(PYTHON) -m venv .venv && $(BIN)/python -m pip install pip-tools; }
	$(PIP_COMPILE) $(UPGRADE) --output-file requirements/run.txt pyproject.toml
	$(PIP_COMPILE) $(UPGRADE) --extra all --extra dev --constraint requirements/run.txt --output-file requirements/dev.txt pyproject.toml
	$(PIP_COMPILE) $(UPGRADE) --extra bench --constraint requirements/run.txt --output-file requirements/bench.txt pyproject.toml
	@! grep -nE '://|^ *--(index-url|extra-index-url|find-links|trusted-host)' requirements/*.txt \
		|| { echo 'A lock names a download address: see the lines above.'; exit 1; }

.PHONY: clean
clean: ## Remove environments and caches; crawled data stays
	rm -rf .venv .venv-bench .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
