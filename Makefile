PYTHON ?= python3
BIN := .venv/bin
# Exists when the environment matches the sources below.
READY := .venv/ready

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.PHONY: help run test check wheel generate vectors clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(READY) ## take the tour: a worked example from start to end
	$(BIN)/python -m backblocks.tour

test: $(READY) ## run the tests
	$(BIN)/pytest -n 2

check: $(READY) ## check style, format, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

wheel: $(READY) ## build the wheel into dist/
	$(BIN)/pip wheel -q . --no-deps --wheel-dir dist

generate: $(READY) ## rewrite the generated files
	$(BIN)/python tools/generate.py

vectors: .venv-tf/ready ## record TensorFlow's answers anew, all or those to OPS="Tanh Exp"
	.venv-tf/bin/python tools/record_tf_vectors.py $(OPS)
	.venv-tf/bin/python tools/record_tf_signatures.py

clean: ## remove everything that make has made
	rm -rf .venv .venv-tf dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests tools -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# Python files are used where they stand; only these sources ask for a new build.
# --group needs pip 25.1, newer than the pip that venv brings.
# Warnings are errors here and not in CMakeLists.txt: another compiler's new warning must not
# keep a user from installing.
$(READY): pyproject.toml CMakeLists.txt $(wildcard native/*)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --upgrade pip
	$(BIN)/pip install -q -e . --group dev -C cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON
	touch $@

# TensorFlow is what the library is compared with, and no dependency of anything.
.venv-tf/ready:
	$(PYTHON) -m venv .venv-tf
	.venv-tf/bin/pip install -q tensorflow-cpu==2.21.0
	touch $@
