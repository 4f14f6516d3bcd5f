# make classify IMAGE=photo.jpg   all set-up, then the five most probable labels
# make test                       all set-up, then the whole test suite
# make lint types                 ruff and mypy
# make clean                      remove .venv and caches

PYTHON ?= python3
IMAGE ?= docs/images/example.jpg
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input

.PHONY: classify test test-engine test-keras lint types clean

classify: $(VENV)/.run
	@$(BIN)/classify "$(IMAGE)"

test: test-engine test-keras

# Two processes: TensorFlow and Mesa's LLVM cannot share one (glsl_infer/llvm_clash.py).
test-engine: $(VENV)/.all
	$(BIN)/python -m pytest tests/unit tests/gl tests/packaging

test-keras: $(VENV)/.all
	$(BIN)/python -m pytest tests/keras tests/training

lint: $(VENV)/.all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.all
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# What it takes to run a model.
$(VENV)/.run: pyproject.toml
	scripts/system-packages
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --editable .
	@touch $@

# And what it takes to train, export and test.
$(VENV)/.all: pyproject.toml
	scripts/system-packages --test
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --editable '.[train,tools,dev]'
	@touch $@ $(VENV)/.run
