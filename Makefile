# make setup   a virtual environment in .venv with the command `ironbird`
# make demo    fly the F450 in wind with a motor fault, then 48 faulted flights; ends with the path of a report
# make test    format, lint, types, import contracts beside the tests; make test-core leaves out breadth and whole commands
# make mutants plant wrong things in a copy of the source, one at a time; a test must see each (ONLY=text, JOBS=2, RESUME=1)
#              GENERATED=300 draws as many by chance instead (SEED=1), beside those that are written
# make coverage  run the tests with every line and branch counted, in Python and in C (gcc, gcov); an hour
# make bench   measure speed against JSBSim and the reference loop
# make sanitize  every vehicle and all native code of the links under the address and undefined-behaviour sanitizers
# make test-long  checks that take minutes; make safety  the whole safety suite; make soak  long runs; make test-autopilots  tests with real PX4 and ArduPilot
# make place-and-route  chips of a Pixhawk 4 in an ECP5 and an iCE40 over several seeds, and their cores against the models on 100,000 transactions
# make power-cuts  1,000 power cuts and failing disks under a campaign, 50 kills of PostgreSQL
# make fuzz    attack every reader of files, texts and packets for TIME seconds (3600)
# make docs    write the generated pages of docs/ anew
# make site    build the web site of docs/ into out/site; opens from the disk, without a network
# make audit   look at the packages that are used: pinned, hashed, as locked; known weaknesses if pip-audit is there
# make sbom    write sbom.json, the software bill of materials (CycloneDX)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO := $(VENV)/.installed-demo
DRIVERS := $(VENV)/drivers/.installed
COVERAGE := $(VENV)/coverage/.installed
SITE := $(VENV)/site/.installed

TIME ?= 3600

.PHONY: setup demo test test-core pytest lint style types bench docs site lock soak fuzz power-cuts clean system safety sanitize test-autopilots test-long audit sbom mutants coverage place-and-route

setup: $(STAMP)

define install  # the packages of a lock file, pip first, and Ironbird itself from here
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, this is " + sys.version)'
	$(PYTHON) -m venv $(VENV)
	@awk '/^pip==/ {on = 1} on {print} on && /# via/ {exit}' $(1) > $(VENV)/pip.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/pip.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(1)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
endef

$(STAMP): locks/requirements.lock pyproject.toml
	@echo "== setup: Python packages into $(VENV)"
	$(call install,locks/requirements.lock)
	@touch $(STAMP) $(DEMO)

# What the demonstration needs and no more: a part of locks/requirements.lock
$(DEMO): locks/requirements-demo.lock pyproject.toml
	@echo "== setup: Python packages of the demonstration into $(VENV)"
	$(call install,locks/requirements-demo.lock)
	@touch $(DEMO)

# Drivers of chips that others wrote, without the hardware libraries that they name: for tests, in a folder of their own
$(DRIVERS): locks/requirements-drivers.lock | setup
	@echo "== drivers: of chips, from PyPI, into $(VENV)/drivers"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target $(VENV)/drivers --no-deps --no-build-isolation \
	    --no-compile --require-hashes -r locks/requirements-drivers.lock
	@touch $(DRIVERS)

# What counts lines, in a folder of its own: no other Python process finds it
$(COVERAGE): locks/requirements-coverage.lock | setup
	@echo "== coverage: coverage.py into $(VENV)/coverage"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target $(VENV)/coverage --no-deps \
	    --require-hashes -r locks/requirements-coverage.lock
	@touch $(COVERAGE)

demo: $(DEMO)
	@echo "== demo: F450 in wind with turbulence, one motor loses speed at 20 s"
	$(BIN)/ironbird fly quad_f450 --mission square --wind 6,240 --turbulence 8 --seed 1 \
	    --fault 'rotor.speed_loss@1:instance=1,severity=0.15,start=20' --out out/demo
	@echo "== demo: a campaign of 48 faulted flights of the safety suite, judged and stored"
	$(BIN)/ironbird campaign run safety --tag quad_f450 --sample 48

system: setup
	@echo "== system packages for the tests"
	@./tools/install_system_packages.sh

lint: style types

style: setup
	@echo "== format, lint"
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup
	@echo "== types, import contracts"
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports

# One worker more than cores: some tests wait for the clock. Byte code is kept: hundreds of commands are started.
pytest: setup system $(DRIVERS) $(COVERAGE)
	@echo "== tests$(if $(MARKED), that are $(MARKED))"
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 3 --dist worksteal $(if $(MARKED),-m "$(MARKED)")

test-core: style
	@$(MAKE) --no-print-directory --jobs 2 types pytest MARKED="not (breadth or slow or system)"

test: style
	@$(MAKE) --no-print-directory --jobs 2 types pytest

mutants: setup
	@echo "== mutants: each wrong thing must be seen by a test$(if $(GENERATED),; $(GENERATED) drawn by chance)"
ifdef GENERATED
	$(BIN)/python tools/generated_mutants.py $(GENERATED) --seed $(or $(SEED),1) $(if $(ONLY),--only $(ONLY),--record docs/measured/generated_mutants.json)
else
	$(BIN)/python tools/mutants.py $(if $(ONLY),--only $(ONLY),--record docs/measured/mutants.json) --jobs $(or $(JOBS),1) $(if $(RESUME),--resume)
endif

coverage: setup system $(DRIVERS) $(COVERAGE)
	@echo "== coverage: lines and branches that the tests run, in Python and in C"
	$(BIN)/python tools/measure_coverage.py --record docs/measured/coverage.json $(ONLY)
	$(BIN)/python tools/write_robustness_page.py

bench: setup
	@echo "== bench: speed as a ratio to JSBSim in the same run"
	$(BIN)/ironbird bench --out bench/latest.json

soak: setup
	@echo "== soak: 10^8 steps with flat memory, 4,096 lanes"
	$(BIN)/python bench/soak.py
	@echo "== soak: the live rig, watched for half an hour"
	$(BIN)/python bench/app.py --minutes 30

sanitize: setup system
	@echo "== sanitize: native code of all vehicles and links under AddressSanitizer and UndefinedBehaviorSanitizer"
	$(BIN)/python tools/sanitize.py $(if $(RESUME),--resume) --record docs/measured/sanitize.json

power-cuts: setup system
	@echo "== power-cuts: 1,000 power cuts and every failing operation of the disk under a campaign on SQLite"
	$(BIN)/python bench/power_cuts.py --out docs/measured/power_cuts.json
	@echo "== power-cuts: PostgreSQL killed 50 times during a campaign"
	$(BIN)/python bench/database_kills.py --out docs/measured/database_kills.json

place-and-route: setup
	@echo "== place-and-route: four chips in one LFE5U-25F and one iCE40 HX8K, several seeds; cores against models"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/requirements-hdl.lock
	$(BIN)/python bench/hdl.py --out docs/measured/hdl.json

test-long: setup system
	@echo "== test-long: checks that take minutes, such as whole vehicles as FMUs in FMPy"
	$(BIN)/python -m pytest tests/long

safety: setup
	@echo "== safety: the whole safety suite, several hundred faulted flights on every kind of vehicle"
	$(BIN)/ironbird campaign run safety

fuzz: setup
	@echo "== fuzz: $(TIME) s over all readers; ends with exit code 1 and the path of the input after a find"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/requirements-fuzz.lock \
	    || echo "atheris cannot be had here: plain mutations, without guidance by coverage"
	$(BIN)/python -m fuzz --time $(TIME) --work out/fuzz

test-autopilots: setup
	@echo "== test-autopilots: tests with real PX4 and ArduPilot (IRONBIRD_PX4, IRONBIRD_ARDUPILOT)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/requirements-clients.lock
	$(BIN)/python -m pytest tests/autopilots

docs: setup
	@echo "== docs: pages made by commands"
	$(BIN)/python tools/write_verification.py
	$(BIN)/python tools/write_mavlink_table.py
	$(BIN)/python tools/write_block_reference.py
	$(BIN)/python tools/write_api_reference.py
	$(BIN)/python tools/write_json_page.py
	$(BIN)/python tools/write_command_reference.py
	$(BIN)/python tools/write_lookup_pages.py
	$(BIN)/python tools/write_fault_page.py
	$(BIN)/python tools/write_vehicle_pages.py
	$(BIN)/ironbird bench fleet --out docs/fleet.md
	$(BIN)/python tools/write_case_files.py
	$(BIN)/python tools/write_rflysimsafe_page.py
	$(BIN)/python tools/write_sources_page.py
	$(BIN)/python tools/write_robustness_page.py
	$(BIN)/python tools/write_pictures.py

# The generator lives in an environment of its own: it needs nothing of Ironbird
$(SITE): locks/requirements-site.lock
	@echo "== site: its generator into $(VENV)/site"
	$(PYTHON) -m venv $(VENV)/site
	$(VENV)/site/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r locks/requirements-site.lock
	@touch $(SITE)

site: $(SITE)
	@echo "== site: the pages of docs/ into out/site; a dead link is an error"
	NO_MKDOCS_2_WARNING=1 $(VENV)/site/bin/mkdocs build --quiet --strict --clean --site-dir out/site
	@echo "site: out/site/index.html"

lock:
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --extra dev \
	    --extra autopilots --extra campaigns --extra cluster \
	    --python-version 3.11 pyproject.toml tools/build-requirements.in -o locks/requirements.lock
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --extra campaigns \
	    --python-version 3.11 --constraint locks/requirements.lock pyproject.toml tools/build-requirements.in \
	    -o locks/requirements-demo.lock
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --group site \
	    --python-version 3.11 --constraint locks/requirements.lock -o locks/requirements-site.lock
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --extra clients \
	    --python-version 3.11 --constraint locks/requirements.lock pyproject.toml -o locks/requirements-clients.lock
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --extra fuzz \
	    --python-version 3.11 --constraint locks/requirements.lock pyproject.toml -o locks/requirements-fuzz.lock
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --extra hdl \
	    --python-version 3.11 --constraint locks/requirements.lock pyproject.toml -o locks/requirements-hdl.lock
	uv pip compile --quiet --no-deps --generate-hashes --no-emit-index-url --no-header --no-annotate \
	    --python-version 3.11 tools/drivers.in -o locks/requirements-drivers.lock
	uv pip compile --quiet --no-deps --generate-hashes --no-emit-index-url --no-header --no-annotate \
	    --python-version 3.11 tools/coverage.in -o locks/requirements-coverage.lock

sbom: setup
	@echo "== sbom: software bill of materials from locks/requirements.lock and the installed packages"
	$(BIN)/python tools/write_sbom.py

audit: setup
	@echo "== audit: packages pinned, hashed, consistent, as locked; weaknesses by pip-audit where it is installed"
	$(BIN)/python tools/audit_dependencies.py

clean:
	rm -rf $(VENV) out
