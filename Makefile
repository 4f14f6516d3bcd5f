# make classify IMAGE=photo.jpg   all set-up, then the five most probable labels
# make test                       all set-up, then the whole test suite, three parts at a time (JOBS=1: one)
# make quick                      lint, types and the unit tests that take no seconds each: less than 2 minutes
# make test-drivers               its part that draws, on each of Mesa's software drivers
# make test-vc4                   its part on the VideoCore IV's compiler, which is built if it is not there
# make test-virtual-gpu           its part that draws, on a virtual VideoCore IV
# make test-web                   its part on the browser runner, in Chromium
# make web [MODELS=FOLDER]        builds the browser's library and demo page, with what is in FOLDER, and serves it on localhost:8000
# make test-android               its part in Java: the runner, the APK, the app on a faked Android
# make test-arm                   its part on the emulated CPUs of a Raspberry Pi Zero and 2, with Debian's packages
# make test-debian13              README, a Raspberry Pi's pages and quick in a folder with Debian 13; also test-debian12
# make apk [MODEL=...] [MODELS=FOLDER]  android/build/glsl-infer-demo.apk, with that model inside, else grocery-x22-257, and tasks
# make aar                        android/build/glsl-infer.aar: the runner as a library for other apps
# make docs                       the API reference from the docstrings: build/api/index.html
# make lint types                 ruff, the rooms' imports, mypy and TypeScript's compiler
# make clean                      remove .venv and caches

PYTHON ?= python3
IMAGE ?= docs/images/example.jpg
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
PORT ?= 8000
# Unset where no login was, as in some services; the scripts need it.
export HOME ?= $(shell $(PYTHON) -c 'import os; print(os.path.expanduser("~"))')
JOBS ?= 3

.PHONY: classify web apk aar test quick test-engine test-drivers test-llvmpipe test-softpipe test-vc4 test-virtual-gpu test-web test-android test-arm test-keras test-training test-debian12 test-debian13 docs lint types clean

classify: $(VENV)/.run
	@$(BIN)/classify "$(IMAGE)"

# The longest first. What several of them need is there before they begin. Three fill two cores: parts wait, too.
PARTS := test-llvmpipe test-training test-keras test-android test-web test-vc4 test-virtual-gpu test-engine test-softpipe test-arm
test: $(VENV)/.all web/node_modules/.ready web/tfjs/node_modules/.ready
	$(BIN)/python scripts/test_parts.py --jobs $(JOBS) $(PARTS)

quick: lint types
	$(BIN)/python -m pytest -q -m "not slow" tests/unit tests/test_tour.py

# Apart from test-keras and test-training: TensorFlow and Mesa's LLVM cannot share a process (glsl_infer/support/llvm_clash.py).
test-engine: $(VENV)/.all
	$(BIN)/python -m pytest tests/unit tests/importers tests/packaging tests/test_tour.py

# llvmpipe compiles shaders to machine code, softpipe interprets them; as ES 2.0 a driver refuses what came after it.
# What is marked "once" is about something else than drawing.
# llvmpipe draws in the thread that asks. Its own threads signal fences that may be freed meanwhile (6 of 66,044 with Mesa 22.3.6
# on two cores), and a signal ended one of 139 runs of 3,000 pictures.
test-drivers: test-llvmpipe test-softpipe

test-llvmpipe test-softpipe: export LIBGL_ALWAYS_SOFTWARE := 1
test-llvmpipe: export LP_NUM_THREADS := 0
test-llvmpipe: $(VENV)/.all
	GALLIUM_DRIVER=llvmpipe $(BIN)/python -m pytest tests/gl

test-softpipe: $(VENV)/.all
	GALLIUM_DRIVER=softpipe MESA_GLES_VERSION_OVERRIDE=2.0 $(BIN)/python -m pytest tests/gl -m "not once"

# The driver is looked for in VC4_PREFIX, in the cache and in ../shared/vc4, then built into the cache: 10 minutes, once.
test-vc4: $(VENV)/.all
	$(BIN)/python -c "import glsl_infer.tools.videocore; glsl_infer.tools.videocore.find()" 2>/dev/null || scripts/vc4/build.sh
	$(BIN)/python -m pytest tests/vc4

# Mesa's vc4 driver draws by scripts/vc4/executor; tests/gl/virtual_gpu.py has what fails there, and why.
test-virtual-gpu: $(VENV)/.all
	$(BIN)/python -c "import glsl_infer.tools.videocore; glsl_infer.tools.videocore.find()" 2>/dev/null || scripts/vc4/build.sh
	scripts/vc4/run-on-executor $(BIN)/python -m pytest tests/gl -m "not once"

# Its page is built from the sources as they are; Chromium draws with SwiftShader, its own software GPU.
test-web: $(VENV)/.all web/node_modules/.ready web/tfjs/node_modules/.ready
	$(BIN)/python -m pytest tests/web

web: web/node_modules/.ready web/tfjs/node_modules/.ready
	cd web && npm run --silent build -- $(foreach folder,$(MODELS),--models "$(abspath $(folder))")
	@echo "http://localhost:$(PORT) -- Ctrl-C ends it"
	@$(PYTHON) -m http.server --bind 127.0.0.1 --directory web/dist $(PORT)

test-android: $(VENV)/.all web/node_modules/.ready
	$(BIN)/python -m pytest tests/android

# Debian for armel and armhf, and QEMU, are fetched into the cache, 740 MB, once; nothing is installed.
test-arm: $(VENV)/.all
	$(BIN)/python -m pytest tests/arm

# STEPS: others than the default ones (python3 scripts/debian_root --help).
test-debian12:
	scripts/system-packages --debian-root
	$(PYTHON) scripts/debian_root 12 $(STEPS)

test-debian13:
	scripts/system-packages --debian-root
	$(PYTHON) scripts/debian_root 13 $(STEPS)

test-keras: $(VENV)/.all
	$(BIN)/python -m pytest tests/keras

test-training: $(VENV)/.all
	$(BIN)/python -m pytest tests/training

# Without MODEL the one that android/app/build.gradle names; several are separated by spaces.
apk:
	scripts/system-packages --java
	$(PYTHON) android/build_apk.py $(if $(MODEL),--model $(MODEL)) $(if $(MODELS),--models $(MODELS))

aar:
	scripts/system-packages --java
	$(PYTHON) android/build_aar.py

docs: $(VENV)/.all
	$(BIN)/python scripts/api_reference.py build/api

lint: $(VENV)/.all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: $(VENV)/.all web/node_modules/.ready
	$(BIN)/mypy
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
	$(PIP) install --quiet --editable .
	@touch $@

# And what it takes to train, export and test.
$(VENV)/.all: pyproject.toml
	scripts/system-packages --test
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --editable '.[train,tflite,onnx,tools,memory,camera,dev]'
	@touch $@ $(VENV)/.run
