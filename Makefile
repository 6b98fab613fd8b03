# What a person types here. The work is done by the small programs in tools/; `make help` lists the targets.
#
# FG_BUILD=DIR and FG_VENVS=DIR, in the environment or after `make`, move what is built. CC is the C compiler.
# PY=3.13 chooses the CPython of dev, demo and canary.
PYTHON ?= $(shell sh tools/find_python.sh)
PY ?=
MINUTES ?= 1
HOURS ?= 8

RUN = $(if $(PYTHON),$(PYTHON),$(error CPython 3.11 or later is needed and none was found)) -m

.DEFAULT_GOAL := help
.PHONY: help demo test nightly kselftest real dev pythons pythons-sid bench lint format types asan tsan docs
.PHONY: files clean canary wheels site soak vscode

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS='	' read -r name text; do \
	    printf '  make %-11s %s\n' "$$name" "$$text"; done

demo: ## build, record a real program, print its function graph and its summary, draw a flame graph
	@$(RUN) tools.demo $(PY)

test: ## all tests: C, and Python on every CPython 3.11 to 3.15 that is here
	@$(RUN) tools.test

nightly: ## all tests on each CPython, 10,000 random programs against the models, a minute of stress, all of CPython's tests, a deep look at all C code, the kernel's selftests
	@FUNCGRAPH_NIGHTLY=1 $(RUN) tools.lint
	@FUNCGRAPH_NIGHTLY=1 $(RUN) tools.test
	@FUNCGRAPH_NIGHTLY=1 $(RUN) tools.native asan
	@FUNCGRAPH_NIGHTLY=1 $(RUN) tools.native tsan
	@$(RUN) tools.site
	@$(RUN) tools.real.soak --hours 1
	@$(RUN) tools.kselftest

canary: ## a minute (MINUTES=30) of root's commands on hostile programs: nothing of root's may change (as root)
	@FUNCGRAPH_CANARY_MINUTES=$(MINUTES) $(RUN) tools.test --python '$(PY)' -- tests/security/test_canary.py

kselftest: ## the kernel's own selftests of ftrace, on a mount, as in docs/internals/kselftest.md (as root; downloads; 10 min)
	@$(RUN) tools.kselftest

real: ## other people's test suites and servers, untraced and traced: nothing may differ (downloads; 15 minutes)
	@$(RUN) tools.real

soak: ## a real server under load for HOURS=8, with all that can be done to a running process (downloads)
	@$(RUN) tools.real.soak --python '$(PY)' --hours $(HOURS) --write

dev: ## build and install into .venvs/3.13 (PY=3.13; the newest CPython if not given)
	@$(RUN) tools.venvs $(PY)

pythons: ## list the CPythons that are here, and those that are not
	@$(RUN) tools.pythons

pythons-sid: ## put Debian's newest CPythons, 3.14 and 3.15, into the folder /srv/sid (FG_SID=DIR; as root)
	@$(RUN) tools.sid

wheels: ## wheels of each CPython and the sdist, in dist/: built twice, audited, tried in fresh environments (10 min)
	@$(RUN) tools.wheels

bench: ## the figures of docs/reference/performance.md, on CPython 3.11 and 3.13
	@$(RUN) tools.bench

lint: ## ruff, clang-format, clang-tidy, actionlint, and no warning from gcc and clang
	@$(RUN) tools.lint

format: ## let ruff and clang-format change the files
	@$(RUN) tools.lint --fix

types: ## mypy --strict, and the stubs against the built modules
	@$(RUN) tools.types

asan: ## the C tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(RUN) tools.native asan

tsan: ## the C tests under ThreadSanitizer
	@$(RUN) tools.native tsan

docs: ## check the documents: links, and that each option is in its manual page
	@$(RUN) tools.docs

vscode: ## the tests of the extension for VS Code, in editors/vscode (needs npm; downloads)
	@FUNCGRAPH_NIGHTLY=1 $(RUN) tools.test --python '$(PY)' -- tests/test_vscode.py

site: ## all pages as one site with a search, in build/site (a minute; three if the tests have to make its pictures)
	@$(RUN) tools.site

files: ## write docs/internals/files.md, the table of all source files, from their first comments
	@$(RUN) tools.file_table

clean: ## remove what was built
	rm -rf $(or $(FG_BUILD),build) $(or $(FG_VENVS),.venvs) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
