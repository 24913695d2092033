# Everything is set up in .venv, in the versions of constraints.txt; a second call installs nothing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test lint soak fuzz bench figures notebooks docs clean

help:
	@echo "make demo       a hysteresis loop of the modern Hopfield model: figure, dataset, summary"
	@echo "make test       the tests"
	@echo "make lint       style, spelling, import directions, types, packaging"
	@echo "make soak       runs of every executor killed 25 times each: the same result, bit for bit"
	@echo "make fuzz       ten minutes of damaged and hostile files for every reader"
	@echo "make bench      speed, side by side with other tools"
	@echo "make figures    every figure, in figures/"
	@echo "make notebooks  every notebook, run in its quick setting"
	@echo "make docs       the documentation, in docs/_build/html"
	@echo "make clean      remove everything that the above wrote, but for runs/"

demo: $(VENV)/.run
	@$(BIN)/hopfieldphase sweep beta --alpha 2

test: $(VENV)/.dev
	@$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.dev
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/codespell README.md CHANGELOG.md docs hopfieldphase tests benchmarks sweeps
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/pyright --warnings
	@$(BIN)/mypy
	@$(BIN)/validate-pyproject pyproject.toml
	@$(BIN)/repo-review . --show err

soak: $(VENV)/.dev
	@HOPFIELDPHASE_KILLS=25 $(BIN)/python -m pytest -n 0 -m slow tests/runs/test_grid_kills.py

fuzz: $(VENV)/.dev
	@$(BIN)/python tests/fuzz/readers.py -max_total_time=600

bench: $(VENV)/.dev
	@$(BIN)/python -m benchmarks

figures: $(VENV)/.run
	@$(BIN)/hopfieldphase figures all

notebooks: $(VENV)/.dev
	@HOPFIELDPHASE_REDUCED=1 $(BIN)/python -m pytest --nbmake --nbmake-timeout=600 -n 2 --dist worksteal -q notebooks

docs: $(VENV)/.dev
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:
	rm -rf $(VENV) build dist docs/_build docs/api/generated
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: what is installed is what pyproject.toml and constraints.txt asked for when they were last changed.
$(VENV)/.run: pyproject.toml constraints.txt
	$(call create)
	@$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt
	$(call create)
	@$(INSTALL) -e '.[dev]'
	@touch $(VENV)/.run $@

define create
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
  echo "hopfieldphase needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) --version 2>&1);" \
    "name another one: make PYTHON=python3.12" >&2; exit 1; }
@echo "Installing into $(VENV) (a few minutes the first time)" >&2
@$(PYTHON) -m venv $(VENV)
endef
