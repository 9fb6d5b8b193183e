PYTHON ?= python3
BIN := .venv/bin
# Exist when the environment matches the sources below: what it takes to build and run, and all the rest.
BUILT := .venv/built
READY := .venv/ready
# The front end: what is built of it, and the packages it is built with.
STATIC := src/backblocks/studio/static
MODULES := web/node_modules/.package-lock.json

export PIP_DISABLE_PIP_VERSION_CHECK = 1
# The studio and its tests start hundreds of processes; without files of bytecode each would compile the library.
unexport PYTHONDONTWRITEBYTECODE

# Two processes; the one that is done first takes tests from the other.
SPREAD := -n 2 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help run test test-all check web browser sanitize tsan fuzz bench bench-studio screenshots wheel test-oldest lock generate vectors \
	exports clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Kernels and front end are built at the same time.
run: ## start the studio
	@$(MAKE) --no-print-directory -j 2 $(BUILT) web
	$(BIN)/backblocks studio

test: $(READY) web browser ## run the tests that a change must pass, those in a real browser too
	$(BIN)/pytest $(SPREAD) -m "not long"
	cd web && npm test && KILL_RUNS=3 npm run e2e

test-all: $(READY) web browser ## run all tests, and every fuzzer for a short while
	$(BIN)/pytest $(SPREAD)
	cd web && npm test && npm run e2e
	$(MAKE) fuzz SECONDS=180 SEED=1

check: $(READY) $(MODULES) ## check style, format, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	cd web && npm run check

web: $(STATIC)/index.html $(STATIC)/ops.json ## build what the studio shows in the browser

browser:
	@tools/find_browser.sh >/dev/null

bench-studio: $(READY) web browser ## time the studio in a real browser on a page of 1,000 blocks
	cd web && npm run bench

screenshots: $(READY) web browser ## make the pictures of the studio in docs/ anew
	cd web && npm run screenshots

# The sanitizers must be loaded before Python. Python itself leaves memory behind, on purpose.
# They make kernels several times slower, so what counts as hanging takes longer too.
SANITIZED = LD_PRELOAD="$(foreach each,asan ubsan,$(shell $(CXX) -print-file-name=lib$(each).so))" \
	PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	.venv-sanitize/bin/pytest $(SPREAD) -q --timeout 1800
sanitize: .venv-sanitize/ready ## run the kernels' tests with AddressSanitizer and UndefinedBehaviorSanitizer
	$(SANITIZED) tests/native tests/ops/test_laws.py tests/ops/test_odd_values.py
	$(SANITIZED) tests/ops --native-ops

# -s: a report ends the process, with what pytest has captured. It must be loaded before Python, and go on in children that were forked. Nothing has to be suppressed.
THREADS_SANITIZED = LD_PRELOAD="$(shell $(CXX) -print-file-name=libtsan.so)" \
	TSAN_OPTIONS="halt_on_error=1 die_after_fork=0" \
	.venv-tsan/bin/pytest -q -s --timeout 1800
tsan: .venv-tsan/ready ## run the tests of threads with ThreadSanitizer
	$(THREADS_SANITIZED) tests/native/test_threads.py

# With SEED=1 the tries are the same each time: test-all is to fail by what was changed.
SECONDS = 60
TARGETS = ops,kernels,page,npy,npz,safetensors,checkpoint,bundle,message
fuzz: $(READY) ## try random calls, files and messages for SECONDS=60 in all, all or TARGETS=ops,page
	$(BIN)/python tools/fuzz $(TARGETS) --seconds $(SECONDS) $(if $(SEED),--first $(SEED))

bench: .venv-bench/ready ## time the ops beside their peers; ARGS=--quick for minutes
	.venv-bench/bin/backblocks bench --json bench/results.json --svg bench/results.svg $(ARGS)

wheel: $(READY) web ## build the wheel into dist/, with its bill of materials
	rm -f dist/backblocks-*
	$(BIN)/pip wheel -q . --no-deps --no-build-isolation $(STRICT) --wheel-dir dist
	$(BIN)/python tools/sbom.py dist/*.whl

# The wheel as a user may have it: installed, on the oldest versions of what it needs.
test-oldest: wheel ## run the Python tests on the built wheel with the lowest versions that it allows
	rm -rf .venv-oldest
	$(PYTHON) -m venv .venv-oldest
	$(BIN)/python tools/lowest_versions.py > .venv-oldest/lowest.txt
	.venv-oldest/bin/pip install -q -c .venv-oldest/lowest.txt "$$(echo dist/*.whl)[studio,images,volumes]" \
		pytest pytest-timeout pytest-xdist hypothesis jsonschema mypy
	.venv-oldest/bin/pytest $(SPREAD) -q -p no:cacheprovider

# Every package of the development environment, with its hash, and those of them that are needed to build and
# run. uv is needed for this alone.
COMPILE = $(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
	| .venv-lock/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --custom-compile-command "make lock" --extra studio pyproject.toml -
lock: ## write the locks anew, with the newest versions that pyproject.toml allows
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install -q uv
	$(COMPILE) --extra images --extra volumes --group dev --upgrade -o requirements-dev.txt
	$(COMPILE) --group build --upgrade -c requirements-dev.txt -o requirements-run.txt

generate: $(READY) ## rewrite the generated files
	$(BIN)/python tools/generate.py

vectors: .venv-tf/ready ## record TensorFlow's answers anew, all or those to OPS="Tanh Exp"
	.venv-tf/bin/python tools/record_tf_vectors.py $(OPS)
	.venv-tf/bin/python tools/record_tf_signatures.py

exports: $(READY) .venv-tf/ready ## record what TensorFlow gives for exported pages
	$(BIN)/python tools/record_exports.py .venv-tf/bin/python

clean: ## remove everything that make has made
	rm -rf .venv .venv-bench .venv-lock .venv-oldest .venv-sanitize .venv-tf .venv-tsan .fuzz bench build dist $(STATIC) web/node_modules web/e2e/node_modules web/dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests tools -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# Warnings are errors here and not in CMakeLists.txt: another compiler's new warning must not
# keep a user from installing.
STRICT := -C cmake.define.CMAKE_COMPILE_WARNING_AS_ERROR=ON

# Python files are used where they stand; only these sources ask for a new build.
$(BUILT): pyproject.toml requirements-run.txt CMakeLists.txt $(wildcard native/*)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --require-hashes -r requirements-run.txt
	$(BIN)/pip install -q -e . --no-deps --no-build-isolation $(STRICT)
	touch $@

$(READY): $(BUILT) requirements-dev.txt
	$(BIN)/pip install -q --require-hashes -r requirements-dev.txt
	touch $@

# Not npm ci: it wants the lock to name the packages of every system, and some registries have only ours.
$(MODULES): web/package-lock.json
	cd web && npm install --no-save --no-audit --no-fund --loglevel=error
	touch $@

$(STATIC)/index.html: $(MODULES) web/index.html web/vite.config.ts $(shell find web/src web/public -type f)
	cd web && npm run build -- --logLevel warn
	touch $@

# The palette is read off the registry, so that a page is shown before the library is loaded.
$(STATIC)/ops.json: $(BUILT) tools/palette.py $(shell find src/backblocks/ops -name '*.py')
	$(BIN)/python tools/palette.py

.venv-sanitize/ready: pyproject.toml requirements-dev.txt CMakeLists.txt $(wildcard native/*)
	$(PYTHON) -m venv .venv-sanitize
	.venv-sanitize/bin/pip install -q --require-hashes -r requirements-dev.txt
	.venv-sanitize/bin/pip install -q -e . --no-deps --no-build-isolation -C cmake.define.SANITIZE=ON -C cmake.define.ALL_ISAS=ON \
		-C build-dir=.venv-sanitize/build
	touch $@

.venv-tsan/ready: pyproject.toml requirements-dev.txt CMakeLists.txt $(wildcard native/*)
	$(PYTHON) -m venv .venv-tsan
	.venv-tsan/bin/pip install -q --require-hashes -r requirements-dev.txt
	.venv-tsan/bin/pip install -q -e . --no-deps --no-build-isolation -C cmake.define.SANITIZE_THREADS=ON \
		-C build-dir=.venv-tsan/build
	touch $@

# TensorFlow is what the library is compared with, and no dependency of anything.
.venv-tf/ready:
	$(PYTHON) -m venv .venv-tf
	.venv-tf/bin/pip install -q tensorflow-cpu==2.21.0
	touch $@

# What the benchmark compares with. Each is optional: the benchmark says which take part.
# PyPI's torch is built for graphics cards; +cpu is torch's own build without.
PEERS := tensorflow-cpu==2.21.0 torch==2.13.0+cpu jax==0.10.2
.venv-bench/peers:
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install -q --upgrade pip
	for peer in $(PEERS); do \
		.venv-bench/bin/pip install -q --retries 1 $$peer \
			--extra-index-url https://download.pytorch.org/whl/cpu \
			|| echo "$$peer cannot be installed here: the benchmark runs without it"; \
	done
	touch $@

.venv-bench/ready: .venv-bench/peers pyproject.toml CMakeLists.txt $(wildcard native/*)
	.venv-bench/bin/pip install -q -e . -C build-dir=.venv-bench/build
	touch $@
