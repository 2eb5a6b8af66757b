# `make demo` and `make test` do all the set-up they need; `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core-installed
DEV := $(VENV)/.dev-installed
INPUTS := pyproject.toml constraints.txt Makefile
CRATE := $(wildcard native/Cargo.* native/pyproject.toml native/src/*.rs)
NATIVE := $(VENV)/.native-installed
CARGO ?= cargo

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
PIP_INSTALL = $(BIN)/python -m pip install --quiet --constraint constraints.txt

DEMO_DB := demo.db
REPORT := report.html
PYTEST_ARGS ?=
SECONDS ?= 600
MODEL_ARGS ?=
PYTEST = $(BIN)/python -m pytest --numprocesses=auto --no-loadscope-reorder
PYTEST_ALONE = $(BIN)/python -m pytest
SERVERS := $(BIN)/python scripts/servers
CLIENT9 := .venv-client9
LOWEST := .venv-lowest
GENERATOR := .venv-generator
TEST_TOOLS := aiohttp hypothesis pytest-timeout pytest-xdist pyyaml
# another server takes the place of 8.19
ON = bash -c 'ES_DEDUP_ES_URL=$$ES_DEDUP_$(1)_URL exec "$$@"' run
# which tests run where: CONTRIBUTING.md, "Tests"
DAILY := not slow and not traffic and not data and not other_servers and not spark and not integrations and not browser
QUICK := tests/unit tests/contract tests/formats tests/integration/test_hook.py tests/integration/collapse/test_modes.py tests/integration/test_maintenance.py
OF_DOCUMENTS := tests/unit/scripts tests/unit/test_compose.py tests/unit/test_docs_reference.py tests/unit/test_hosting.py
SLOW := slow and not traffic and not data and not other_servers and not spark and not browser
export ES_DEDUP_SERVERS_REQUIRED := 1
BENCH ?= features w1 candidates rules

SITE := site

.PHONY: help demo console docs man check test test-docs test-rest test-slow test-traffic test-opensearch test-opensearch-all test-spark test-integrations test-experiments test-browser test-all coverage test-model test-client9 test-lowest native test-native servers lint format types imports bench fuzz clean

help:  ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1|\2/p' Makefile | column -t -s '|'

demo: $(CORE)  ## find the duplicates among the sample pages, show the largest clusters, write report.html
	@rm -f es-dedup.1 $(DEMO_DB) $(DEMO_DB)-wal $(DEMO_DB)-shm
	$(BIN)/es-dedup --db $(DEMO_DB) --quiet scan samples/pages --report $(REPORT)
	@echo
	$(BIN)/es-dedup --db $(DEMO_DB) --quiet clusters --limit 3
	@echo
	@echo "The report is $(REPORT); the index is $(DEMO_DB): try"
	@echo "  $(BIN)/es-dedup --db $(DEMO_DB) clusters"
	@echo "  $(BIN)/es-dedup --db $(DEMO_DB) search 三桥"
	@echo "  $(BIN)/es-dedup --db $(DEMO_DB) explain forum/bridge-excerpt.html zhportal/bridge-opening.html"
	@echo "  make console"

console: $(CORE)  ## the sample pages in the browser: clusters, pages and pairs with their evidence, until Ctrl-C
	$(PIP_INSTALL) --editable '.[serve]'
	@test -e $(DEMO_DB) || $(BIN)/es-dedup --quiet --db $(DEMO_DB) scan samples/pages
	ES_DEDUP_SERVE__REQUIRE_TOKEN=false $(BIN)/es-dedup --db $(DEMO_DB) serve

# A server that lives for minutes spends a third of its processor time in the optimising compiler.
test test-rest test-slow test-traffic test-opensearch test-opensearch-all test-spark test-browser test-all coverage test-client9: export ES_DEDUP_SERVERS_JAVA_OPTS ?= -XX:TieredStopAtLevel=1

check:  ## all that guards a change: what .ci/run does, in some 25 minutes
	.ci/run

test: $(NATIVE)  ## the tests of every day, on an Elasticsearch and a Redis it starts and stops; PYTEST_ARGS goes to pytest
	$(SERVERS) run elastic redis -- $(PYTEST) -m '$(DAILY)' $(QUICK) $(addprefix --ignore=,$(OF_DOCUMENTS)) --durations=10 $(PYTEST_ARGS)

test-rest: $(NATIVE)  ## all other tests of one Elasticsearch and Redis, of the documents and of the benchmarks
	$(SERVERS) run elastic redis -- $(PYTEST) -m '$(DAILY)' tests $(addprefix --ignore=,tests/experiments $(QUICK)) --durations=10 $(PYTEST_ARGS)

test-slow: $(NATIVE)  ## those that take longer than five seconds each; tests that no other may run beside have servers of their own
	@log=$$(mktemp); \
	env -u ES_DEDUP_ES_URL -u ES_DEDUP_REDIS_URL ES_DEDUP_SERVERS_SET=exclusive $(SERVERS) run elastic redis -- \
	  $(PYTEST_ALONE) -m '($(SLOW)) and exclusive' --durations=10 $(PYTEST_ARGS) >"$$log" 2>&1 & exclusive=$$!; \
	code=0; \
	$(SERVERS) run elastic redis -- $(PYTEST) -m '($(SLOW)) and not exclusive' --durations=10 $(PYTEST_ARGS) || code=$$?; \
	wait $$exclusive || code=$$?; \
	cat "$$log"; rm "$$log"; exit $$code

test-traffic: $(NATIVE)  ## writers while servers fail, are restarted, or are given new settings
	$(SERVERS) run es8 three redis -- $(PYTEST) -m traffic $(PYTEST_ARGS)

test-opensearch: $(NATIVE)  ## contract suites of the index, command line, hook, searches, maintenance, REST API and console on OpenSearch
	$(SERVERS) run opensearch -- $(PYTEST) -k opensearch tests/contract/test_elastic_index.py tests/integration/test_opensearch.py tests/integration/test_serve.py tests/integration/test_console_clusters.py $(PYTEST_ARGS)

test-opensearch-all: $(NATIVE)  ## with OpenSearch in the place of Elasticsearch
	$(SERVERS) run opensearch redis -- $(call ON,OPENSEARCH) $(PYTEST) -m 'not other_servers and not traffic and not data and not exclusive' tests/integration $(PYTEST_ARGS)

test-spark: $(NATIVE)  ## the clusters on a local Spark session beside those of a scan; installs pyspark, needs Java
	@$(PIP_INSTALL) --editable '.[spark]'
	$(SERVERS) run es8 -- $(PYTEST_ALONE) tests/spark -m 'not data' --durations=5 $(PYTEST_ARGS)

test-integrations: $(NATIVE)  ## tables of other libraries, Scrapy, LangChain, Haystack, datatrove, and their guides, a generated client; installs them
	@$(PIP_INSTALL) --editable '.[integrations]'
	@bash .ci/make-venv $(GENERATOR)  # which asks for another typer than the command line
	@$(GENERATOR)/bin/python -m pip install --quiet 'openapi-python-client>=0.26'
	PATH="$$PATH:$$PWD/$(GENERATOR)/bin" $(PYTEST) tests/integrations tests/unit/tables tests/acceptance/test_docs.py -k 'integrations or tables' --durations=5 $(PYTEST_ARGS)

test-experiments: $(NATIVE)  ## the experiments, and the guide to training; installs CatBoost
	@$(PIP_INSTALL) --requirement experiments/requirements.txt
	$(PYTEST) tests/experiments tests/acceptance/test_docs.py -k 'experiments or train-the-extractor' --durations=5 $(PYTEST_ARGS)

test-browser: $(NATIVE)  ## the console in Chromium, on a file and on Elasticsearch; installs Playwright, skipped where Chromium is missing
	@$(PIP_INSTALL) --editable '.[browser]'
	$(SERVERS) run es8 -- $(PYTEST_ALONE) tests/browser --durations=5 $(PYTEST_ARGS)

test-all: $(NATIVE)  ## everything on all servers, then fuzz and test-model: hours
	$(SERVERS) run es8 es9 secured three narrow opensearch redis -- $(PYTEST) $(PYTEST_ARGS)
	$(SERVERS) run es9 redis -- $(call ON,ES9) $(PYTEST) -m 'not other_servers and not data' tests/integration
	$(SERVERS) run bundled redis -- $(call ON,BUNDLED) $(PYTEST) -m '$(DAILY)' tests/contract tests/integration
	$(MAKE) test-opensearch-all fuzz test-model

coverage: $(NATIVE)  ## the tests of every day and the slow ones, with branch coverage
	$(SERVERS) run elastic redis -- $(PYTEST) -m '$(DAILY) or $(SLOW)' --cov --cov-report=term $(PYTEST_ARGS)

test-model: $(NATIVE)  ## random steps beside a plain model, on files and on a server that is restarted at times, for SECONDS
	$(SERVERS) run es8 redis -- $(BIN)/python -m tests.model --seconds $(SECONDS) --restarts --workers $(MODEL_ARGS)

test-client9: $(DEV)  ## hook, collapse and maintenance with client 9.x on Elasticsearch 9.1, in an environment of its own
	@bash .ci/make-venv $(CLIENT9)
	@grep -viE '^(elasticsearch|elastic-transport)==' constraints.txt > $(CLIENT9)/constraints.txt
	@$(CLIENT9)/bin/python -m pip install --quiet --constraint $(CLIENT9)/constraints.txt --editable '.[dev]'
	@$(CLIENT9)/bin/python -m pip install --quiet --constraint $(CLIENT9)/constraints.txt --editable '.[elastic9]' 2>/dev/null  # in place of elastic
	$(SERVERS) run es9 redis -- $(call ON,ES9) $(subst $(BIN),$(CLIENT9)/bin,$(PYTEST)) -m '$(DAILY)' tests/integration $(PYTEST_ARGS)

test-lowest:  ## unit, contract and format tests with the lowest allowed version of each dependency, in an environment of its own
	@bash .ci/make-venv $(LOWEST)
	@$(LOWEST)/bin/python scripts/lowest.py > $(LOWEST)/constraints.txt
	@$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt --editable '.[all,remote,testing]' $(TEST_TOOLS)
	ES_DEDUP_SERVERS_REQUIRED= $(LOWEST)/bin/python -m pytest --numprocesses=auto -m '$(DAILY)' tests/unit tests/contract tests/formats $(PYTEST_ARGS)

servers: $(DEV)  ## start Elasticsearch and Redis and leave them running; scripts/servers down stops them
	$(SERVERS) up elastic redis

fuzz: $(NATIVE)  ## a million generated and damaged inputs of the native core, then of readers and formats, some two hours; FUZZ_ARGS='--target read-csv --seed 1 --count 1000'
	cd native && PROPTEST_CASES=1000000 $(CARGO) test --release --quiet
	$(BIN)/python -m tests.fuzz $(FUZZ_ARGS)

native: $(NATIVE)  ## build the native core and install it; needs Rust, without it everything works and takes several times as long

test-native: $(NATIVE)  ## the crate: formatting, lints and tests of its own, then its results beside those of the Python form
	cd native && $(CARGO) fmt --check && $(CARGO) clippy --all-targets --quiet -- --deny warnings && $(CARGO) test --quiet
	$(PYTEST) tests/unit/test_native.py $(PYTEST_ARGS)

lint: $(DEV)  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(DEV)  ## let ruff repair what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(DEV)  ## mypy, strict
	$(BIN)/mypy

imports: $(DEV)  ## the dependency rule of ARCHITECTURE.md
	$(BIN)/lint-imports

docs: $(DEV)  ## the site of the documents, in site/; broken links and public names without reference text are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir $(SITE)

test-docs: $(DEV)  ## of reference pages, files for hosting and scripts, which need no server
	$(PYTEST) -m '$(DAILY)' $(OF_DOCUMENTS) $(PYTEST_ARGS)

man: $(CORE)  ## the man page es-dedup.1, from the help of the commands; `man -l es-dedup.1` shows it
	$(BIN)/python scripts/man_page.py > es-dedup.1

bench: $(NATIVE)  ## the quick benchmarks; docs/benchmarks/README.md has them all
	@for name in $(BENCH); do \
	  echo "== benchmarks/bench_$$name.py"; $(BIN)/python "benchmarks/bench_$$name.py" || exit 1; \
	done

clean:  ## remove what make has made, the environment too
	rm -rf native/target $(VENV) $(CLIENT9) $(LOWEST) $(GENERATOR) $(SITE) build dist htmlcov .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.*
	rm -f es-dedup.1 $(DEMO_DB) $(DEMO_DB)-wal $(DEMO_DB)-shm $(DEMO_DB).lock $(REPORT)
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(CORE): $(INPUTS)
	@bash .ci/make-venv $(VENV)
	@echo "installing es-dedup into $(VENV)"
	@$(PIP_INSTALL) --editable .
	@touch $@

$(NATIVE): $(DEV) $(CRATE)
	@if $(CARGO) fetch --quiet --locked --manifest-path native/Cargo.toml; then \
	  echo "building the native core"; $(BIN)/python -m pip install --quiet ./native && touch $@; \
	fi || true
	@test -e $@ || echo "!!! the native core is not built: this needs Rust 1.83 (https://rustup.rs) and its package index; the Python form is used"

$(DEV): $(INPUTS)
	@bash .ci/make-venv $(VENV)
	@echo "installing es-dedup and its development tools into $(VENV)"
	@$(PIP_INSTALL) --editable '.[dev]'
	@touch $(CORE) $@
