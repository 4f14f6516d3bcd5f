# make classify IMAGE=photo.jpg   set-up, then the five most probable labels
# make dev                        a small .venv for the engine's own tests: no apt, no TensorFlow, no JDK, no browser
# make quick                      lint, types and fast unit tests: less than 90 seconds
# make test                       set-up, then the tests that a change needs: 12 minutes on 2 cores (JOBS=3 parts at a time)
# make test-all                   set-up, then every test; `make test-rest` runs only the tests that `make test` leaves out
# make sweep SEED=1               random cases until a fault or Ctrl-C: convolutions, registers, damaged bundles, random networks
# make test-PART                  one part: engine, llvmpipe, softpipe, virtual-gpu, vc4, keras, training, web, android, arm, cpus
# make test-debian13              README's commands, a deployment and `make quick` in a folder with Debian 13; also test-debian12
# make web [MODELS=FOLDER]        builds the browser's library and demo page, with FOLDER's models, and serves it on localhost:8000
# make apk [MODEL=...] [MODELS=FOLDER]  android/build/glsl-infer-demo.apk, with MODEL (default: grocery-x22-257) and FOLDER's networks
# make aar                        android/build/glsl-infer.aar: the runner as a library for other apps
# make docs                       the API reference from the docstrings: build/api/index.html
# make lint types                 ruff, imports between the packages of glsl_infer, mypy and TypeScript's compiler
# make clean                      remove .venv and caches

PYTHON ?= python3
IMAGE ?= docs/images/example.jpg
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
# CONSTRAINTS=constraints.txt installs the versions that the suite has passed with; without it, the newest ones.
INSTALL := $(PIP) install --quiet $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS)) --editable
PORT ?= 8000
# Unset where no login was, as in some services; the scripts need it.
export HOME ?= $(shell $(PYTHON) -c 'import os; print(os.path.expanduser("~"))')
JOBS ?= 3
# Which tests of a part run: quick, test, all or rest (tests/tiers.py).
TIER ?= all
# Another Debian than this machine's.
OTHER_DEBIAN := test-debian$(if $(filter 13%,$(shell cat /etc/debian_version 2>/dev/null)),12,13)
SEED ?= $(shell date +%s)
PYTEST = $(BIN)/python -m pytest --tier $(TIER)
WEB := web/node_modules/.ready web/tfjs/node_modules/.ready

.PHONY: help classify dev quick quick-tests test test-all test-rest sweep web web-url apk aar docs lint types python-types clean \
	test-engine test-drivers test-llvmpipe test-softpipe test-vc4 test-virtual-gpu test-web test-android test-arm test-keras test-training \
	test-debian12 test-debian13 test-cpus vc4-drivers check

help:
	@sed -n 's/^# make /make /p' Makefile

classify: $(VENV)/.run
	@$(BIN)/classify "$(IMAGE)"

dev: $(VENV)/.dev

# Tests of packages that `make dev` leaves out are skipped here in CI, too.
quick: $(VENV)/.dev
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target quick-tests lint python-types

quick-tests: export CI :=
quick-tests: $(VENV)/.dev
	env -u MAKEFLAGS $(BIN)/python -m pytest -q --tier quick tests/unit tests/test_tour.py

# The longest first. What several of them need is there before they begin. Three fill two cores, because parts wait, too.
PARTS := test-llvmpipe test-vc4 test-engine test-web test-keras test-android test-training test-softpipe test-virtual-gpu check
test: $(VENV)/.all $(WEB)
	$(BIN)/python scripts/build/test_parts.py --jobs $(JOBS) TIER=test $(PARTS)

REST_PARTS = test-llvmpipe test-vc4 test-android test-keras test-softpipe test-virtual-gpu test-training test-cpus $(OTHER_DEBIAN) \
    test-web test-engine test-arm docs
test-rest: $(VENV)/.all $(WEB)
	$(BIN)/python scripts/build/test_parts.py --jobs $(JOBS) TIER=rest $(REST_PARTS)

test-all: test test-rest

# Faults that a sweep finds become tests. It ends at the first one, or with Ctrl-C.
sweep: $(VENV)/.all
	$(BIN)/python scripts/bench/sweep.py --seed $(SEED)

check: lint types

# Apart from test-keras and test-training: TensorFlow and Mesa's LLVM cannot share a process (glsl_infer/support/llvm_clash.py).
test-engine: $(VENV)/.all
	$(PYTEST) tests/unit tests/importers tests/packaging tests/test_tour.py

# llvmpipe compiles shaders to machine code and runs every test of tests/gl. softpipe interprets shaders; as ES 2.0 a driver
# refuses later features. softpipe and the virtual GPU run the tests that are marked "drivers".
# llvmpipe draws in the thread that asks. Its own threads signal fences that may be freed meanwhile (6 of 66,044 with Mesa 22.3.6
# on two cores), and a signal ended one of 139 runs of 3,000 pictures.
test-drivers: test-llvmpipe test-softpipe

test-llvmpipe test-softpipe: export LIBGL_ALWAYS_SOFTWARE := 1
test-llvmpipe: export LP_NUM_THREADS := 0
test-llvmpipe: $(VENV)/.all
	GALLIUM_DRIVER=llvmpipe $(PYTEST) tests/gl

test-softpipe: $(VENV)/.all
	GALLIUM_DRIVER=softpipe MESA_GLES_VERSION_OVERRIDE=2.0 $(PYTEST) tests/gl --drivers

# The drivers are looked for in VC4_PREFIX, in the cache and in ../shared/vc4. `make test` takes those that it finds. Else
# both versions of Mesa are built into the cache, once, in 10 minutes of CPU time.
vc4-drivers:
	$(if $(filter test,$(TIER)),,scripts/vc4/build.sh)

test-vc4: $(VENV)/.all vc4-drivers
	$(PYTEST) tests/vc4

# Mesa's vc4 driver draws by scripts/vc4/executor; tests/gl/virtual_gpu.py has what fails there, and why.
test-virtual-gpu: $(VENV)/.all vc4-drivers
	@if $(BIN)/python -c "from glsl_infer.tools import videocore; videocore.find()"; then \
		scripts/vc4/run-on-executor $(PYTEST) tests/gl --drivers; \
	else \
		echo "skipped: scripts/vc4/build.sh builds the driver"; test -z "$$CI"; \
	fi

# Tests that compare computed values, as two other CPUs would compute them.
test-cpus: $(VENV)/.all
	$(BIN)/python scripts/build/test_cpus.py

# Its page is built from the sources as they are; Chromium draws with SwiftShader, its own software GPU.
test-web: $(VENV)/.all $(WEB)
	$(PYTEST) tests/web

web: web-url $(WEB)
	cd web && npm run --silent build -- $(foreach folder,$(MODELS),--models "$(abspath $(folder))")
	@echo "ready: http://localhost:$(PORT)"
	@$(PYTHON) -m http.server --bind 127.0.0.1 --directory web/dist $(PORT)

web-url:
	@echo "http://localhost:$(PORT) shows the page when it is built; Ctrl-C ends it"

test-android: $(VENV)/.all web/node_modules/.ready
	$(PYTEST) tests/android

# Debian for armel and armhf, and QEMU, are fetched into the cache, 740 MB, once; nothing is installed.
test-arm: $(VENV)/.all
	$(PYTEST) tests/arm

# STEPS: others than the default ones (python3 scripts/debian_root --help).
test-debian12:
	scripts/system-packages --debian-root
	$(PYTHON) scripts/debian_root 12 $(STEPS)

test-debian13:
	scripts/system-packages --debian-root
	$(PYTHON) scripts/debian_root 13 $(STEPS)

test-keras: $(VENV)/.all
	$(PYTEST) tests/keras

test-training: $(VENV)/.all
	$(PYTEST) tests/training

# Without MODEL the one that android/app/build.gradle names; several are separated by spaces.
apk:
	scripts/system-packages --java
	$(PYTHON) android/build_apk.py $(if $(MODEL),--model $(MODEL)) $(if $(MODELS),--models $(MODELS))

aar:
	scripts/system-packages --java
	$(PYTHON) android/build_aar.py

docs: $(VENV)/.all
	$(BIN)/python scripts/docs/api_reference.py build/api

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/build/lint_shaders.py
	$(BIN)/python scripts/build/lint_prose.py
	$(BIN)/lint-imports --no-logo

python-types: $(VENV)/.dev
	$(BIN)/mypy

types: python-types web/node_modules/.ready
	cd web && npm run --silent types

clean:
	rm -rf $(VENV) build web/node_modules web/tfjs/node_modules web/dist android/build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# What it takes to build the browser's runner.
web/node_modules/.ready: web/package.json web/package-lock.json
	scripts/system-packages --web
	cd web && npm ci --silent --no-audit --no-fund
	@touch $@

# tfjs, which the page compares with: 88 MB, of which 1.6 MB reach a browser that asks for them. The page does without.
web/tfjs/node_modules/.ready: web/tfjs/package.json web/tfjs/package-lock.json web/node_modules/.ready
	@cd web/tfjs && npm ci --silent --no-audit --no-fund && touch node_modules/.ready || echo "npm has no tfjs for us"

# What it takes to run a model.
$(VENV)/.run: pyproject.toml
	scripts/system-packages
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[get]'
	@touch $@

# The engine's own tests, lint and types: pure Python, nothing by apt.
$(VENV)/.dev: pyproject.toml
	@$(PYTHON) -I -c 'import ensurepip, venv' 2>/dev/null || scripts/system-packages
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[dev]'
	@touch $@

# And what it takes to train, export and test.
$(VENV)/.all: pyproject.toml
	scripts/system-packages --test
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[train,get,onnx,tools,camera,test]'
	@touch $@ $(VENV)/.run $(VENV)/.dev
