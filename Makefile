# Needs a Python of 3.10 or later and a way to the package indexes that pip and npm are configured for. No root, and no
# AWS account. Everything is installed into .venv/ and node_modules/ in this folder; `make clean-all` removes both.

VENV ?= .venv
BUILD := build
BIN := $(abspath $(VENV))/bin
PY := $(BIN)/python
# The first interpreter that runs and is new enough; give another as `make PYTHON=/path/to/python setup`.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.10; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)

# Node from the virtual environment, where setup had to put one there, goes before an older one on the PATH.
export PATH := $(BIN):$(CURDIR)/node_modules/.bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

PYTHON_READY := $(VENV)/.python-ready
NODE_READY := $(VENV)/.node-ready
CDK_READY := node_modules/.cdk-ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test check lint types templates package synth bench mutants clean clean-all

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

setup: $(PYTHON_READY) $(NODE_READY) $(CDK_READY) ## install everything the other targets need (they all do this first)

demo: setup ## deploy the example to an emulator on this machine, drive it, destroy it
	$(PY) -m demo

test: setup ## run all tests, a file to each core
	$(PY) -m pytest --numprocesses auto --dist loadfile

check: lint types templates package ## ruff, mypy --strict, cfn-lint, cdk-nag, our own rules and the packaging checks

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: setup
	$(PY) -m mypy

templates: setup
	$(PY) scripts/synth.py --nag $(BUILD)/check
	find $(BUILD)/check -name '*.template.json' -print | xargs $(BIN)/cfn-lint
	$(PY) -m constructs_lib.cli check $(BUILD)/check

package: setup
	rm -rf $(BUILD)/package
	$(PY) -m build --no-isolation --outdir $(BUILD)/package .
	$(PY) -m twine check --strict $(BUILD)/package/*
	$(BIN)/check-wheel-contents $(BUILD)/package/*.whl
	$(PY) -m tests.packaging.wheel_synth $(BUILD)/package/*.whl

synth: setup ## write every example's cloud assembly to build/synth/<example>/, without credentials or context
	$(PY) scripts/synth.py $(BUILD)/synth

bench: setup ## synthesis against the same resources by hand; what node program and release pass take; packing against first fit; a month's rehearsal; a check of templates
	$(PY) -m benchmarks.synth
	$(PY) -m benchmarks.node
	$(PY) -m benchmarks.release
	$(PY) -m benchmarks.packing
	$(PY) -m benchmarks.rehearsal
	$(PY) -m benchmarks.compliance

mutants: setup ## change the release function in one place at a time: which changes would no test notice?
	$(PY) -m pip install --quiet --requirement requirements-mutants.txt
	$(PY) -m tests.mutants.run

clean: ## remove what the targets wrote, but not what setup installed
	rm -rf $(BUILD) cdk.out .coverage htmlcov .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -not -path './node_modules/*' -prune -exec rm -rf {} +

clean-all: clean ## remove also what setup installed
	rm -rf $(VENV) node_modules

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "no Python 3.10 or later found: install one, or say make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(PYTHON_READY): requirements-dev.txt | $(VENV)/bin/python
	$(PY) -m pip install --quiet --requirement requirements-dev.txt
	@touch $@

$(NODE_READY): requirements-node.txt | $(PYTHON_READY)
	@if node -e 'process.exit(process.versions.node.split(".")[0] < 22 ? 1 : 0)' 2>/dev/null && npm --version >/dev/null 2>&1; then \
		echo "Node $$(node --version) is used"; \
	else \
		echo "no Node 22 or later on the PATH: it is installed into $(VENV)"; \
		$(PY) -m pip install --quiet --requirement requirements-node.txt; \
	fi
	@touch $@

$(CDK_READY): package.json package-lock.json | $(NODE_READY)
	npm ci --silent && touch $@
