# Two commands for a newcomer: `make demo` and `make test`. Nothing but Python >= 3.11 has to be there.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SEED ?= 1
CASES ?= 20000
FILES ?= 1000000

.PHONY: help venv demo test lint types imports coverage fuzz bench scale bench-peers grading-faults grading-kills sandbox-attacks broken-bundles fixtures docs wheel clean

help:
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

$(BIN)/.ready: pyproject.toml requirements-dev.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "idkmesh-rules needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --requirement requirements-dev.txt
	$(BIN)/python -m compileall -q idkmesh_rules
	@touch $@

venv: $(BIN)/.ready ## make the virtual environment

demo: venv ## run the main job on the shipped fixtures, grade some candidates in a sandbox, and print why
	@$(BIN)/python fixtures/demo.py
	@$(BIN)/python fixtures/graded/demo.py

test: venv ## run the tests
	$(BIN)/python -m pytest -q -n 2

lint: venv ## ruff
	$(BIN)/ruff check .

types: venv ## mypy --strict
	$(BIN)/mypy

imports: venv ## one direction of imports, no I/O in the core
	$(BIN)/lint-imports

coverage: venv ## branch coverage of the whole test suite
	$(BIN)/python -m pytest -q -n 2 --cov --cov-report=term-missing:skip-covered

fuzz: venv ## the differential fuzzer: make fuzz CASES=100000 SEED=7
	$(BIN)/python -m tests.adversarial.fuzz --cases $(CASES) --seed $(SEED)

bench: venv ## every benchmark, ratios printed
	@for file in $(filter-out benchmarks/bench_peers.py,$(wildcard benchmarks/bench_*.py)); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

bench-peers: venv ## the benchmark beside other policy engines, which it installs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement benchmarks/requirements.txt
	$(BIN)/python benchmarks/bench_peers.py

scale: venv ## a snapshot and a workspace of FILES files (a million unless said otherwise), figures printed
	$(BIN)/python -m tests.adversarial.scale $(FILES)

grading-faults: venv ## every fault of protected grading: what happened, what was submitted, what was kept
	@$(BIN)/python -m tests.adversarial.grading_faults

grading-kills: venv ## `idkrules grade` killed at every step and asked again: what it came to, how often each job started
	@$(BIN)/python -m tests.adversarial.graded_kills

sandbox-attacks: venv ## every attack on the sandbox: what was seen of it, and which control holds it
	@$(BIN)/python -m tests.adversarial.sandbox_attacks

broken-bundles: venv ## what lint says of a bundle broken in twelve ways
	@PYTHONPATH=. $(BIN)/python -m tests.support.broken

fixtures: venv ## build fixtures/ and the self-test data anew
	$(BIN)/python fixtures/build.py
	$(BIN)/python fixtures/graded/build.py

docs: venv ## build the generated pages and schema anew
	$(BIN)/python docs/build.py

wheel: venv ## build the wheel into dist/
	$(BIN)/python -m build --wheel --outdir dist .

clean: ## remove what was built
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
