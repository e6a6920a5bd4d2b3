# Everything runs in .venv. Each target installs there what it needs, from lock files that name all, so that pip has
# nothing to resolve (--no-deps).
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile --no-deps
LIBRARY := $(VENV)/.library
FOR_TESTS := $(VENV)/.for-tests
FOR_CHECKS := $(VENV)/.for-checks
READY := $(VENV)/.ready

# Where the shell or CI forbids Python to keep what it compiled, each of the thousands of programs that tests start would
# compile kafkalog anew, which takes as long again as starting.
export PYTHONDONTWRITEBYTECODE :=

# Each test is marked with what runs it: `first` is `make test`, `rest` what `make test-all` has beside it (tests/conftest.py).
PYTEST := $(BIN)/pytest -n 2

.PHONY: test plan test-all rest check quick format lint types layers tests messages coverage corpus exhaustive live fuzz sanitized soak spark-oldest docs man wheel zip pex bench count-tests mutants lock clean

$(FOR_TESTS): requirements-test.lock
	$(PYTHON) -m venv $(VENV)
	$(PIP) --requirement requirements-test.lock
	touch $@

# Only what is compiled needs to be installed again.
$(LIBRARY): $(FOR_TESTS) pyproject.toml setup.py $(wildcard kafkalog/kernel/*.py kafkalog/kernel/*.pxd kafkalog/kernel/*.h)
	$(PIP) --no-build-isolation --editable .
	touch $@

$(FOR_CHECKS): requirements-check.lock $(FOR_TESTS) | $(LIBRARY)
	$(PIP) --requirement requirements-check.lock
	touch $@

$(READY): requirements-all.lock $(FOR_TESTS) | $(FOR_CHECKS) $(LIBRARY)
	$(PIP) --requirement requirements-all.lock
	touch $@

test: plan $(LIBRARY) tests

plan:
	@echo "make test installs kafkalog, and what its tests need, in $(VENV) unless that is done (2 minutes, 1 GB),"
	@echo "then runs the tests of every rule and every command (4 minutes on two cores). make test-all runs all others, too."

tests: $(LIBRARY)
	$(PYTEST) -m first

# All that runs without brokers and without a corpus: the browser's, the object stores', all of Spark's, and the sweeps.
test-all: test rest

rest: $(READY)
	$(PYTEST) -m rest

check: format lint types layers tests

format: $(FOR_CHECKS)
	$(BIN)/ruff format --check .

lint: $(FOR_CHECKS)
	$(BIN)/ruff check .
	$(BIN)/pytest -n 0 -m lint tests/house

types: $(FOR_CHECKS)
	$(BIN)/mypy

layers: $(FOR_CHECKS)
	$(BIN)/lint-imports --no-cache

# For who changes a sentence or a rule: lint, layers, and the tests of one room, as ROOM=auditing/partition; without a room
# two cases of each test that starts no process, without those that sample many cases or draw them at random.
ROOM ?=
quick: lint layers
	$(PYTEST) -m "first and not process and not spark$(if $(ROOM),, and not some and not hypothesis)" $(if $(ROOM),tests/$(ROOM),--cases 2)

# How many tests of each room each target runs.
count-tests: $(READY)
	$(BIN)/python tools/count_tests.py

# Each rule of ARCHITECTURE.md broken once in a copy, where make test alone must notice it: most of an hour.
mutants: $(READY)
	$(BIN)/python tools/mutants.py

# The same tests with what they reach of the code, which takes them twice the time.
coverage: $(READY)
	$(PYTEST) -m "first or rest" --cov --cov-report=term

# Every case of the corpora in KAFKALOG_CORPORA; in one process (CORPUS_JOBS=0) it prints how much was compared.
KAFKALOG_CORPORA ?= $(abspath ../shared)
export KAFKALOG_CORPORA
CORPUS_JOBS ?= 2
corpus: $(READY)
	@test -d "$(KAFKALOG_CORPORA)/corpus" || { echo "there is no corpus in $(KAFKALOG_CORPORA): nothing can be compared"; exit 1; }
	$(BIN)/pytest -n $(CORPUS_JOBS) -m "corpus and not exhaustive"

# What takes minutes, and the properties with a thousand examples.
exhaustive: $(READY)
	$(BIN)/pytest -n 2 -m exhaustive
	$(BIN)/pytest -n 2 -m "hypothesis and not exhaustive" --hypothesis-profile=exhaustive

# A real broker under load, copied 100 times and read 100 times while it runs; prints how often each code was said.
# KAFKA_RIG is the folder of the rig that starts brokers; it needs Java 17 and the release's jars.
live: $(READY)
	$(BIN)/pytest -m live tests/live

# Spark's tests with older Sparks, each in a venv of its own, which only this target makes; the oldest one with the oldest
# packages, too.
OLDER := .venv-spark-3.5 .venv-spark-4.0
PACKAGES_3.5 := "pyspark==3.5.*" "pyarrow==17.*" "numpy==1.26.*" "pandas==1.5.*"
PACKAGES_4.0 := "pyspark==4.0.*"

$(OLDER:%=%/.ready): .venv-spark-%/.ready: pyproject.toml setup.py requirements-all.lock
	$(PYTHON) -m venv .venv-spark-$*
	.venv-spark-$*/bin/pip install --quiet --disable-pip-version-check --no-deps --requirement requirements-all.lock
	.venv-spark-$*/bin/pip install --quiet --disable-pip-version-check $(PACKAGES_$*)
	.venv-spark-$*/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

.PHONY: $(OLDER)
$(OLDER): %: %/.ready
	$@/bin/python -c "import pyspark, pyarrow; print('pyspark', pyspark.__version__, 'pyarrow', pyarrow.__version__)"
	KAFKALOG_SPARK=required $@/bin/pytest -m "first or rest" tests/spark

spark-oldest: $(OLDER)

# A wheel for this machine in dist/, tried as its users have it: in an environment of its own, where nothing is compiled.
WHEEL_TRIED := build/wheel-tried
wheel: $(READY)
	rm -rf dist/kafkalog-*.whl $(WHEEL_TRIED)
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	$(PYTHON) -m venv $(WHEEL_TRIED)
	$(WHEEL_TRIED)/bin/pip install --quiet --disable-pip-version-check --only-binary :all: dist/kafkalog-*.whl
	env -i PATH=$(WHEEL_TRIED)/bin kafkalog --version
	cmp cli/kafkalog_cli/man/man1/kafkalog.1 "$$($(WHEEL_TRIED)/bin/kafkalog --man-path)/man1/kafkalog.1"
	env -i PATH=$(WHEEL_TRIED)/bin kafkalog txn-audit --exit-zero --jobs 2 fixtures/k4-[a-l]*/data >$(WHEEL_TRIED)/report
	env -i PATH=$(BIN) kafkalog txn-audit --exit-zero --jobs 1 fixtures/k4-[a-l]*/data | cmp - $(WHEEL_TRIED)/report
	$(WHEEL_TRIED)/bin/pip uninstall --quiet --yes kafkalog
	@test -z "$$(find $(WHEEL_TRIED) -iname '*kafkalog*' -o -name share)" || { echo "an uninstall leaves files"; exit 1; }

# Man pages, made of the same texts as --help: with the default install alone, no Spark, and nothing is compiled.
MAN := build/man
man:
	$(PYTHON) -m venv $(MAN)
	KAFKALOG_PURE=1 $(MAN)/bin/pip install --quiet --disable-pip-version-check .
	rm -f cli/kafkalog_cli/man/man1/*
	$(MAN)/bin/python tools/man_pages.py cli/kafkalog_cli/man/man1

# What --py-files is given: pure Python, the same file from the same source.
zip:
	$(PYTHON) spark/ship.py zip dist/kafkalog.zip

# One file that runs where only Python is, also on executors: the compiled kernel and all packages.
pex: $(READY)
	$(BIN)/python spark/ship.py pex dist/kafkalog.pex

# Ten minutes a target, guided by coverage where atheris has a wheel; prints how many executions ran.
FUZZ_SECONDS ?= 600
fuzz: $(READY)
	-$(BIN)/pip install --quiet --disable-pip-version-check --only-binary :all: atheris
	$(BIN)/python fuzz/run.py --seconds $(FUZZ_SECONDS)

# The kernel with AddressSanitizer and UndefinedBehaviorSanitizer over stored and changed inputs; prints how many ran.
SANITIZED := build/sanitized
SANITIZED_SECONDS ?= 10
$(SANITIZED)/.ready: $(READY)
	KAFKALOG_SANITIZE=1 $(BIN)/python setup.py -q build --build-base $(SANITIZED) --build-lib $(SANITIZED)/lib -j 2
	touch $@

sanitized: $(SANITIZED)/.ready
	$(BIN)/python fuzz/sanitized.py $(SANITIZED)/lib --seconds $(SANITIZED_SECONDS)

# What takes most of an hour: full-size bombs and big directories, ten minutes of changed directories, and ten minutes
# for each target in the sanitized build.
soak: $(READY)
	$(BIN)/pytest -n 2 -m soak
	$(BIN)/python fuzz/run.py --at-random --seconds 600 directories
	$(MAKE) sanitized SANITIZED_SECONDS=600

# Side by side with the official tool where KAFKA_TOOLS_JARS names the folder of its jars.
bench: $(READY)
	$(BIN)/python benchmarks/run.py --data benchmarks/data -o benchmarks/RESULTS.md

# Kafka's message definitions here against those of a release: KAFKA_MESSAGES is a checkout of its source or a folder of
# its jars, as libs/ of a release. A folder that does not say of which release it is needs "FOLDER --release 4.3".
messages: $(READY)
	$(BIN)/python tools/check_messages.py $(KAFKA_MESSAGES)

# The documentation's site in build/site, with a reference made from the code; spelling is checked, too.
DOCS := .venv-docs
docs: $(READY)
	$(PYTHON) -m venv $(DOCS)
	$(BIN)/uv pip install --quiet --python $(DOCS)/bin/python --group docs
	$(DOCS)/bin/codespell docs/*.md *.md
	$(BIN)/python tools/docs_site.py build/site-docs
	$(BIN)/python tools/pictures.py build/site-docs/pictures
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build

# New versions of what the tests and checks need, the same ones in all three files.
COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 pyproject.toml
lock:
	$(COMPILE) --group all -o requirements-all.lock
	$(COMPILE) --group test -c requirements-all.lock -o requirements-test.lock
	$(COMPILE) --group check -c requirements-all.lock -o requirements-check.lock

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f kafkalog/*.so kafkalog/*/*.so
