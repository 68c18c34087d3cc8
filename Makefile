# make run opens the app on an example, make test runs the tests; both make what is missing first.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
EXAMPLE := build/example.jsonl

.PHONY: install run test test-all lint bench

install: $(INSTALLED)

# Once, and again when the dependencies change.
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

$(EXAMPLE): $(INSTALLED)
	mkdir -p $(@D)
	$(BIN)/neardup example 1000 > $@.part
	mv $@.part $@

run: $(EXAMPLE)
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/neardup $(EXAMPLE); else $(BIN)/neardup run $(EXAMPLE); fi

test: $(INSTALLED)
	$(BIN)/python -m pytest -m 'not all' -n 2 --dist loadfile

test-all: $(INSTALLED)
	$(BIN)/python -m pytest

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/mypy --strict engine/neardup

# For a quiet machine. Writes benchmarks/RESULTS.md; FULL=1 takes the slow peers and 10,000,000 documents as well.
bench: $(INSTALLED)
	$(BIN)/python benchmarks/report.py $(if $(FULL),--full)
