# The few commands of a checkout. `make help` lists them; everything lives in .venv and var.
.DEFAULT_GOAL := help
SHELL := /bin/sh
.SUFFIXES:

# First of these that is 3.11 or newer; override with PYTHON=/path/to/python.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
ML ?= 1
TORCH_INDEX ?=
RUN_STAMP := .venv/stamp-run$(if $(filter 0,$(ML)),,-ml)
DEV_STAMP := .venv/stamp-dev
SLOW_STAMP := .venv/stamp-dev$(if $(filter 0,$(ML)),,-ml)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
COMMA := ,
# Installs with the first extras, or the second requirement where there is no torch wheel for this system.
with_torch = $(PIP) $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)") -e '.[$(1)]' || \
	{ echo 'torch could not be installed; going on without it (ML=0 skips the attempt).'; $(PIP) -e '$(2)'; }
# Values that let tools import the settings; they reach no server.
FAKE_ENV := SYNTH_HOME=var BEHIND_TLS=1 DATABASE_URL=postgres://synth@127.0.0.1:1/synth REDIS_URL=redis://127.0.0.1:1/0 \
	SECRET_KEY=only-for-the-checks-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEF \
	GIFT_CODE_KEY=b25seS1mb3ItdGhlLWNoZWNrcy1vbmx5LWZvci1jaGs= \
	FIELD_KEY=b25seS1mb3ItdGhlLWNoZWNrcy1vbmx5LWZvci1jaGs=

.PHONY: help run test test-slow check bench

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20
	@echo '  ML=0 leaves torch out; TORCH_INDEX=URL is a further package index; PYTHON=... picks the interpreter;'
	@echo '  PORT, BIND and SYNTH_HOME are read by make run.'

run: $(RUN_STAMP) ## Install if needed, then start everything until Ctrl-C
	@exec $(BIN)/python manage.py up

test: $(DEV_STAMP) ## Quick tests, none of which needs torch
	$(BIN)/python -m pytest -q -m "not slow and not alone and not torch" -n 2 $(ARGS)

# Both parts run though one fails; 5: none of the tests in ARGS is of that part.
test-slow: $(SLOW_STAMP) ## Million rows, kill matrices, process trees, browser, local models
	@failed=; \
	part() { echo "== pytest -m '$$1'"; $(BIN)/python -m pytest -q -m "$$@" $(ARGS) || [ $$? = 5 ] || failed=1; }; \
	part "(slow or torch) and not alone" -n 2 --dist loadfile; \
	part alone; \
	[ -z "$$failed" ]

bench: $(SLOW_STAMP) ## Measure, with the peers each benchmark names; GGUF=FILE adds a language model
	$(BIN)/python -m bench.run $(ARGS)

check: $(DEV_STAMP) ## Style, types, import rules, migrations, deployment checks, API snapshot; all, then the verdict
	@failed=; \
	step() { echo "== $$*"; env $(FAKE_ENV) "$$@" || failed="$$failed\n  $$*"; }; \
	step $(BIN)/ruff check .; \
	step $(BIN)/ruff format --check .; \
	step $(BIN)/mypy .; \
	step $(BIN)/lint-imports; \
	step env PYTHONWARNINGS=ignore::RuntimeWarning $(BIN)/python manage.py makemigrations --check --dry-run; \
	step $(BIN)/python manage.py check --deploy --fail-level WARNING; \
	step $(BIN)/python manage.py spectacular --validate --fail-on-warn --file .venv/openapi.yaml; \
	step diff -u docs/openapi.yaml .venv/openapi.yaml; \
	if [ -n "$$failed" ]; then printf "failed:$$failed\n"; exit 1; fi; echo "check: all fine"

.venv/stamp-venv:
	@case "$$(uname -s)" in Linux|Darwin) ;; *) echo 'Synth runs on Linux and macOS; on Windows use WSL2.'; exit 1;; esac
	@[ -n "$(PYTHON)" ] || { echo 'Python 3.11 or newer is needed: install python3 (and python3-venv on Debian).'; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo 'This Python cannot make environments: install python3-venv (Debian, Ubuntu) or python3-pip.'; exit 1; }
	"$(PYTHON)" -m venv .venv
	@touch $@

.venv/stamp-run: .venv/stamp-venv pyproject.toml
	$(PIP) -e .
	@touch $@

# Without a torch wheel for this system the rest still runs; `up` says that the torch worker is missing.
.venv/stamp-run-ml: .venv/stamp-venv pyproject.toml
	$(call with_torch,ml,.)
	@touch $@

.venv/stamp-dev: .venv/stamp-venv pyproject.toml
	$(PIP) -e '.[dev]'
	@touch $@

.venv/stamp-dev-ml: .venv/stamp-dev
	$(call with_torch,dev$(COMMA)ml,.[dev])
	@touch $@
