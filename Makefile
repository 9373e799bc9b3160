# Every target sets itself up: only python3, pip and make are assumed.
PYTHON ?= python3
# The lowest versions have wheels for the lowest Python only.
LOWEST_PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
CLEAN := .venv-wheel

# Python keeps what it compiled: tests start many processes.
unexport PYTHONDONTWRITEBYTECODE
# Two tests run at once, and threads of each for linear algebra would wait for each other.
test test-slow test-lowest: export OPENBLAS_NUM_THREADS := 1

.PHONY: demo test test-slow test-lowest lint wheel audit crosscheck bench evidence reproduce results panel report-picture clean help

help:  ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

$(VENV)/installed-crosscheck: $(VENV)/installed-dev
	$(BIN)/pip install --quiet --editable '.[crosscheck]'
	@touch $@

$(VENV)/installed-panel: $(VENV)/installed
	$(BIN)/pip install --quiet --editable '.[panel]'
	@touch $@

$(LOWEST)/installed: pyproject.toml constraints/lowest.txt
	$(LOWEST_PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/pip install --quiet --constraint constraints/lowest.txt --editable '.[dev]'
	@touch $@

# The CPU build of torch; a plain "torch" may pull gigabytes.
$(VENV)/installed-bench: $(VENV)/installed
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --editable '.[bench]'
	@touch $@

demo: $(VENV)/installed  ## Train, certify and report a private fair model on Adult
	$(BIN)/dpfair demo

test: $(VENV)/installed-dev  ## Run the tests and doctests (a few minutes)
	$(BIN)/pytest -q -n 2

test-slow: $(VENV)/installed-dev  ## Run the slow tests
	$(BIN)/pytest -q -n 2 -m slow

test-lowest: $(LOWEST)/installed  ## Run the tests with the lowest versions of all dependencies
	$(LOWEST)/bin/pytest -q -n 2

audit: $(VENV)/installed-dev  ## Run the privacy and fairness audits at full size (fifty minutes)
	$(BIN)/python scripts/audit.py

crosscheck: $(VENV)/installed-crosscheck  ## Compare the audit's bounds with those of jax-privacy
	$(BIN)/pytest -q tests/audit/test_bounds.py -k jax_privacy

lint: $(VENV)/installed-dev  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

wheel: $(VENV)/installed-dev  ## Build dist/, install the wheel in a clean environment and test it
	rm -rf dist $(CLEAN)
	$(BIN)/python -m build
	$(PYTHON) -m venv $(CLEAN)
	$(CLEAN)/bin/pip install --quiet dist/*.whl
	$(CLEAN)/bin/dpfair --version
	$(CLEAN)/bin/python scripts/smoke_test.py

evidence: $(VENV)/installed  ## Run Algorithm 2 on Adult over 50 seeds, with the paper's learner and ours
	$(BIN)/python benchmarks/algorithm2.py

reproduce: $(VENV)/installed-dev  ## Reproduce the paper's twelve tables (minutes) and write docs/reproduction.md
	$(BIN)/dpfair reproduce --out docs/reproduction/paper > /dev/null
	$(BIN)/dpfair reproduce --data honest --out docs/reproduction/honest > /dev/null
	$(BIN)/python scripts/reproduction_doc.py

results: $(VENV)/installed  ## Run our classifier on 50 fresh splits (an hour) and write docs/results.md
	$(BIN)/python scripts/results_doc.py

panel: $(VENV)/installed-panel  ## Compare the learners on real tables (half an hour) and write docs/panel.md
	$(BIN)/python -m scripts.panel.run
	$(BIN)/python -m scripts.panel.report

report-picture: $(VENV)/installed  ## Write docs/report.png (installs chromium with apt-get if it is missing)
	command -v chromium > /dev/null || { apt-get update && apt-get install -y chromium; }
	$(BIN)/python scripts/report_picture.py

bench: $(VENV)/installed-bench  ## Compare speed and memory with other libraries (20 minutes) and write docs/performance.md
	$(BIN)/python -m benchmarks.bench

clean:  ## Remove everything that make created
	rm -rf $(VENV) $(LOWEST) $(CLEAN) dist dpfair-demo .bench .pytest_cache .mypy_cache .ruff_cache
