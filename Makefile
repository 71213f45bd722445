PYTHON ?= python3
BIN := .venv/bin
# Old versions of pip would install packages without a pyproject.toml in a way that fails with today's setuptools.
export PIP_USE_PEP517 := 1
# The tests start hundreds of processes, and each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all clones check docs pages rules bench clients faults faults-sanitised sanitise portable wasm wheels constraints clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## / - /' | awk -F ' - ' '{printf "  make %-16s %s\n", $$1, $$2}'

# A stamp file per set of packages: a second call finds it newer than pyproject.toml and installs nothing.
# make test CONSTRAINTS=packaging/constraints.txt installs the versions listed there.
CONSTRAINTS ?=
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS))

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Postil needs Python >= 3.11, this is " + sys.version)'
	$(PYTHON) -m venv .venv || { $(PYTHON) -m pip install --user virtualenv && $(PYTHON) -m virtualenv .venv; }

# What the compiled kernels are made of: they are built again when one of these changes.
KERNELS := setup.py $(wildcard src/postil/kernels/*.c src/postil/kernels/*.h src/postil/kernels/engine/*) packaging/kernels/build.py packaging/kernels/table.py

.venv/installed: $(BIN)/python pyproject.toml $(KERNELS)
	$(INSTALL) --editable .
	@touch $@

.venv/installed-dev: $(BIN)/python pyproject.toml $(KERNELS)
	$(INSTALL) --editable '.[test,check]'
	@touch .venv/installed $@

# The English model is a package of its own. It needs nothing but Postil, which is there.
ENGLISH := postil-english/pyproject.toml $(wildcard postil-english/src/postil_english/*)

.venv/english: $(BIN)/python $(ENGLISH)
	$(INSTALL) --no-deps --force-reinstall ./postil-english
	@touch $@

demo: .venv/installed .venv/english  ## set up, then show what Postil does
	$(BIN)/postil demo

# A process per core; a process that is done takes over tests of the others. One after another: PYTEST_WORKERS=0.
PYTEST_WORKERS ?= auto
SELECT ?= not extra and not slow

test: .venv/installed-dev .venv/english  ## set up, then run the tests of the core
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -m "$(SELECT)"

.venv/installed-all: $(BIN)/python pyproject.toml $(KERNELS)
	$(INSTALL) --editable '.[test,check,all,docs]'
	@touch .venv/installed .venv/installed-dev .venv/installed-docs $@

# A real browser or a cluster is sometimes late. What fails is run once more, one test after another; both results are shown.
ALL_TESTS = POSTIL_EXTRAS=required $(BIN)/python -m pytest -m "extra or slow"

test-all: .venv/installed-all .venv/english  ## the slow tests, those that need an extra, and the documentation
	$(ALL_TESTS) -n $(PYTEST_WORKERS) --dist worksteal || $(ALL_TESTS) --last-failed --last-failed-no-failures none
	$(MAKE) docs

# Elsewhere: make clones WHOLE="python3.13 root"; a few tests everywhere, as in CI: make clones WHOLE=
WHOLE ?= spaces

clones: .venv/installed-dev  ## demo and test on clones in difficult places; all tests in one of them, a few in the others
	$(BIN)/python tests/clones.py $(addprefix --whole=,$(WHOLE))

check: .venv/installed-dev  ## ruff and strict types; lists phrases to avoid, without judging them
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python docs/phrases.py

.venv/installed-docs: $(BIN)/python pyproject.toml
	$(INSTALL) --editable '.[docs]'
	@touch $@

docs: .venv/installed-docs  ## the documentation site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "open build/site/index.html"

pages: .venv/installed-dev .venv/english  ## run the code and commands of the pages, and rewrite what they print
	$(BIN)/python docs/write_reference.py
	$(BIN)/python docs/run_pages.py --write

rules: .venv/installed-dev  ## compile the rules of tokeniser and sentence splitter again, after a change of them
	$(BIN)/python -m tools.freeze_rules

bench: .venv/installed-dev  ## benchmarks (minutes; peers get environments of their own)
	$(BIN)/python -m benchmarks

clients: .venv/installed-dev  ## packages that use python-crfsuite, on CRFsuite and on Postil (minutes; in an environment of their own)
	$(BIN)/python -m benchmarks.clients

# Hours: make faults MINUTES=120 SEED=7.
MINUTES ?= 3
SEED ?= 0

faults: .venv/installed-dev  ## kills, signals, full disks, forged and damaged files, with counts (3 minutes)
	$(BIN)/python -m benchmarks.faults --minutes $(MINUTES) --seed $(SEED)

# The sanitised library needs the sanitiser's run-time before Python's own; Python itself leaks, so leaks are not asked for.
FUSED_TESTS = tests/models/networks/test_fused.py
SANITISED = PYTHONPATH=build/sanitised/lib POSTIL_KERNELS=compiled ASAN_OPTIONS=detect_leaks=0 \
	LD_PRELOAD="$$($${CC:-cc} -print-file-name=libasan.so) $$($${CC:-cc} -print-file-name=libubsan.so)"

build/sanitised/made: .venv/installed-dev $(KERNELS) $(wildcard src/postil/*.py src/postil/*/*.py src/postil/*/*/*.py)
	POSTIL_SANITISE=1 $(BIN)/python setup.py --quiet build --build-base build/sanitised --build-lib build/sanitised/lib --force
	@touch $@

# Forged models, checkpoints and other files; more of them: make faults-sanitised FORGERIES=10000 SEED=7.
FORGERIES ?= 500

faults-sanitised: build/sanitised/made  ## forged files under the sanitisers
	$(SANITISED) $(BIN)/python -m benchmarks.faults --forgeries $(FORGERIES) --seed $(SEED)

sanitise: build/sanitised/made  ## the compiled kernels under AddressSanitizer and UndefinedBehaviorSanitizer
	$(SANITISED) $(BIN)/python -m pytest tests/kernels $(FUSED_TESTS) --ignore=tests/kernels/test_choice.py -p no:cacheprovider --capture=no

# An installation opens the library that suits the processor; here every one that can run here is run.
portable: .venv/installed-dev  ## the compiled kernels of GCC and of Clang, baseline and AVX2
	for compiler in gcc clang; do folder=build/portable/$$compiler; \
	CC=$$compiler LDSHARED="$$compiler -shared" CFLAGS="-Wall -Wextra -Werror" \
	$(BIN)/python setup.py --quiet build --build-base $$folder --build-lib $$folder/lib --force || exit 1; \
	for level in baseline v3; do echo "$$compiler, $$level"; \
	PYTHONPATH=$$folder/lib POSTIL_KERNELS=compiled POSTIL_INSTRUCTIONS=$$level \
	$(BIN)/python -m pytest tests/kernels $(FUSED_TESTS) --ignore=tests/kernels/test_choice.py -p no:cacheprovider || exit 1; done; done

# Zig is a C compiler with a C library for WebAssembly inside, from the package index: 0.5 GB unpacked, and no root needed.
.venv/installed-wasm: $(BIN)/python pyproject.toml
	$(INSTALL) --editable '.[wasm]'
	@touch $@

wasm: .venv/installed-wasm  ## the runtime of exported models as WebAssembly, after a change of it or of the kernels (needs Zig: the extra wasm)
	$(BIN)/python packaging/wasm.py

.venv/installed-packaging: $(BIN)/python packaging/requirements.txt
	$(INSTALL) --requirement packaging/requirements.txt
	@touch $@

wheels: .venv/installed-packaging  ## source archive and wheels for Linux, macOS and Windows, in dist
	$(BIN)/python packaging/build_wheels.py --models

# Editable installations and models of this repository have no version to pin.
constraints: .venv/installed-all  ## write packaging/constraints.txt: the versions of all packages in .venv
	{ echo "# Written by make constraints: the versions in a .venv with every extra. Nothing needs it."; \
	$(BIN)/python -m pip freeze --exclude-editable --exclude postil-english $(foreach m,$(wildcard languages/*),--exclude $(notdir $m)) | grep -E '^[A-Za-z0-9._-]+=='; } > packaging/constraints.txt

clean:  ## remove everything that make has made
	rm -rf .venv build dist demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis
