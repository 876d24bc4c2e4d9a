# Everything a newcomer or CI runs. Each target sets up the environment it needs and does nothing twice:
# the stamp file in an environment is older than its lock or pyproject.toml only when it must be redone.

VENV ?= .venv
BENCH_VENV ?= .venv-bench
STUDIO_VENV ?= .venv-label-studio
SPACY_VENV ?= .venv-spacy

# The first of these that is a supported Python; `make PYTHON=/path/to/python3.12 …` overrides it.
SUPPORTED = import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c '$(SUPPORTED)' >/dev/null 2>&1 && echo "$$p" && break; done)

PIP_INSTALL = -m pip --disable-pip-version-check -qq install
# One more than there are cores here: tests wait for servers, browsers and killed programs now and then.
PYTEST_ARGS ?= -n 3 --dist worksteal
HYPOTHESIS_PROFILE ?= ci
BENCH_ARGS ?=
BRIDGES = -o addopts="-ra --import-mode=importlib --doctest-modules"
FUZZ_ARGS ?= --cases 50000
DEMO_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-bridges fuzz lint format bench docs package newcomer clean clean-all env env-docs

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed  ## one example of every kind of output, learned from generated data; write a report
	@$(VENV)/bin/accord demo $(DEMO_ARGS)

# Numba's first level of optimisation: test data are small, and compiling is a third of a first run. Results are the
# same; `make test-all` compiles as users do.
test: $(VENV)/.installed  ## run the tests (those on real data only where ACCORD_DATA names a data folder)
	@NUMBA_OPT=$${NUMBA_OPT:-1} HYPOTHESIS_PROFILE=$(HYPOTHESIS_PROFILE) $(VENV)/bin/python -m pytest $(PYTEST_ARGS)

test-all: $(VENV)/.installed  ## all tests, also those that take minutes
	@HYPOTHESIS_PROFILE=default $(VENV)/bin/python -m pytest $(PYTEST_ARGS) -m ""

test-bridges: $(VENV)/.installed $(STUDIO_VENV)/.installed $(SPACY_VENV)/.installed  ## the real Label Studio and spaCy
	@$(SPACY_VENV)/bin/python -m pytest $(BRIDGES) tests/bridges/test_spacy.py src/accord/labeling/bridges/spacy_component.py
	@LABEL_STUDIO=$(abspath $(STUDIO_VENV))/bin/label-studio \
		$(VENV)/bin/python -m pytest $(BRIDGES) tests/bridges/test_label_studio.py

fuzz: $(VENV)/.installed  ## use 50,000 damaged files; takes four minutes on two idle cores
	@$(VENV)/bin/python tests/fuzz/fuzzing.py $(FUZZ_ARGS)

lint: $(VENV)/.installed  ## ruff, mypy and the import contracts
	@$(VENV)/bin/ruff check -q src tests benchmarks docs
	@$(VENV)/bin/ruff format -q --diff src tests benchmarks docs
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-logo

format: $(VENV)/.installed  ## let ruff rewrite the source
	@$(VENV)/bin/ruff check -q --fix src tests benchmarks docs
	@$(VENV)/bin/ruff format src tests benchmarks docs

bench: $(BENCH_VENV)/.installed  ## measure Accord against other tools; needs a data folder in ACCORD_DATA
	@$(BENCH_VENV)/bin/python benchmarks/run.py $(BENCH_ARGS)

docs: $(VENV)/.docs-installed  ## build the site in build/docs: run the gallery, check all links and what is hard to read
	@rm -rf build/docs docs/api docs/auto_gallery
	@$(VENV)/bin/python -m sphinx -q -W --keep-going -j 2 -d build/doctrees -b html docs build/docs
	@$(VENV)/bin/python docs/looks.py build/docs
	@echo "the site is built; start at build/docs/index.html"

package: $(VENV)/.docs-installed  ## build wheel and sdist in dist, and try them in an empty environment
	@.ci/package $(VENV)/bin/python

newcomer: package  ## follow the tutorials with the built wheel, each from nothing and by the clock
	@$(VENV)/bin/python docs/newcomer.py dist/*.whl

env: $(VENV)/.installed  ## only set up the environment

env-docs: $(VENV)/.docs-installed

clean:  ## remove what was built and all caches
	@rm -rf build dist docs/api docs/auto_gallery .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache .numba_cache
	@find src tests benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

clean-all: clean  ## remove the environments too
	@rm -rf .venv .venv-* src/*.egg-info

# $(1): the environment. Made anew when its interpreter is gone (a moved folder, an uninstalled Python).
define make-environment
	@if [ -z "$(PYTHON)" ] || ! "$(PYTHON)" -c '$(SUPPORTED)' 2>/dev/null; then \
		echo "Accord needs Python 3.11, 3.12, 3.13 or 3.14$(if $(PYTHON),; $(PYTHON) is not one,, and none is on the PATH)." >&2; \
		echo "Install one, or name it: make PYTHON=/path/to/python3.12" >&2; exit 1; fi
	@echo "Setting up $(1) with $$("$(PYTHON)" -V) (once; this takes a minute or two) ..."
	@$(1)/bin/python -c '' 2>/dev/null || "$(PYTHON)" -m venv --clear $(1)
endef

$(VENV)/.installed: requirements.lock pyproject.toml
	$(call make-environment,$(VENV))
	@$(VENV)/bin/python $(PIP_INSTALL) --no-deps -r requirements.lock
	@$(VENV)/bin/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# What the documentation needs beside, of the same versions as far as both have it.
$(VENV)/.docs-installed: $(VENV)/.installed locks/docs.lock
	@$(VENV)/bin/python $(PIP_INSTALL) --no-deps -r locks/docs.lock
	@touch $@

# Label Studio has versions of its own of nearly everything, and runs as a program of its own.
$(STUDIO_VENV)/.installed: locks/label-studio.lock
	$(call make-environment,$(STUDIO_VENV))
	@$(STUDIO_VENV)/bin/python $(PIP_INSTALL) --no-deps -r locks/label-studio.lock
	@touch $@

$(SPACY_VENV)/.installed: requirements.lock locks/spacy.lock pyproject.toml
	$(call make-environment,$(SPACY_VENV))
	@$(SPACY_VENV)/bin/python $(PIP_INSTALL) --no-deps -r requirements.lock
	@$(SPACY_VENV)/bin/python $(PIP_INSTALL) --no-deps -r locks/spacy.lock
	@$(SPACY_VENV)/bin/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# The peers are resolved with their dependencies, because torch needs more packages in its GPU builds.
$(BENCH_VENV)/.installed: requirements.lock benchmarks/requirements-peers.lock pyproject.toml
	$(call make-environment,$(BENCH_VENV))
	@$(BENCH_VENV)/bin/python $(PIP_INSTALL) --no-deps -r requirements.lock
	@$(BENCH_VENV)/bin/python $(PIP_INSTALL) -r benchmarks/requirements-peers.lock
	@$(BENCH_VENV)/bin/python $(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@
