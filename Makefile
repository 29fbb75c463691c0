# Everything runs inside .venv, which is made on first use from requirements/dev.lock; nothing has to be active.
# Two builds of the extension take turns in python/penstock: `checked` (see Cargo.toml) for work and tests,
# `release` for benchmarks. A stamp in .venv says which one is there and from when.

PYTHON ?= python3
# How many processes run the tests; PYTEST_WORKERS=0 runs them in one.
PYTEST_WORKERS ?= auto

VENV := .venv
BIN := $(VENV)/bin
LOCK := requirements/dev.lock
INSTALLED := $(VENV)/installed
CHECKED := $(VENV)/built-checked
RELEASE := $(VENV)/built-release
SOURCES := Cargo.toml $(wildcard Cargo.lock) pyproject.toml $(shell find rust/core rust/bindings -name '*.rs' -o -name Cargo.toml)

export VIRTUAL_ENV := $(CURDIR)/$(VENV)
# maturin refuses to choose between two environments.
unexport CONDA_PREFIX
# One interpreter for cargo and maturin, so that neither makes the other rebuild PyO3.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# LiteLLM looks for prices on the network when it is imported, unless it is told to use its own table.
export LITELLM_LOCAL_MODEL_COST_MAP := True

.DEFAULT_GOAL := help

$(INSTALLED): $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "penstock needs Python 3.11 or newer: make PYTHON=python3.x")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(LOCK)
	@touch $@

$(CHECKED): $(INSTALLED) $(SOURCES)
	$(BIN)/maturin develop --profile checked
	@rm -f $(RELEASE)
	@touch $@

$(RELEASE): $(INSTALLED) $(SOURCES)
	$(BIN)/maturin develop --release
	@rm -f $(CHECKED)
	@touch $@

.PHONY: install
install: $(INSTALLED) ## Make .venv and install the locked tools

.PHONY: dev
dev: $(CHECKED) ## Build the extension for work and tests: some optimisation, every check on

.PHONY: release-dev
release-dev: $(RELEASE) ## Build the extension as it is released, for benchmarks

.PHONY: run
run: dev ## Run the demo
	$(BIN)/python -m penstock demo

.PHONY: format
format: install ## Format Rust and Python, and apply the safe fixes
	cargo fmt --all
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

.PHONY: lint
lint: lint-rust lint-python stubtest ## Check formatting, lints, types and stubs

.PHONY: lint-rust
lint-rust: install ## rustfmt, clippy and rustdoc, warnings as errors
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --package penstock-core --no-deps --document-private-items

.PHONY: lint-python
lint-python: install ## ruff, and pyright in strict mode
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright

.PHONY: stubtest
stubtest: dev ## Compare the stubs with the built extension
	$(BIN)/python -m mypy.stubtest penstock._core --mypy-config-file pyproject.toml

.PHONY: test
test: test-rust test-python ## Run all tests

.PHONY: test-rust
test-rust: ## Test the core
	cargo test --locked --profile checked --package penstock-core

.PHONY: test-python
test-python: dev ## Test the package, on both engines
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -p no:benchmark $(PYTEST_ARGS)

.PHONY: bench
bench: bench-rust bench-python ## Run all benchmarks

.PHONY: bench-rust
bench-rust: ## Measure the core
	cargo bench --locked --workspace --exclude penstock-bindings

.PHONY: bench-python
bench-python: release-dev ## Measure the package: core, reference, and what else there is
	$(BIN)/python -m pytest benches/python --benchmark-only --benchmark-quiet --timeout=0 $(PYTEST_ARGS)

.PHONY: lock
lock: ## Renew requirements/dev.lock after a change of the dependency groups (needs uv)
	uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--no-header --no-emit-index-url --group build --group lint --group test --output-file $(LOCK)

.PHONY: all
all: ## What a change has to pass: format, build, lint, test
	@$(MAKE) format
	@$(MAKE) dev
	@$(MAKE) lint
	@$(MAKE) test

.PHONY: clean
clean: ## Remove everything that was made here, .venv too
	rm -rf $(VENV) target dist .benchmarks .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -f python/penstock/_core.*.so python/penstock/_core.so python/penstock/_core.pyd
	find python tests benches -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## Show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
