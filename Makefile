# One verb a line; everything else is in `tierbench` (see `tierbench --help`).
# Variables are in docs/OPTIONS.md; one that a target does not take is refused.

PYTHON   ?= python3
VENV     := .venv
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
COMMON    = --db $(DB) $(if $(PLATFORM),--platform $(PLATFORM)) $(if $(ENFORCEMENT),--enforcement $(ENFORCEMENT)) --scale $(SCALE) --seed $(SEED) $(if $(NODES),--nodes $(NODES)) $(if $(CLIENTS),--clients $(CLIENTS)) $(if $(GENERATOR),--generator $(GENERATOR)) $(if $(RESULTS),--results "$(RESULTS)") $(if $(SLO),--slo "$(SLO)") $(if $(PRICES),--prices "$(PRICES)") $(if $(MAX_COST),--max-cost "$(MAX_COST)") $(if $(LATENCY_AT),--latency-at "$(LATENCY_AT)") $(if $(SWEEP),--sweep "$(SWEEP)") $(if $(GATE_EVERY),--gate-every $(GATE_EVERY)) $(if $(DRAIN),--drain) $(if $(WARMUP),--warmup $(WARMUP)) $(if $(WINDOWS),--windows $(WINDOWS)) $(foreach one,$(SET),--set "$(one)")
with_common = DB PLATFORM ENFORCEMENT SCALE NODES CLIENTS REPEATS SEED RESULTS GENERATOR SLO PRICES MAX_COST LATENCY_AT SWEEP GATE_EVERY DRAIN WARMUP WINDOWS SET
takes-run = PROFILE $(with_common)
takes-point-select = $(takes-run)
takes-insert = $(takes-run)
takes-tpcc = $(takes-run)
takes-compare = PROFILES WORKLOADS $(with_common) UNTIL MAX_REPEATS AA FAIL_IF_WORSE STRICT
takes-demo = $(takes-compare)
takes-dry-demo = PROFILES WORKLOADS SCALE REPEATS SEED RESULTS
takes-report = RESULTS
takes-history = RESULTS
takes-compare-results = A B RESULTS FAIL_IF_WORSE STRICT
takes-study = RESULTS
takes-study-rehearsal = SEED REPEATS RESULTS FAIL_IF_WORSE STRICT
takes-setup = PLATFORM PROFILE
takes-calibrate = PROFILE SCALE DRAIN
takes-doctor = DB PLATFORM PROFILE
takes-yugabyte-image = TARBALL
takes-clean = YES PLATFORM PROFILE
takes-bench-tiers = REPEATS ROWS
takes-bench-tpcc = REPEATS
takes-bench-sysbench = REPEATS
takes-bench-decisions = REPEATS
takes-bench-loads = REPEATS
takes-bench-arrivals = REPEATS
takes-bench-blocks = REPEATS
takes-bench-until = REPEATS
takes-bench-platforms = REPEATS
takes-bench-history = REPEATS
takes-bench-client = REPEATS
takes-bench-scale = NODES CLIENTS TRANSACTIONS HOURS
takes-bench-judging = NODES HOURS REPEATS
takes-bench-benchbase = TRANSACTIONS
takes-bench-compare = SCALE REPEATS
takes-help = $(variables)
variables = $(sort $(takes-run) $(takes-compare) $(takes-clean) $(takes-compare-results) TARBALL ROWS TRANSACTIONS HOURS)
goals = $(or $(MAKECMDGOALS),help)
given := $(foreach one,$(variables),$(if $(filter command,$(origin $(one))),$(one)))
refused := $(filter-out $(foreach goal,$(goals),$(takes-$(goal))),$(given))
$(if $(refused),$(error make $(goals) takes no $(refused): docs/OPTIONS.md has the variables, and `tierbench --help` all options))
RUN       = $(TIERBENCH) run --profile $(PROFILE) $(COMMON) $(if $(REPEATS),--repeats $(REPEATS))
PIP       = $(VENV)/bin/pip install --quiet --disable-pip-version-check
COMPARED  = $(COMPARE) --profiles "$(PROFILES)" --workloads "$(WORKLOADS)" $(COMMON) $(if $(REPEATS),--repeats $(REPEATS)) $(if $(UNTIL),--until $(UNTIL)) $(if $(MAX_REPEATS),--max-repeats $(MAX_REPEATS)) $(if $(AA),--aa)
COMPARE   = $(TIERBENCH) compare $(if $(STRICT),,--accept-inconclusive) $(if $(FAIL_IF_WORSE),--fail-if-worse)

.DEFAULT_GOAL := help
.PHONY: help setup demo dry-demo compare point-select insert tpcc report study study-rehearsal calibrate doctor yugabyte-image list test test-slow test-fast golden bench-tiers bench-tpcc bench-sysbench bench-decisions bench-loads bench-arrivals bench-agent bench-platforms bench-scale bench-judging bench-benchbase bench-client bench-warm-up bench-compare check fix lock clean compare-results history bench-history bench-blocks bench-until test-kubernetes

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /|/' | awk -F'|' '{printf "  make %-16s %s\n", $$1, $$2}'
	@echo "  Variables: PROFILE=$(PROFILE) DB=$(DB) SCALE=$(SCALE) REPEATS= NODES= CLIENTS= SEED=$(SEED)"

$(VENV)/.ready: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: PYTHON=/path/to/python3 make $(MAKECMDGOALS)"; exit 69; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { apt-get update && apt-get install -y --no-install-recommends python3-venv && $(PYTHON) -m venv $(VENV); }
	@version=$$($(VENV)/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	case " $(if $(UNLOCKED),,$(LOCKED_PYTHONS)) " in \
	*" $$version "*) \
	  echo "installing what requirements.lock pins, each file held against its checksum"; \
	  $(PIP) --only-binary :all: --require-hashes --requirement requirements.lock \
	  && $(PIP) --no-deps --no-build-isolation --editable . \
	  || { echo "A package could not be had, or is not the one that was locked. UNLOCKED=1 make $(MAKECMDGOALS) takes any version that pyproject.toml allows, without checksums." >&2; exit 69; } ;; \
	*) \
	  echo "Not locked (requirements.lock is for Python $(LOCKED_PYTHONS), this is $$version): any version that pyproject.toml allows, without checksums" >&2; \
	  $(PIP) --editable '.[test]' ;; \
	esac
	@touch $@

setup: $(VENV)/.ready ## everything a first campaign needs: venv, Docker engine, images
	@$(TIERBENCH) setup$(if $(PLATFORM), --platform $(PLATFORM))$(if $(filter command,$(origin PROFILE)), --profile $(PROFILE))

demo dry-demo: PROFILES = premium ultra
demo dry-demo: SCALE = smoke
demo: NODES = 1
demo: REPEATS = 2
demo: UNTIL = decided
demo: MAX_REPEATS = 6
demo: setup ## compare two tiers on this machine in minutes and write a report
	@$(COMPARED)

dry-demo: $(VENV)/.ready ## the same in seconds and without Docker: every figure is made up
	@$(TIERBENCH) rehearse --profiles "$(PROFILES)" --workloads "$(WORKLOADS)" --scale $(SCALE) --seed $(SEED) $(if $(REPEATS),--repeats $(REPEATS)) $(if $(RESULTS),--results "$(RESULTS)")

compare: setup ## tiers × workloads × repetitions: PROFILES= WORKLOADS= REPEATS= SCALE= UNTIL=decided; in CI FAIL_IF_WORSE=1 STRICT=1
	@$(COMPARED)

point-select: setup ## reads on one tier: PROFILE=premium|premium-v2|ultra
	@$(RUN) --workload point-select

insert: setup ## writes on one tier
	@$(RUN) --workload insert

tpcc: setup ## the TPC-C-derived mix on one tier; GENERATOR=benchbase: by BenchBase
	@$(RUN) --workload tpcc

report: $(VENV)/.ready ## show the newest campaign again
	@$(TIERBENCH) report $(if $(RESULTS),--results "$(RESULTS)")

history: $(VENV)/.ready ## list the stored campaigns, the newest first
	@$(TIERBENCH) history $(if $(RESULTS),--results "$(RESULTS)")

compare-results: $(VENV)/.ready ## one stored campaign against another: A= B=latest
	@$(TIERBENCH) compare-results $(if $(STRICT),,--accept-inconclusive) $(if $(FAIL_IF_WORSE),--fail-if-worse) "$(A)" $(if $(B),"$(B)") $(if $(RESULTS),--results "$(RESULTS)")

study: $(VENV)/.ready ## the published study's tables, judged by the rules of any campaign
	@$(TIERBENCH) import-study $(if $(RESULTS),--results "$(RESULTS)")

study-rehearsal: setup ## the same plan at 0.4 of a node on emulated disks, beside the published figures; 40 minutes
	@$(COMPARE) --profiles "$(foreach one,premium premium-v2 ultra,profiles/study-rehearsal/$(one).yaml)" \
	  --workloads "point-select-20 insert-20 point-select insert tpcc" --db postgresql --scale rehearsal --nodes 1 \
	  --seed $(SEED) --repeats $(or $(REPEATS),3) $(if $(RESULTS),--results "$(RESULTS)")
	@$(TIERBENCH) import-study --results .cache/rehearsals --beside $(or $(RESULTS),results)/latest

calibrate: setup ## hold a tier's disk against what it declares, with fio
	@$(TIERBENCH) calibrate --profile $(PROFILE) --scale $(SCALE) $(if $(DRAIN),--drain)

doctor: $(VENV)/.ready ## what this machine offers and lacks; DB=yugabytedb: its first-run checklist; PROFILE=: on its machines
	@$(TIERBENCH) doctor $(if $(filter command,$(origin DB)),--db $(DB)) $(if $(PLATFORM),--platform $(PLATFORM)) $(if $(filter command,$(origin PROFILE)),--profile $(PROFILE))

yugabyte-image: setup ## pack a downloaded distribution of YugabyteDB into an image: TARBALL=
	@$(TIERBENCH) yugabyte-image "$(TARBALL)"

list: $(VENV)/.ready ## profiles, workloads, databases, load generators
	@$(TIERBENCH) list

test: setup ## the tests, those with real containers included; about 20 minutes
	@$(VENV)/bin/pytest -q -m "not slow and not kubernetes"

test-slow: setup ## the tests that `make test` leaves out, because each loads real disks for a minute or more
	@$(VENV)/bin/pytest -q -m slow

test-kubernetes: setup ## the tests on a real Kubernetes of this machine; builds it first, 10 minutes
	@$(VENV)/bin/python -m tests.cluster setup
	@$(VENV)/bin/pytest -q -m "kubernetes and not slow"

test-fast: $(VENV)/.ready ## tests without Docker
	@$(VENV)/bin/pytest -q -m "not docker and not kubernetes"

golden: $(VENV)/.ready ## rewrite the golden files of the tests; look at the difference before keeping it
	@UPDATE_GOLDEN=1 $(VENV)/bin/pytest -q $$(grep -rl 'golden\.compare' tests/unit)

bench-tiers: setup ## how true the emulated disks are: measured / declared; REPEATS= ROWS=
	@$(VENV)/bin/python -m tests.bench.bench_tiers $(if $(REPEATS),--repeats $(REPEATS)) $(if $(ROWS),--rows $(ROWS))

bench-tpcc: setup ## the TPC-C-derived load generators that are installed, side by side; REPEATS=
	@$(VENV)/bin/python -m tests.bench.bench_tpcc $(if $(REPEATS),--repeats $(REPEATS))

bench-sysbench: setup ## our pair of sysbench workloads beside stock sysbench with equal work; REPEATS=
	@$(VENV)/bin/python -m tests.bench.bench_sysbench $(if $(REPEATS),--repeats $(REPEATS))

bench-decisions: setup ## how often decisions are wrong and how often they answer, simulated; REPEATS=
	@$(VENV)/bin/python -m tests.bench.bench_decisions $(if $(REPEATS),--repeats $(REPEATS))

bench-loads: setup ## how often a tier is called overloaded or a load proven by chance, simulated; REPEATS=
	@$(VENV)/bin/python -m tests.bench.bench_loads $(if $(REPEATS),--repeats $(REPEATS))
bench-arrivals: setup ## latency at a rate beside that of one queue for all connections; REPEATS=
	@$(VENV)/bin/python -m tests.bench.bench_arrivals $(if $(REPEATS),--repeats $(REPEATS))

bench-blocks: setup ## what comparing within repetitions costs and gains, simulated; REPEATS=
	@$(VENV)/bin/python -m tests.bench.bench_blocks $(if $(REPEATS),--repeats $(REPEATS))

bench-until: setup ## how often a campaign that ends when it is decided is wrong, simulated; REPEATS=
	@$(VENV)/bin/python -m tests.bench.bench_until $(if $(REPEATS),--repeats $(REPEATS))

bench-platforms: setup ## the same runs on Docker and on a Kubernetes of this machine; REPEATS=
	@$(VENV)/bin/python -m tests.cluster setup
	@$(VENV)/bin/python -m tests.bench.bench_platforms $(if $(REPEATS),--rounds $(REPEATS))

bench-agent: setup ## what the agent that reads a machine costs it, with 1, 3 and 20 containers
	@$(VENV)/bin/python -m tests.bench.bench_agent

bench-warm-up: $(VENV)/.ready ## how well `--warmup steady` finds the end of a warm-up, simulated
	@$(VENV)/bin/python -m tests.bench.bench_warm_up

bench-history: $(VENV)/.ready ## how often a trend and a comparison over time see changes, simulated; REPEATS=
	@$(VENV)/bin/python -m tests.bench.bench_history $(if $(REPEATS),--repeats $(REPEATS))

bench-scale: $(VENV)/.ready ## what a hundred nodes and fifty clients cost this program, simulated; NODES= CLIENTS= TRANSACTIONS= HOURS=
	@$(VENV)/bin/python -m tests.bench.bench_scale $(if $(NODES),--nodes $(NODES)) $(if $(CLIENTS),--clients $(CLIENTS)) $(if $(TRANSACTIONS),--transactions $(TRANSACTIONS)) $(if $(HOURS),--hours $(HOURS))

bench-judging: $(VENV)/.ready ## what judging a campaign on a hundred nodes and its report cost; NODES= HOURS= REPEATS=
	@$(VENV)/bin/python -m tests.bench.bench_judging $(if $(NODES),--nodes $(NODES)) $(if $(HOURS),--hours $(HOURS)) $(if $(REPEATS),--repeats $(REPEATS))

bench-benchbase: $(VENV)/.ready ## what reading BenchBase's records of many transactions costs; TRANSACTIONS=
	@$(VENV)/bin/python -m tests.bench.bench_benchbase $(if $(TRANSACTIONS),--transactions $(TRANSACTIONS))

bench-client: setup ## transactions/s that one core of a client makes, by workload; REPEATS=
	@$(VENV)/bin/python -m tests.bench.bench_client $(if $(REPEATS),--repeats $(REPEATS))

bench-compare: setup ## how much of a campaign on a real disk is measuring; REPEATS= SCALE=
	@$(VENV)/bin/python -m tests.bench.bench_compare --scale $(SCALE) $(if $(REPEATS),--repeats $(REPEATS))

check: $(VENV)/.ready ## format, lint and types; changes nothing
	@$(VENV)/bin/ruff format --check . && $(VENV)/bin/ruff check . && $(VENV)/bin/mypy

fix: $(VENV)/.ready ## format and mend what can be mended
	@$(VENV)/bin/ruff format . && $(VENV)/bin/ruff check --fix .

lock: $(VENV)/.ready ## pin the newest versions that pyproject.toml allows, with checksums
	$(PIP) --editable '.[lock]'
	$(VENV)/bin/uv pip compile pyproject.toml --extra test --extra build --universal --python-version 3.11 --upgrade \
	  --generate-hashes --no-emit-index-url --quiet --custom-compile-command "make lock" --output-file requirements.lock

clean: $(VENV)/.ready ## remove leftovers in Docker and kept data sets; results stay; PROFILE=: on its machines; YES=1: unasked
	@$(TIERBENCH) clean$(if $(YES), --yes)$(if $(PLATFORM), --platform $(PLATFORM))$(if $(filter command environment,$(origin PROFILE)), --profile $(PROFILE))
