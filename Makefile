# make run   the whole service on this machine        make test   the tests
# make quick   the tests that need no service, and a smoke test through the endpoints
.PHONY: run test quick bench soak check protobuf clean environment

# One shell word list each, for what a caller wants to add: make test ARGS="tests/access -k rotation"
ARGS ?=

# Folders without a database; of those with one, how a request is let in and answered.
QUICK = $(addprefix tests/,chain jsonrpc simulator test_layout.py test_language.py) \
	$(addprefix tests/gateway/,test_endpoint.py test_whoami.py)

# make test DATABASE_URL=postgresql://…: on that server, in databases that the tests make (and drop);
# what the environment says is left alone.
ifeq ($(origin DATABASE_URL),command line)
export TIDEMARK_TEST_DATABASE_URL := $(DATABASE_URL)
endif

run: environment
	@exec .venv/bin/python manage.py run $(ARGS)

# In three processes; a few tests alone run in one (tests/spreading.py).
test: environment
	@.venv/bin/pytest -q -n auto -m "not soak" $(ARGS)

# In a minute; docs/testing.md says what it leaves out.
quick: environment
	@.venv/bin/pytest -q -n auto -m "not soak" $(QUICK) $(ARGS)

# Long runs and walks in a browser, left out of `make test`.
soak: environment
	@.venv/bin/pytest -q -m soak --hypothesis-profile=random $(ARGS)

bench: environment
	@.venv/bin/python -m benchmarks $(ARGS)

check: environment
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy
	@# The warning it may give: no database is running to compare with, and none is needed.
	@.venv/bin/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

# After a change to a .proto file: a test holds that what is made of them is fresh.
protobuf: environment
	@cd platform && ../.venv/bin/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. \
		upstream/protobuf/*.proto

environment:
	@.ci/environment

# Everything made, but for .run: that is data.
clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
