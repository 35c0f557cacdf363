# One verb a line; everything else is in `tierbench` (see `tierbench --help`).
# Variables are in docs/OPTIONS.md; one that a target does not take is refused.

PYTHON   ?= python3
VENV     := .venv
SITE_VENV := .cache/site-venv
TIERBENCH := $(VENV)/bin/tierbench
LOCKED_PYTHONS := 3.11 3.12 3.13
FAULTS   ?= 100
INPUTS   ?= 10000
PIP      := $(VENV)/bin/pip install --quiet --disable-pip-version-check
goals    := $(or $(MAKECMDGOALS),help)
given    := $(strip $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name))))
# Which variables a target takes, and what it starts, stands there: a misspelt one is refused.
TARGETS  := $(PYTHON) orchestrator/cli/make_targets.py
refusal  := $(shell $(TARGETS) check --goals "$(goals)" --given "$(given)")
$(if $(refusal),$(error $(refusal)))
# The command of the target. It is told what stands behind make; a dry run prints it.
START    = +@$(TARGETS) start --goals "$(goals)" --given "$(given)" $(TIERBENCH) $@
SHELL_SCRIPTS = .ci/run docker/disk/device docker/hadoop/job docker/hadoop/node docker/postgres/node \
  $$(git ls-files '*.sh')
TEST_PROGRAMS = luacheck luajit sysbench
TEST_PACKAGES = lua-check luajit sysbench
# Processes share what one of them has compiled: those that test, and each command that they start.
unexport PYTHONDONTWRITEBYTECODE
# Two more than there are cores: many tests wait, for a peer that is silent or for the next second.
# Fast tests are not repeated and read no log. Without both plugins an empty one takes a quarter less.
FAST_TESTS = $(VENV)/bin/pytest -q -m "not docker and not kubernetes and not program and not slow" \
  --numprocesses $(shell expr $$(nproc) + 2) --dist worksteal -p no:rerunfailures -p no:logging

.DEFAULT_GOAL := help
.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^# -+ / {sub(/^# -+ /, "\n"); print} /^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' Makefile
	@printf '\nVariables: PROFILE=premium DB=auto SCALE=laptop REPEATS= NODES= CLIENTS= SEED=1; docs/OPTIONS.md has all\n'

# pip compiles on one core, and the tests of pandas and scipy too: half of the time that it took.
$(VENV)/.ready: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed: PYTHON=/path/to/python3 make $(MAKECMDGOALS)"; exit 69; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null \
	  || { apt-get update && apt-get install -y --no-install-recommends python3-venv && $(PYTHON) -m venv $(VENV); }
	@version=$$($(VENV)/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	case " $(if $(UNLOCKED),,$(LOCKED_PYTHONS)) " in \
	*" $$version "*) \
	  echo "installing what requirements.lock pins, each file held against its checksum"; \
	  $(PIP) --no-compile --only-binary :all: --require-hashes --requirement requirements.lock \
	  && { $(VENV)/bin/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib/python3* || true; } \
	  && $(PIP) --no-deps --no-build-isolation --editable . \
	  || { echo "A package could not be had, or is not the one that was locked. UNLOCKED=1 make $(MAKECMDGOALS)" \
	    "takes any version that pyproject.toml allows, without checksums." >&2; exit 69; } ;; \
	*) \
	  echo "Not locked (requirements.lock is for Python $(LOCKED_PYTHONS), this is $$version):" \
	    "any version that pyproject.toml allows, without checksums" >&2; \
	  $(PIP) --editable '.[test]' ;; \
	esac
	@touch $@

$(SITE_VENV)/.ready: docs/requirements.lock
	@$(PYTHON) -m venv $(SITE_VENV)
	@$(SITE_VENV)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes --requirement $<
	@touch $@

# ---------------------------------------------------------------- Measure
.PHONY: setup demo dry-demo compare point-select insert tpcc resume study-rehearsal

setup: $(VENV)/.ready ## everything a first campaign needs: venv, Docker engine, images
	$(START)

demo: setup ## compare three tiers on this machine in minutes and write a report
	$(START)

dry-demo: $(VENV)/.ready ## an example of the answer in seconds, without Docker: all figures are made up
	$(START)

compare: setup ## tiers × workloads × repetitions: PROFILES= WORKLOADS= REPEATS= UNTIL=decided; in CI FAIL_IF_WORSE=1
	$(START)

point-select: setup ## reads on one tier: PROFILE=premium|premium-v2|ultra
	$(START)

insert: setup ## writes on one tier
	$(START)

tpcc: setup ## the TPC-C-derived mix on one tier; GENERATOR=benchbase: by BenchBase
	$(START)

resume: setup ## go on with a campaign that was ended: DIR=latest
	$(START)

study-rehearsal: setup ## the same plan at 0.4 of a node on emulated disks; 40 minutes
	$(START)

# ---------------------------------------------------------------- Read what was measured
.PHONY: report history compare-results study

report: $(VENV)/.ready ## show the newest campaign again
	$(START)

history: $(VENV)/.ready ## list the stored campaigns, the newest first
	$(START)

compare-results: $(VENV)/.ready ## one stored campaign against another: A= B=latest
	$(START)

study: $(VENV)/.ready ## the published study's tables, judged by the rules of any campaign
	$(START)

# ---------------------------------------------------------------- Look at this machine
.PHONY: doctor list calibrate yugabyte-image clean

doctor: $(VENV)/.ready ## what this machine offers and lacks; DB=yugabytedb: the first-run checklist; PROFILE=: its machines
	$(START)

list: $(VENV)/.ready ## profiles, workloads, databases, load generators
	$(START)

calibrate: setup ## hold a tier's disk against what it declares, with fio
	$(START)

yugabyte-image: setup ## pack a downloaded distribution of YugabyteDB into an image: TARBALL=
	$(START)

clean: $(VENV)/.ready ## remove leftovers and kept data sets; results stay; PROFILE=: on its machines; YES=1: unasked
	$(START)

# ---------------------------------------------------------------- Test tierbench
.PHONY: test test-fast test-slow test-kubernetes soak golden bench test-programs cluster-programs

test: setup ## the tests, with containers and whole programs; 14 minutes; PART=docker, PART=program: only these
	@$(if $(PART),,$(FAST_TESTS))
	@$(VENV)/bin/pytest -q -m "($(or $(PART),docker or program)) and not slow and not kubernetes"

test-fast: $(VENV)/.ready ## tests without Docker or whole programs, on all cores
	@$(FAST_TESTS)

test-slow: setup ## the tests that `make test` leaves out, as others hold the same sooner; TURN=: one of eleven turns
	@$(VENV)/bin/pytest -q -m "slow$(if $(PART), and $(PART) and not kubernetes)"$(if $(TURN), --turn $(TURN))

test-kubernetes: setup cluster-programs ## those on a real Kubernetes of this machine, built first; TURN=: its slow ones of a turn too
	@$(VENV)/bin/pytest -q -m "kubernetes$(if $(TURN),, and not slow)"$(if $(TURN), --turn $(TURN))

soak: setup ## campaigns that are hit by a fault each: FAULTS=100 REPEATS=2; INPUTS=10000 damaged texts and folders
	@INPUTS=$(INPUTS) $(VENV)/bin/pytest -q tests/faults/test_bad_inputs.py tests/faults/test_damaged_folders.py
	@$(VENV)/bin/python -m tests.faults.soak $(FAULTS) $(or $(REPEATS),2)

golden: $(VENV)/.ready ## rewrite the golden files of the tests; read the difference before keeping it
	@UPDATE_GOLDEN=1 $(VENV)/bin/pytest -q $$(grep -rl 'golden\.compare' tests/unit)

bench: setup ## one of the benchmarks, NAME=decisions ARGS="--repeats 3"; without NAME their list
	@$(if $(NAME),$(VENV)/bin/python -m tests.bench.bench_$(NAME) $(ARGS),\
	  grep -m1 -H '^"""' tests/bench/bench_*.py | sed 's/.*bench_\(.*\)\.py:"""/  make bench NAME=\1  # /')

test-programs: ## Debian's programs that checks and tests use, and leave out without; needs root
	@for program in $(TEST_PROGRAMS); do command -v "$$program" >/dev/null || missing=1; done; \
	  [ -z "$$missing" ] \
	  || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(TEST_PACKAGES) >/dev/null; }

cluster-programs: $(VENV)/.ready ## build the Kubernetes for tests where it is missing, 10 minutes
	@$(VENV)/bin/python -m tests.cluster setup

# ---------------------------------------------------------------- Change and release it
.PHONY: check fix lock audit docs image release

check: $(VENV)/.ready ## format, lint and types; shell, Dockerfiles and Lua too; changes nothing
	@$(VENV)/bin/ruff format --check . && $(VENV)/bin/ruff check . && $(VENV)/bin/mypy
	@$(VENV)/bin/shellcheck --severity=warning $(SHELL_SCRIPTS)
	@$(VENV)/bin/hadolint $$(git ls-files '*Dockerfile')
	@if command -v luacheck >/dev/null; then luacheck -q workloads; \
	  else echo "Lua is not checked: make test-programs installs luacheck"; fi

fix: $(VENV)/.ready ## format and mend what can be mended
	@$(VENV)/bin/ruff format . && $(VENV)/bin/ruff check --fix .

lock: $(VENV)/.ready ## pin the newest versions that pyproject.toml allows, with checksums
	$(PIP) --editable '.[lock]'
	$(VENV)/bin/uv pip compile pyproject.toml --extra test --extra build --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-index-url --quiet --custom-compile-command "make lock" --output-file requirements.lock
	$(VENV)/bin/uv pip compile pyproject.toml --extra charts --extra kubernetes --constraint requirements.lock \
	  --python-version 3.13 --python-platform linux --generate-hashes --no-emit-index-url --no-annotate --quiet \
	  --custom-compile-command "make lock" --output-file docker/tierbench/requirements.lock
	$(VENV)/bin/uv pip compile --group docs --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-index-url --quiet --custom-compile-command "make lock" --output-file docs/requirements.lock

audit: $(VENV)/.ready ## is all that is installed as it is pinned, and what are the images made of
	@$(VENV)/bin/python -m tests.audit

docs: $(SITE_VENV)/.ready ## the documents as a site in .cache/site; a link that leads nowhere fails it
	@NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --strict
	@echo ".cache/site/index.html"

image: $(VENV)/.ready ## an image of tierbench itself, from the wheel; pushed to TIERBENCH_REGISTRY if set
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && cp docker/tierbench/* "$$folder" \
	  && if [ -n "$$PIP_CERT" ]; then cp "$$PIP_CERT" "$$folder/authorities.crt"; fi \
	  && $(VENV)/bin/hatchling build --target wheel --directory "$$folder" \
	  && tag=tierbench/tierbench:$$($(TIERBENCH) --version | cut -d' ' -f2) && docker build --quiet --tag "$$tag" "$$folder" \
	  && if [ -n "$$TIERBENCH_REGISTRY" ]; then \
	    docker tag "$$tag" "$$TIERBENCH_REGISTRY/$$tag" && docker push "$$TIERBENCH_REGISTRY/$$tag"; fi \
	  && echo "built $$tag"

release: $(VENV)/.ready ## wheel and source archive in dist/, installed and tried in an environment of their own
	@git diff --quiet HEAD -- \
	  || { echo "there are changes that are not committed: a release is what is committed" >&2; exit 64; }
	@rm -rf dist && $(VENV)/bin/hatchling build --target wheel --target sdist --directory dist
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && $(PYTHON) -m venv "$$folder/env" \
	  && "$$folder/env/bin/pip" install --quiet --disable-pip-version-check dist/*.whl \
	  && size=$$(du -sm "$$folder"/env/lib/python*/site-packages | cut -f1) \
	  && echo "site-packages: $$size MB" && [ "$$size" -lt 650 ] \
	  && cd "$$folder" && XDG_CACHE_HOME="$$folder/cache" env/bin/tierbench --version \
	  && XDG_CACHE_HOME="$$folder/cache" env/bin/tierbench rehearse --repeats 2 --results results >rehearsal \
	  && ls results/latest/report.html
