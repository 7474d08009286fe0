# `make demo` and `make test` install what is missing first; `make help` lists the rest.
PYTHON := .venv/bin/python
MPIRUN ?= mpirun
ARGS ?=

# One thread per rank; Open MPI as root, with more ranks than cores, without ssh.
export OMP_NUM_THREADS ?= 1
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
export OMPI_MCA_rmaps_base_oversubscribe := 1
export OMPI_MCA_plm := isolated

.PHONY: help env demo test test-all test-slow test-attack test-faults lint bench docs dist clean

# to collect all tests takes as long as some of those under mpirun: the folders that have such, unless ARGS names tests
MPI_TESTS = $(if $(filter tests/%,$(ARGS)),,$(shell grep -rl 'mark\.mpi' tests | sed 's|/[^/]*$$||' | sort -u))

# Serial tests in two processes, then the mpirun ones one after another: two mpirun at once slow each other down and
# can collide in Open MPI's session directory. Exit status 5 of pytest: nothing selected, allowed in one of the two.
run_tests = s=0; m=0; \
	$(PYTHON) -m pytest -n 2 --dist loadfile -m "$(1) and not mpi" $(ARGS) || s=$$?; \
	$(PYTHON) -m pytest -m "$(1) and mpi" $(ARGS) $(MPI_TESTS) || m=$$?; \
	case $$s-$$m in 0-0|0-5|5-0) ;; *) echo "tests failed (pytest: $$s serial, $$m mpi)" >&2; exit 1;; esac

help:       ## this list
	@awk -F': *[a-z]* *## *' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env:        ## the environment in .venv, with the timefem command in .venv/bin
	@tools/make_env.sh

demo: env   ## the spinning box under mpirun -n 2, a table and a figure
	@if $(PYTHON) -c 'import mpi4py, petsc4py' 2>/dev/null; then $(MPIRUN) -n 2 $(PYTHON) examples/demo.py $(ARGS); \
	else $(PYTHON) examples/demo.py $(ARGS); fi

test: env   ## the quick tests, the mpirun ones included (ARGS="-k name" and the like go to pytest)
	@$(call run_tests,not slow and not long)

test-all: env  ## those marked long, too
	@$(call run_tests,not slow)

test-slow: env  ## the tests marked slow
	@$(call run_tests,slow)

test-attack: env ## damaged files, kills, full disks, ranks that do not fit; prints its table (ARGS="--attack-scale 1")
	$(PYTHON) -m pytest tests/attack -m slow -q $(ARGS)

test-faults: env ## faults that strangers found, the slow ones included; prints what is right, what was found, a verdict
	$(PYTHON) -m pytest tests/faults -n 2 -m "" -q --tb=line $(ARGS)

lint: env   ## ruff, spelling and words, and mypy on the examples, whose folders have modules of the same names
	$(PYTHON) -m ruff check .
	$(PYTHON) -m codespell_lib timefem docs examples tools benchmarks README.md CONTRIBUTING.md CHANGELOG.md
	$(PYTHON) tools/refused_words.py
	$(PYTHON) tools/stubs.py --check
	@for folder in $(sort $(dir $(wildcard examples/*.py examples/*/*.py))); do \
	    echo "mypy $$folder"; $(PYTHON) -m mypy $$folder*.py || exit 1; \
	done

bench: env  ## every bench_ script in benchmarks/, but those that take another version
	@for script in $(filter-out %_versions.py %_marches.py, $(wildcard benchmarks/bench_*.py)); do \
	    [ -e "$$script" ] || continue; echo "== $$script"; $(PYTHON) "$$script" || exit 1; \
	done

docs: env   ## the guide as a site with a folder for each version, in site (docs/images by tools/docs_images.py)
	@$(PYTHON) -c 'import latex2mathml, material' 2>/dev/null || \
	    $(PYTHON) -m pip install -q --disable-pip-version-check -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(PYTHON) tools/build_docs.py

dist: env   ## a source package, a wheel for all machines and one with compiled loops, in the folder dist, checked
	@$(PYTHON) -c 'import build, twine' 2>/dev/null || \
	    $(PYTHON) -m pip install -q --disable-pip-version-check -e '.[dist]'
	rm -rf dist build
	$(PYTHON) -m build --sdist
	TIMEFEM_CACHE_DIR=off $(PYTHON) -m pip wheel -q --no-deps --no-cache-dir -w dist dist/*.tar.gz
	env -u TIMEFEM_CACHE_DIR $(PYTHON) -m pip wheel -q --no-deps --no-cache-dir -w dist dist/*.tar.gz
	$(PYTHON) -m twine check --strict dist/*

clean:      ## remove caches and build products (not .venv)
	rm -rf build dist site *.egg-info .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find . -path ./.venv -prune -o -path ./.git -prune -o -type d -name __pycache__ -exec rm -rf {} +
