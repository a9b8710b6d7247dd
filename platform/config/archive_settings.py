"""Settings of the archive's cold storage: old sealed segments lie in an object store."""

from config import env

# s3://bucket/prefix, gs://…, az://… or file:///folder; empty: all stays in the database.
ARCHIVE_STORE = env.store_url("ARCHIVE_STORE", http=False)
# Endpoint, region, credentials and the like, as a JSON object. It has secrets: it is never shown.
ARCHIVE_STORE_OPTIONS = env.json_object("ARCHIVE_STORE_OPTIONS")
# A sealed segment moves when it ends so many slots behind the newest one: about 30 days.
ARCHIVE_STORE_AFTER_SLOTS = env.integer("ARCHIVE_STORE_AFTER_SLOTS", 6_480_000)
# Packed blocks kept in the memory of each process that reads them.
ARCHIVE_STORE_CACHE_BYTES = env.integer("ARCHIVE_STORE_CACHE_MB", 64, minimum=1) * 1_048_576
# How long one request to the store, and the reads of one statement together, may take.
ARCHIVE_STORE_TIMEOUT_SECONDS = env.integer(
    "ARCHIVE_STORE_TIMEOUT_SECONDS", 10, minimum=1, maximum=300
)
