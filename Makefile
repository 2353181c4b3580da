# `make demo` and `make test` set everything up by themselves: they need Python >= 3.10 and Node >= 20.
.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-all timings checks catalog watch lint types units narrow-tests versions gallery tutorials site lite rehearsal bench clean

PYTHON ?= python3
PY := .venv/bin/python
BIN := .venv/bin

# Tests spend half of their time waiting for browsers and kernels: two processes share two cores well.
WORKERS ?= 2

# Without it two threads of torch become 10 to 100 times slower as soon as something else wants the cores.
export OMP_WAIT_POLICY := passive
# Each kernel and subprocess would compile what has changed since set-up, and each worker the tests.
test test-all timings: export PYTHONDONTWRITEBYTECODE :=
# No test asks a model hub for anything; without a network such a question takes 46 s to fail.
test test-all timings narrow-tests: export HF_HUB_OFFLINE := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

help:  ## What can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup:  ## .venv, node_modules, the built page, Chromium (whatever is missing or out of date)
	@$(PYTHON) scripts/setup.py

build:  ## The page (attn_widget/static) and the wheel (dist/)
	@$(PYTHON) scripts/setup.py builder node page
	@.make/hatchling/bin/hatchling build -t wheel

demo: setup  ## Predictions on the command line, a rendered quickstart, and JupyterLab if there is a screen
	@$(PY) -m scripts.demo

# One core each, most of the time: pyright beside vitest. Older versions of make do not keep the outputs apart.
APART := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

PYTEST := $(PY) -m pytest -n $(WORKERS) --dist loadfile

test: checks  ## What a change needs: linters, types, vitest, quick units, doctests, a browser test of each view
	@echo "[test] pytest, quick cases" && $(PYTEST) --quick

checks: setup  ## All but Python's tests: linters, types, vitest, two at a time
	@$(MAKE) --no-print-directory -j 2 $(APART) types units

catalog: setup  ## js/src/catalog and js/src/figures/catalog from the declarations in attn_widget
	@$(PY) -m scripts.manifest | node js/catalog.mjs
	@$(PY) -m scripts.public_names && $(BIN)/ruff check --quiet --fix attn_widget/features/public.pyi && $(BIN)/ruff format --quiet attn_widget/features/public.pyi

watch: setup  ## The page again at every change in js/; a reloaded notebook shows it
	@npm run --silent watch

lint: setup  ## ruff, Biome, and phrases to avoid
	@echo "[test] ruff" && $(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check .
	@echo "[test] biome" && npm run --silent lint
	@echo "[test] words" && $(PY) -m scripts.words

types: setup  ## tsc and pyright
	@echo "[test] tsc" && npm run --silent check
	@echo "[test] pyright" && $(BIN)/pyright

units: lint  ## vitest, once the linters pass
	@echo "[test] vitest" && npm run --silent test -- --maxWorkers=100%

units_named = $(foreach name,$(1),$(wildcard tests/unit/test_$(name) tests/features/*/test_$(name)))
# Tests of numbers, once more as a processor with AVX2 alone adds them, on one thread: two minutes.
NUMERIC := $(call units_named,bert.py capture.py capture_heads.py classification.py comparison.py \
  comparison_patching.py contributions.py decoders_why.py engine.py gradients_plain.py head_effects.py head_means.py inside.py mixing.py opening.py planted.py \
  pooled_layers.py profile_blocks.py windows.py)
NARROW := ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 OPENBLAS_CORETYPE=Haswell OMP_NUM_THREADS=1

# Hostile calls, messages, files and command lines: two minutes.
FUZZ ?= --calls 1500 --messages 2000 --files 80 --lines 60

# Browsers and kernels leave a core idle now and then: narrow tests and other versions have it, at a lower priority.
test-all: checks  ## Everything: make test, the slow units, every browser test, notebooks, wheel, narrow instructions, other versions, fuzz
	@mkdir -p build; nice -n 10 $(MAKE) --no-print-directory -k narrow-tests versions > build/beside.log 2>&1 & beside=$$!; \
	  trap "kill $$beside" INT TERM; failed=0; \
	  echo "[test] pytest"; $(PYTEST) --timings build/timings.tsv || failed=1; \
	  wait $$beside || failed=1; cat build/beside.log; \
	  $(PY) -m tests.fuzz --fast $(FUZZ) || failed=1; exit $$failed

timings: checks  ## tests/timings.tsv, which chooses the cases of make test: run it on quiet cores
	@$(PYTEST) --timings tests/timings.tsv attn_widget tests/unit tests/features

narrow-tests:  ## The tests of numbers with the instructions of a smaller processor
	@echo "[test] pytest, narrow instructions" && $(NARROW) nice -n 10 $(PY) -m pytest -q -p no:cacheprovider -n 0 $(NUMERIC)

versions: setup  ## Some tests with the lowest and with the newest versions of the dependencies, in environments of their own
	@$(PY) -m scripts.versions

gallery: setup  ## Pictures of every view, light and dark, into build/gallery/
	@$(PY) -m scripts.gallery

tutorials: setup  ## The notebooks as live pages that need no network, into build/tutorials/
	@$(PY) -m scripts.tutorials

site: setup  ## The documentation, the tutorials, a playground and JupyterLite as pages for any host, into build/site/
	@$(PYTHON) scripts/setup.py site lite
	@$(PY) -m scripts.site

lite: setup  ## JupyterLite with a kernel in the browser, into build/site/lite/, and its tests in Chromium
	@$(PYTHON) scripts/setup.py lite
	@$(PY) -m scripts.lite
	@$(PY) -m pytest -n 0 tests/site/test_lite.py

rehearsal: setup  ## A release without the index: wheel and sdist, a local index, install, pictures, upgrade, uninstall
	@$(PY) -m scripts.rehearsal

bench: setup  ## Every benchmark, one after the other
	@for file in $$(grep -l __main__ benchmarks/*.py | grep -v peers_); do name=$$(basename $$file .py); \
	  echo "[bench] $$name"; $(PY) -m benchmarks.$$name || exit 1; done

clean:  ## Forget what was built; .venv and node_modules stay (remove those by hand)
	@rm -rf build dist attn_widget/static .make/page .pytest_cache .ruff_cache .hypothesis
