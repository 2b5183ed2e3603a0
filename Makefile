# make setup | demo | test | bench | docs | lint | clean. Everything happens in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Each test that starts the command would compile all of it again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test bench docs lint clean

INSTALL = { test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); } && \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	$(INSTALL) '.[dev]'
	touch $@

# What a user installs: what the tests need beside it takes longer than the rest of the set-up.
$(VENV)/.plain: pyproject.toml constraints.txt
	$(INSTALL) .
	touch $@

demo: $(VENV)/.plain
	$(BIN)/formwright run examples/gemm.toml --out demo-out

test: setup
	$(BIN)/ruff check src tests benchmarks website
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2

bench: setup
	held=0; for each in gemm operators; do \
	  $(BIN)/python benchmarks/$$each.py --install-peers || held=1; done; exit $$held

docs: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	$(BIN)/python website/stage.py
	@echo "build/website/html is the site; search in it needs a server: $(BIN)/python -m http.server -d build/website/html"

lint: setup
	$(BIN)/ruff check src tests benchmarks website
	$(BIN)/ruff format --check src tests benchmarks website
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) demo-out .mypy_cache .ruff_cache .pytest_cache .hypothesis
