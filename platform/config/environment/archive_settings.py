"""Settings of the archive's cold storage, where old sealed segments lie, and of its replays."""

from config.environment import env, store_env

# s3://bucket/prefix, gs://…, az://… or file:///folder; empty: all stays in the database.
ARCHIVE_STORE = store_env.address("ARCHIVE_STORE")
# Endpoint, region, credentials and the like; its values are never shown.
ARCHIVE_STORE_OPTIONS = store_env.options("ARCHIVE_STORE_OPTIONS", ARCHIVE_STORE)
# A sealed segment moves when it ends so many slots behind the newest one: about 30 days.
ARCHIVE_STORE_AFTER_SLOTS = env.integer("ARCHIVE_STORE_AFTER_SLOTS", 6_480_000)
# Packed blocks kept in the memory of each process that reads them.
ARCHIVE_STORE_CACHE_BYTES = env.integer("ARCHIVE_STORE_CACHE_MB", 64, minimum=1) * 1_048_576
# How long one request to the store, and the reads of one statement together, may take.
ARCHIVE_STORE_TIMEOUT_SECONDS = env.integer(
    "ARCHIVE_STORE_TIMEOUT_SECONDS", 10, minimum=1, maximum=300
)
# Replays made in forms: for how many days they are kept (0: for good), how many of a customer, and
# the megabytes of a customer's uploaded builds.
REPLAY_DAYS = env.integer("REPLAY_DAYS", 365)
REPLAYS_KEPT = env.integer("REPLAYS_KEPT", 1_000, minimum=1)
REPLAY_BUILD_BYTES = env.integer("REPLAY_BUILD_MB", 64, minimum=1, maximum=1_024) * 1_048_576
