# Every target sets itself up: only python3, pip and make are assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow lint audit crosscheck bench evidence reproduce results report-picture clean help

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

# The CPU build of torch; a plain "torch" may pull gigabytes.
$(VENV)/installed-torch: $(VENV)/installed
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --editable '.[torch,fast]'
	@touch $@

demo: $(VENV)/installed  ## Train, certify and report a private fair model on Adult
	$(BIN)/dpfair demo

test: $(VENV)/installed-dev  ## The tests and doctests (a few minutes)
	$(BIN)/pytest -q -n 2

test-slow: $(VENV)/installed-dev  ## The checks that take longer
	$(BIN)/pytest -q -n 2 -m slow

audit: $(VENV)/installed-dev  ## Everything that would catch us cheating, at full size (fifty minutes)
	$(BIN)/python scripts/audit.py

crosscheck: $(VENV)/installed-crosscheck  ## The audit's bounds against those of jax-privacy
	$(BIN)/pytest -q tests/audit/test_bounds.py -k jax_privacy

lint: $(VENV)/installed-dev  ## Style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

evidence: $(VENV)/installed  ## Algorithm 2 on Adult over 50 seeds, paper's and our learner
	$(BIN)/python benchmarks/algorithm2.py

reproduce: $(VENV)/installed  ## The paper's twelve tables (minutes), and docs/reproduction.md
	$(BIN)/dpfair reproduce --out docs/reproduction/paper > /dev/null
	$(BIN)/dpfair reproduce --data honest --out docs/reproduction/honest > /dev/null
	$(BIN)/python scripts/reproduction_doc.py

results: $(VENV)/installed  ## Our classifier on 50 fresh splits (an hour), and docs/results.md
	$(BIN)/python scripts/results_doc.py

report-picture: $(VENV)/installed  ## docs/report.png (installs chromium with apt-get if it is missing)
	command -v chromium > /dev/null || { apt-get update && apt-get install -y chromium; }
	$(BIN)/python scripts/report_picture.py

bench: $(VENV)/installed-torch  ## Speed of DP-SGD against Opacus, in one run
	$(BIN)/python benchmarks/dpsgd_vs_opacus.py

clean:  ## Remove what make made
	rm -rf $(VENV) dpfair-demo .pytest_cache .mypy_cache .ruff_cache
