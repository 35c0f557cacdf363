# One verb a line; everything else is in `tierbench` (see `tierbench --help`).
# Variables are in docs/OPTIONS.md; one that a target does not take is refused.

PYTHON   ?= python3
VENV     := .venv
SITE_VENV := .cache/site-venv
TIERBENCH := $(VENV)/bin/tierbench
PROFILE  ?= premium
PROFILES ?= premium premium-v2 ultra
WORKLOADS ?= point-select insert tpcc
DB       ?= auto
SCALE    ?= laptop
REPEATS  ?=
NODES    ?=
CLIENTS  ?=
PLATFORM ?=
ENFORCEMENT ?=
SEED     ?= 1
LOCKED_PYTHONS := 3.11 3.12 3.13
UNLOCKED ?=
NAME     ?=
FAULTS   ?= 100
INPUTS   ?= 10000
ARGS     ?=
# Each variable with its option of `tierbench`; any other option goes into ARGS="--option value".
options = DB/db PLATFORM/platform ENFORCEMENT/enforcement SCALE/scale SEED/seed NODES/nodes \
  CLIENTS/clients REPEATS/repeats GENERATOR/generator RESULTS/results SLO/slo PRICES/prices \
  MAX_COST/max-cost LATENCY_AT/latency-at SWEEP/sweep VARY/vary GATE_EVERY/gate-every WARMUP/warmup \
  WINDOWS/windows UNTIL/until MAX_REPEATS/max-repeats
flags = DRAIN/drain AA/aa FAIL_IF_WORSE/fail-if-worse YES/yes
# Of a pair such as `DB/db`: the variable, the option, and that with the variable's value, if it has one.
variable = $(firstword $(subst /, ,$(1)))
option = --$(word 2,$(subst /, ,$(1)))
option_with_value = $(if $($(variable)),$(option) "$($(variable))")
flag_if_set = $(if $($(variable)),$(option))
# The options of those variables of the list that have a value, then the flags of those that are set.
options_given = $(foreach pair,$(options),$(if $(filter $(call variable,$(pair)),$(1)),$(call option_with_value,$(pair)))) \
  $(foreach pair,$(flags),$(if $(filter $(call variable,$(pair)),$(1)),$(call flag_if_set,$(pair)))) \
  $(if $(filter SET,$(1)),$(foreach setting,$(SET),--set "$(setting)")) $(ARGS)
with_common = DB PLATFORM ENFORCEMENT SCALE NODES CLIENTS REPEATS SEED RESULTS GENERATOR SLO PRICES MAX_COST LATENCY_AT SWEEP VARY GATE_EVERY DRAIN WARMUP WINDOWS SET
takes-run = PROFILE $(with_common) ARGS
takes-point-select = $(takes-run)
takes-insert = $(takes-run)
takes-tpcc = $(takes-run)
takes-compare = PROFILES WORKLOADS $(with_common) UNTIL MAX_REPEATS AA FAIL_IF_WORSE STRICT ARGS
takes-demo = $(takes-compare)
takes-dry-demo = PROFILES WORKLOADS SCALE REPEATS SEED RESULTS ARGS
takes-report = RESULTS ARGS
takes-resume = DIR RESULTS FAIL_IF_WORSE STRICT ARGS
takes-history = RESULTS ARGS
takes-compare-results = A B RESULTS FAIL_IF_WORSE STRICT ARGS
takes-study = ARGS
takes-study-rehearsal = SEED REPEATS RESULTS FAIL_IF_WORSE STRICT
takes-setup = PLATFORM PROFILE ARGS
takes-calibrate = PROFILE SCALE DRAIN ARGS
takes-doctor = DB PLATFORM PROFILE ARGS
takes-yugabyte-image = TARBALL
takes-clean = YES PLATFORM PROFILE ARGS
takes-bench = NAME ARGS
takes-test = PART
takes-test-slow = PART TURN
takes-test-kubernetes = TURN
takes-soak = FAULTS INPUTS REPEATS
takes-help = $(variables)
variables = $(sort $(takes-run) $(takes-compare) $(takes-clean) $(takes-compare-results) DIR NAME TARBALL PART TURN FAULTS INPUTS ARGS)
goals = $(or $(MAKECMDGOALS),help)
given := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
# How the virtual environment is made, and by which shell: every target takes them.
for-every-target = PYTHON UNLOCKED VENV SHELL
# What tierbench and its tools read of their environment, where make puts all that it is given.
of-the-environment = PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_CERT \
	HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy SSL_CERT_FILE REQUESTS_CA_BUNDLE \
	DOCKER_HOST DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_CONTEXT KUBECONFIG \
	PGSSLMODE PGSSLROOTCERT BENCHBASE_HOME BENCHBASE_IMAGE SYSBENCH_IMAGE \
	TIERBENCH_CACHE TIERBENCH_LEASE_S TIERBENCH_REGISTRY TIERBENCH_RENT_S TIERBENCH_UNPROTECTED
passed = $(for-every-target) $(of-the-environment)
unknown := $(filter-out $(variables) $(passed),$(given))
meant = $(shell $(PYTHON) -c 'import difflib, sys; name, *names = sys.argv[1:]; print(*difflib.get_close_matches(name.upper(), names, n=1, cutoff=0.7))' $(1) $(variables) $(of-the-environment) 2>/dev/null)
did-you-mean = $(if $(1), Did you mean $(1)?)
$(if $(unknown),$(error make knows no variable $(firstword $(unknown)).$(call did-you-mean,$(call meant,$(firstword $(unknown)))) docs/OPTIONS.md lists them))
refused := $(filter-out $(foreach goal,$(goals),$(takes-$(goal))) $(passed),$(given))
$(if $(refused),$(error make $(goals) takes no $(refused): docs/OPTIONS.md has the variables, and `tierbench --help` all options))
# PROFILE and DB have a default for the workloads; other commands are told only what was asked for.
asked = $(if $(filter command environment,$(origin $(1))),$(1))
RUN       = $(TIERBENCH) run --profile $(PROFILE) $(call options_given,$(takes-run))
PIP       = $(VENV)/bin/pip install --quiet --disable-pip-version-check
COMPARE   = $(TIERBENCH) compare $(if $(STRICT),,--accept-inconclusive)
COMPARED  = $(COMPARE) --profiles "$(PROFILES)" --workloads "$(WORKLOADS)" $(call options_given,$(takes-compare))
SHELL_SCRIPTS = .ci/run docker/disk/device docker/hadoop/job docker/hadoop/node docker/postgres/node $$(git ls-files '*.sh')
TEST_PROGRAMS = luacheck luajit sysbench
TEST_PACKAGES = lua-check luajit sysbench
# Processes share what one of them has compiled: those that test, and each command that they start.
unexport PYTHONDONTWRITEBYTECODE
# Two more than there are cores: many tests wait, for a peer that is silent or for the next second.
FAST_TESTS = $(VENV)/bin/pytest -q -m "not docker and not kubernetes and not program and not slow" --numprocesses $(shell expr $$(nproc) + 2) --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help setup test-programs demo dry-demo compare point-select insert tpcc resume report study study-rehearsal calibrate doctor yugabyte-image list test test-slow test-fast soak golden bench check fix lock release clean compare-results history cluster-programs test-kubernetes audit image docs

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /|/' | awk -F'|' '{printf "  make %-16s %s\n", $$1, $$2}'
	@echo "  Variables: PROFILE=$(PROFILE) DB=$(DB) SCALE=$(SCALE) REPEATS= NODES= CLIENTS= SEED=$(SEED)"

# pip compiles on one core, and the tests of pandas and scipy too: half of the time that it took.
$(VENV)/.ready: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: PYTHON=/path/to/python3 make $(MAKECMDGOALS)"; exit 69; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { apt-get update && apt-get install -y --no-install-recommends python3-venv && $(PYTHON) -m venv $(VENV); }
	@version=$$($(VENV)/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	case " $(if $(UNLOCKED),,$(LOCKED_PYTHONS)) " in \
	*" $$version "*) \
	  echo "installing what requirements.lock pins, each file held against its checksum"; \
	  $(PIP) --no-compile --only-binary :all: --require-hashes --requirement requirements.lock \
	  && { $(VENV)/bin/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib/python3* || true; } \
	  && $(PIP) --no-deps --no-build-isolation --editable . \
	  || { echo "A package could not be had, or is not the one that was locked. UNLOCKED=1 make $(MAKECMDGOALS) takes any version that pyproject.toml allows, without checksums." >&2; exit 69; } ;; \
	*) \
	  echo "Not locked (requirements.lock is for Python $(LOCKED_PYTHONS), this is $$version): any version that pyproject.toml allows, without checksums" >&2; \
	  $(PIP) --editable '.[test]' ;; \
	esac
	@touch $@

setup: $(VENV)/.ready ## everything a first campaign needs: venv, Docker engine, images
	@$(TIERBENCH) setup $(if $(call asked,PROFILE),--profile $(PROFILE)) $(call option_with_value,PLATFORM/platform) $(if $(filter setup,$(goals)),$(ARGS))

demo dry-demo: PROFILES = premium premium-v2 ultra
demo dry-demo: SCALE = smoke
# Chosen so that two busy cores answer it in ten minutes: the tiers differ by several times under
# one load that reads and writes, and the SLO lies between them. Windows of 30 s are long enough.
demo: WORKLOADS = tpcc
demo: SLO = $(if $(call asked,WORKLOADS),,nopm > 4000)
demo: NODES = 1
demo: REPEATS = 3
demo: SET = warmup=1s measure=30s
demo: setup ## compare three tiers on this machine in minutes and write a report
	@$(COMPARED)

dry-demo: WORKLOADS = point-select insert
dry-demo: $(VENV)/.ready ## an example of the answer in seconds, without Docker: all figures are made up
	@$(TIERBENCH) rehearse --profiles "$(PROFILES)" --workloads "$(WORKLOADS)" $(call options_given,SCALE SEED REPEATS RESULTS)

compare: setup ## tiers × workloads × repetitions: PROFILES= WORKLOADS= REPEATS= SCALE= UNTIL=decided; in CI FAIL_IF_WORSE=1 STRICT=1
	@$(COMPARED)

point-select: setup ## reads on one tier: PROFILE=premium|premium-v2|ultra
	@$(RUN) --workload point-select

insert: setup ## writes on one tier
	@$(RUN) --workload insert

tpcc: setup ## the TPC-C-derived mix on one tier; GENERATOR=benchbase: by BenchBase
	@$(RUN) --workload tpcc

resume: setup ## go on with a campaign that was ended: DIR=latest
	@$(TIERBENCH) resume $(if $(STRICT),,--accept-inconclusive) $(if $(DIR),"$(DIR)",latest) $(call options_given,FAIL_IF_WORSE RESULTS)

report: $(VENV)/.ready ## show the newest campaign again
	@$(TIERBENCH) report $(call options_given,RESULTS)

history: $(VENV)/.ready ## list the stored campaigns, the newest first
	@$(TIERBENCH) history $(call options_given,RESULTS)

compare-results: $(VENV)/.ready ## one stored campaign against another: A= B=latest
	@$(TIERBENCH) compare-results $(if $(STRICT),,--accept-inconclusive) "$(A)" $(if $(B),"$(B)") $(call options_given,FAIL_IF_WORSE RESULTS)

study: $(VENV)/.ready ## the published study's tables, judged by the rules of any campaign
	@$(TIERBENCH) report results/reference-azure-yugabytedb/published $(ARGS)

study-rehearsal: setup ## the same plan at 0.4 of a node on emulated disks; 40 minutes
	@$(COMPARE) --profiles "$(foreach tier,premium premium-v2 ultra,profiles/study-rehearsal/$(tier).yaml)" \
	  --workloads "point-select-20 insert-20 point-select insert tpcc" --db postgresql --scale rehearsal --nodes 1 \
	  $(call options_given,SEED RESULTS FAIL_IF_WORSE) --repeats $(or $(REPEATS),3)

calibrate: setup ## hold a tier's disk against what it declares, with fio
	@$(TIERBENCH) calibrate --profile $(PROFILE) $(call options_given,SCALE DRAIN)

doctor: $(VENV)/.ready ## what this machine offers and lacks; DB=yugabytedb: its first-run checklist; PROFILE=: on its machines
	@$(TIERBENCH) doctor $(if $(call asked,PROFILE),--profile $(PROFILE)) $(call options_given,PLATFORM $(call asked,DB))

yugabyte-image: setup ## pack a downloaded distribution of YugabyteDB into an image: TARBALL=
	@$(TIERBENCH) admin yugabyte-image "$(TARBALL)"

list: $(VENV)/.ready ## profiles, workloads, databases, load generators
	@$(TIERBENCH) list

test: setup ## the tests, those with real containers or whole programs included; some 14 minutes; PART=docker, PART=program: only these
	@$(if $(PART),,$(FAST_TESTS))
	@$(VENV)/bin/pytest -q -m "($(or $(PART),docker or program)) and not slow and not kubernetes"

test-slow: setup ## the tests that `make test` leaves out, because others hold the same in less time; TURN=: one turn of eleven
	@$(VENV)/bin/pytest -q -m "slow$(if $(PART), and $(PART) and not kubernetes)"$(if $(TURN), --turn $(TURN))

soak: setup ## campaigns that are hit by a fault each, and gone on with: FAULTS=100 REPEATS=2; and INPUTS=10000 damaged texts and folders
	@INPUTS=$(INPUTS) $(VENV)/bin/pytest -q tests/faults/test_bad_inputs.py tests/faults/test_damaged_folders.py
	@$(VENV)/bin/python -m tests.faults.soak $(FAULTS) $(or $(REPEATS),2)

cluster-programs: $(VENV)/.ready ## build the Kubernetes for tests where it is missing, 10 minutes
	@$(VENV)/bin/python -m tests.cluster setup

test-kubernetes: setup cluster-programs ## the tests on a real Kubernetes of this machine; builds it first; TURN=: one turn of its slow ones too
	@$(VENV)/bin/pytest -q -m "kubernetes$(if $(TURN),, and not slow)"$(if $(TURN), --turn $(TURN))

test-fast: $(VENV)/.ready ## tests without Docker or whole programs, on all cores
	@$(FAST_TESTS)

test-programs: ## Debian's programs that checks and tests use, and leave out without; needs root
	@for program in $(TEST_PROGRAMS); do command -v "$$program" >/dev/null || missing=1; done; \
	  [ -z "$$missing" ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $(TEST_PACKAGES) >/dev/null; }

golden: $(VENV)/.ready ## rewrite the golden files of the tests; look at the difference before keeping it
	@UPDATE_GOLDEN=1 $(VENV)/bin/pytest -q $$(grep -rl 'golden\.compare' tests/unit)

bench: setup ## one of the benchmarks, NAME=decisions ARGS="--repeats 3"; without NAME their list
	@$(if $(NAME),$(VENV)/bin/python -m tests.bench.bench_$(NAME) $(ARGS),grep -m1 -H '^"""' tests/bench/bench_*.py | sed 's/.*bench_\(.*\)\.py:"""/  make bench NAME=\1  # /')

check: $(VENV)/.ready ## format, lint and types; shell, Dockerfiles and Lua too; changes nothing
	@$(VENV)/bin/ruff format --check . && $(VENV)/bin/ruff check . && $(VENV)/bin/mypy
	@$(VENV)/bin/shellcheck --severity=warning $(SHELL_SCRIPTS)
	@$(VENV)/bin/hadolint $$(git ls-files '*Dockerfile')
	@if command -v luacheck >/dev/null; then luacheck -q workloads; else echo "Lua is not checked: make test-programs installs luacheck"; fi

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

release: $(VENV)/.ready ## wheel and source archive in dist/, installed in an environment of their own and tried there
	@git diff --quiet HEAD -- || { echo "there are changes that are not committed: a release is what is committed" >&2; exit 64; }
	@rm -rf dist && $(VENV)/bin/hatchling build --target wheel --target sdist --directory dist
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && $(PYTHON) -m venv "$$folder/env" \
	  && "$$folder/env/bin/pip" install --quiet --disable-pip-version-check dist/*.whl \
	  && size=$$(du -sm "$$folder"/env/lib/python*/site-packages | cut -f1) && echo "site-packages: $$size MB" && [ "$$size" -lt 650 ] \
	  && cd "$$folder" && XDG_CACHE_HOME="$$folder/cache" env/bin/tierbench --version \
	  && XDG_CACHE_HOME="$$folder/cache" env/bin/tierbench rehearse --repeats 2 --results results >rehearsal \
	  && ls results/latest/report.html

image: $(VENV)/.ready ## an image of tierbench itself, from the wheel; pushed to TIERBENCH_REGISTRY if that is set
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && cp docker/tierbench/* "$$folder" \
	  && if [ -n "$$PIP_CERT" ]; then cp "$$PIP_CERT" "$$folder/authorities.crt"; fi \
	  && $(VENV)/bin/hatchling build --target wheel --directory "$$folder" \
	  && tag=tierbench/tierbench:$$($(TIERBENCH) --version | cut -d' ' -f2) && docker build --quiet --tag "$$tag" "$$folder" \
	  && if [ -n "$$TIERBENCH_REGISTRY" ]; then docker tag "$$tag" "$$TIERBENCH_REGISTRY/$$tag" && docker push "$$TIERBENCH_REGISTRY/$$tag"; fi \
	  && echo "built $$tag"

$(SITE_VENV)/.ready: docs/requirements.lock
	@$(PYTHON) -m venv $(SITE_VENV)
	@$(SITE_VENV)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes --requirement $<
	@touch $@

docs: $(SITE_VENV)/.ready ## the documents as a site in .cache/site; a link that leads nowhere fails it
	@NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/mkdocs build --strict
	@echo ".cache/site/index.html"

audit: $(VENV)/.ready ## without network: is all that is installed as it is pinned, and what are the images made of
	@$(VENV)/bin/python -m tests.audit

clean: $(VENV)/.ready ## remove leftovers in Docker and kept data sets; results stay; PROFILE=: on its machines; YES=1: unasked
	@$(TIERBENCH) clean $(if $(call asked,PROFILE),--profile $(PROFILE)) $(call options_given,YES PLATFORM)
