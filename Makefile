# make run   the whole service on this machine        make test   the tests
# make quick   the tests that need no service, and a smoke test through the endpoints
.PHONY: run test quick bench soak clients real check protobuf image clean environment development
.PHONY: clients-generate clients-build

# One shell word list each, for what a caller wants to add: make test ARGS="tests/access -k rotation"
ARGS ?=

# The folders without a database, without their properties and processes; of each other package a
# file or two in which its endpoint answers.
QUICK = $(addprefix tests/,chain jsonrpc simulator test_layout.py test_language.py) \
	$(addprefix tests/gateway/test_,endpoint.py whoami.py reading.py point_reads.py plain_endpoint.py) \
	tests/access/test_keys.py tests/alerts/test_keys.py tests/historical/test_parsed_references.py \
	tests/ingest/test_import_blocks.py tests/operations/test_readiness.py tests/portal/test_pages.py \
	tests/priority/test_send_refusals.py tests/rewind/test_account_info.py tests/rewind/test_diff.py \
	tests/tipping/test_tip_info.py tests/upstream/test_http_answers.py \
	--ignore-glob=*_any*.py --ignore=tests/simulator/test_random_bundles.py \
	--ignore=tests/simulator/test_workers.py --ignore=tests/simulator/test_pooled.py

# make test DATABASE_URL=postgresql://…: on that server, in databases that the tests make (and drop);
# what the environment says is left alone.
ifeq ($(origin DATABASE_URL),command line)
export TIDEMARK_TEST_DATABASE_URL := $(DATABASE_URL)
endif

run: environment
	@exec .venv/bin/python manage.py run $(ARGS)

# What takes longer, or needs a toolchain beyond Node, runs in targets of its own.
BRIEF = not soak and not clients

# In five processes; a few tests alone run in one (tests/spreading.py). With two malloc arenas a
# process of many threads gives more of its memory back.
test: development
	@MALLOC_ARENA_MAX=2 .venv/bin/pytest -q -n auto -m "$(BRIEF)" $(ARGS)

# In a minute, in two processes: these tests hardly wait. docs/testing.md says what it leaves out.
quick: development
	@.venv/bin/pytest -q -n 2 -m "$(BRIEF)" $(QUICK) $(ARGS)

# Long runs and walks in a browser, left out of `make test`, and each property with all its examples.
soak: development
	@.venv/bin/pytest -q -m "soak or hypothesis" --hypothesis-profile=random $(ARGS)

# Other people's clients and ours, each on its own stack, with its packages of the registries.
clients: development
	@.venv/bin/pytest -q -m clients tests/clients $(ARGS)

# Our own clients, made from the API's documents: after a change of a method, of a GET, of the
# management API or of an error. A test holds that they are fresh.
clients-generate: development
	@.venv/bin/python clients/documents.py
	@.venv/bin/python clients/python/generate.py
	@cd clients/typescript && npm ci --ignore-scripts --omit=optional && npm run -s generate

# A wheel and a source distribution in clients/python/dist, and clients/typescript/tidemark-*.tgz.
clients-build: development
	@.venv/bin/python -m build --quiet clients/python
	@cd clients/typescript && npm ci --ignore-scripts --omit=optional && npm pack

# A real validator beside the service, where there is one; docs/testing.md says how to get it.
real: development
	@.venv/bin/pytest -q -rPs -m real tests/real $(ARGS)

bench: development
	@.venv/bin/python -m benchmarks $(ARGS)

check: development
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy
	@.venv/bin/mypy --config-file clients/python/pyproject.toml
	@# The warning it may give: no database is running to compare with, and none is needed.
	@.venv/bin/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

# After a change to a .proto file: a test holds that what is made of them is fresh.
protobuf: development
	@cd platform && ../.venv/bin/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. \
		upstream/protobuf/*.proto

# The image of every process, by the first engine that is there: make image ENGINE=docker TAG=mine
ENGINE ?= $(notdir $(firstword $(foreach each,buildah podman docker,$(shell command -v $(each)))))
TAG ?= tidemark
image:
	@test -n "$(ENGINE)" || { echo "No engine on PATH: apt-get install buildah" >&2; exit 1; }
	$(ENGINE) build $(if $(filter docker,$(ENGINE)),,--ignorefile deploy/container/Containerfile.dockerignore) \
		--file deploy/container/Containerfile --tag $(TAG) $(ARGS) .

# What the service needs, and that with what tests, checks and benchmarks need.
environment:
	@.ci/environment
development:
	@.ci/environment dev

# Everything made, but for .run: that is data.
clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
