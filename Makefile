# make demo   install, then run a federation with 8 liars of 20, defended and not (two minutes)
# make test   install, then format check, lint, types and tests
# make slow   the tests that are too slow for every day
# make soak   peers under faults and over bad links, for many minutes; says what it counted
# make fuzz   a million mutated messages for everything that reads bytes from strangers (some minutes)
# make bench  seconds per round, beside the per-client loop
# make clean  remove what the above made, your runs/ aside

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: install demo test check slow soak fuzz bench clean
.DEFAULT_GOAL := install

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "SureFED needs Python 3.11 or newer, and there is no '$(PYTHON)'; install it, or name one: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "SureFED needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version). Name another: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "this Python cannot make virtual environments; on Debian or Ubuntu: apt install python3-venv"; exit 1; }
	@echo "installing into $(VENV); the first time takes a minute or two"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@# tests compare with byzfl, but not with the torchvision that it asks for
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --no-deps byzfl
	@touch $@

demo: install
	@$(BIN)/surefed demo

test: check
	@command -v chromium >/dev/null || echo "there is no chromium here: the dashboard is not tested in a browser (apt install chromium)"
	@$(BIN)/python -m pytest -n auto -m 'not slow and not soak'

check: install
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

slow: install
	@$(BIN)/python -m pytest -n auto -m slow

soak: install
	@$(BIN)/python -m pytest -m soak -s

fuzz: install
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt atheris
	@$(BIN)/python tests/fuzz/wire.py -atheris_runs=1000000 -max_total_time=1200

bench: install
	@$(BIN)/surefed bench --compare loop

clean:
	rm -rf $(VENV) build src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
