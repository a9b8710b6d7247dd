"""Every setting, once, each with its reason. What differs between installations is environment."""

import os
from logging.config import dictConfig
from pathlib import Path

from django.urls import reverse_lazy

from chain.derived_keys import derived_keypair
from chain.node_version import NEWEST
from columns.clusters import CITUS
from config.checks import SILENCED
from config.environment import env, store_env
from config.environment.databases import database_of, shared_memory
from config.environment.endpoint_classes import REST_FRAMEWORK, SPECTACULAR_SETTINGS  # noqa: F401  (every one of them is a setting)
from config.environment.kept_secrets import (
    kept_addresses,
    kept_secret_key,
    kept_tip_seed,
    metrics_token,
)
from config.environment.mail import mail_settings
from config.environment.oidc import requested_scopes, require_whole, staff_groups
from config.environment.redis_urls import broker_of, redis_url
from config.environment.standard_methods import STANDARD_METHODS
from config.output.logs import FORMATS, LEVELS, logging_of
from config.staff_pages.theme import UNFOLD  # noqa: F401  (django-unfold reads it here)
from config.version import VERSION  # noqa: F401  (a setting)
from shared_state.redis_client import redis_options

ROOT = Path(__file__).resolve().parent.parent.parent

# Where the embedded servers keep their data, with what must outlive a restart: the secret key, the
# credentials of the first run, beat's schedule.
RUN_DIR = Path(env.text("TIDEMARK_RUN_DIR", str(ROOT / ".run")))

# --- the service ----------------------------------------------------------------------------------

# Tier hosts are {tier}.rpc.DOMAIN and {tier}.qos.DOMAIN.
DOMAIN = env.host_name("DOMAIN", "localhost")
# JSON-RPC calls in one body, and its bytes: 256 KiB hold a hundred transactions of 1,232 bytes in
# base64, or 47 of version 1 at its largest; both bound the work one request can ask for.
MAX_BATCH = env.integer("MAX_BATCH", 100, minimum=1)
MAX_BODY = env.integer("MAX_BODY", 262_144, minimum=4_096)
# Addresses or networks of the proxies whose X-Forwarded-For is trusted.
TRUSTED_PROXIES = env.networks("TRUSTED_PROXIES")

# /readyz answers 503 when the newest block is older; 0 where blocks are only imported.
READY_MAX_LAG_SECONDS = env.integer("READY_MAX_LAG_SECONDS", 0)
# Texts of blocks and transactions kept in each web process: a large block is 6 MB, and the newest
# ones are asked for by many callers at once. 0 keeps none.
LEDGER_CACHE_BYTES = env.integer("LEDGER_CACHE_MB", 96) * 1_048_576

# --- the web server -------------------------------------------------------------------------------

# Bytes of the answer to one body, and of all answers to one key that a process holds at a time: a
# call whose result does not fit any more is refused and not built.
MAX_ANSWER = env.integer("MAX_ANSWER_MB", 64, minimum=1) * 1_048_576
MAX_ANSWERS_OF_KEY = env.integer("MAX_ANSWERS_OF_KEY_MB", 192, minimum=1) * 1_048_576
# The bytes of a body to simulateHistoricalTransaction from a key that has the scope `simulate`:
# overrides may hold programs, and one of 10 MB packed with zstd takes some 5 MB in base64.
MAX_LARGE_BODY = env.integer("MAX_LARGE_BODY", 12_582_912, minimum=4_096)
# Web processes, and in each the threads for quick calls and for expensive ones (a block, many
# accounts, a simulation); expensive calls of one key that run at once, and that wait.
WEB_WORKERS = env.integer("WEB_WORKERS", 2, minimum=1, maximum=64)
WEB_THREADS = env.integer("WEB_THREADS", 8, minimum=1, maximum=64)
DEAR_CALLS = env.integer("DEAR_CALLS", 4, minimum=1, maximum=64)
DEAR_CALLS_OF_KEY = env.integer("DEAR_CALLS_OF_KEY", 3, minimum=1, maximum=64)
DEAR_CALLS_WAITING = env.integer("DEAR_CALLS_WAITING", 128, minimum=1)
# Connections of a web process to the upstream node; calls of one key have three of four at most.
PROXY_CONNECTIONS = env.integer("PROXY_CONNECTIONS", 32, minimum=1, maximum=1_024)
# Connections in all and of one address (a trusted proxy's are not counted), and how long the head
# and the body of a request may take.
MAX_CONNECTIONS = env.integer("MAX_CONNECTIONS", 8_192, minimum=16)
MAX_CONNECTIONS_PER_ADDRESS = env.integer("MAX_CONNECTIONS_PER_ADDRESS", 1_024, minimum=1)
# The port behind PORT is served too: web3.js looks for WebSockets there.
WEBSOCKET_NEXT_PORT = env.boolean("WEBSOCKET_NEXT_PORT", True)
REQUEST_HEAD_SECONDS = env.integer("REQUEST_HEAD_SECONDS", 10, minimum=1, maximum=120)
REQUEST_BODY_SECONDS = env.integer("REQUEST_BODY_SECONDS", 15, minimum=1, maximum=300)
# The service geyser.Geyser (Yellowstone gRPC), on the address of HOST; 0 serves none.
GRPC_PORT = env.integer("GRPC_PORT", 0, maximum=65_535)
# Whether the stream that is followed is asked for entries, which only gRPC's streams are sent.
FOLLOW_ENTRIES = env.boolean("FOLLOW_ENTRIES", GRPC_PORT > 0)

# --- the chain ------------------------------------------------------------------------------------

# localnet: its WebSocket is on the port after JSON-RPC's, its block engine's gRPC likewise.
LOCALNET_HOST = env.text("LOCALNET_HOST", "127.0.0.1")
LOCALNET_RPC_PORT = env.integer("LOCALNET_RPC_PORT", 8899, minimum=1, maximum=65_534)
LOCALNET_GEYSER_PORT = env.integer("LOCALNET_GEYSER_PORT", 10_000, minimum=1, maximum=65_535)
LOCALNET_TPU_PORT = env.integer("LOCALNET_TPU_PORT", 8_009, minimum=1, maximum=65_535)
LOCALNET_BLOCK_ENGINE_PORT = env.integer(
    "LOCALNET_BLOCK_ENGINE_PORT", 8_902, minimum=1, maximum=65_534
)
LOCALNET_BLOCK_ENGINE_AUTH = env.boolean("LOCALNET_BLOCK_ENGINE_AUTH", False)
# Slot length, slots to finality, slots of 100 without a block, slots of an epoch, leaders, votes.
LOCALNET_SLOT_MS = env.integer("LOCALNET_SLOT_MS", 400, minimum=10, maximum=60_000)
LOCALNET_FINALIZED_AFTER = env.integer("LOCALNET_FINALIZED_AFTER", 4, minimum=1, maximum=64)
LOCALNET_SKIP_PERCENT = env.integer("LOCALNET_SKIP_PERCENT", 2, maximum=90)
LOCALNET_EPOCH_SLOTS = env.integer("LOCALNET_EPOCH_SLOTS", 8_640, minimum=32)
LOCALNET_VALIDATORS = env.integer("LOCALNET_VALIDATORS", 4, minimum=1, maximum=32)
LOCALNET_VOTES = env.boolean("LOCALNET_VOTES", False)
LOCALNET_TOKEN_2022_MINT = env.boolean("LOCALNET_TOKEN_2022_MINT", True)
LOCALNET_DIR = RUN_DIR / "localnet"

# The chain that is followed: a node's JSON-RPC, Geyser streams and their tokens, separated by
# commas, one token for all or one for each. What one stream leaves out the next one has. With
# neither address set it is localnet, unless LOCALNET=false: then the ledger is what is imported.
# With a node alone the ledger fills from it, without a stream.
UPSTREAM_RPC_URL = env.http_url("UPSTREAM_RPC_URL", "")
UPSTREAM_GEYSER_URL = ",".join(env.http_urls("UPSTREAM_GEYSER_URL", []))
UPSTREAM_GEYSER_TOKEN = ",".join(env.names("UPSTREAM_GEYSER_TOKEN", []))
if UPSTREAM_GEYSER_TOKEN.count(",") not in {0, UPSTREAM_GEYSER_URL.count(",")}:
    raise env.BadEnvironment(
        "UPSTREAM_GEYSER_TOKEN: expected one token, or one for each of UPSTREAM_GEYSER_URL"
    )
LOCALNET = env.boolean("LOCALNET", True) and not UPSTREAM_RPC_URL and not UPSTREAM_GEYSER_URL
if LOCALNET:
    UPSTREAM_RPC_URL = f"http://{LOCALNET_HOST}:{LOCALNET_RPC_PORT}"
    UPSTREAM_GEYSER_URL = f"http://{LOCALNET_HOST}:{LOCALNET_GEYSER_PORT}"
# The followed node's and stream's word on stakes and voters is the operator's: a node of their own.
ARCHIVE_PROOF_TRUST_NODE = env.boolean("ARCHIVE_PROOF_TRUST_NODE", LOCALNET)
# Nodes that missing blocks are asked of, in this order.
FILL_RPC_URLS = env.http_urls("FILL_RPC_URLS", [UPSTREAM_RPC_URL] if UPSTREAM_RPC_URL else [])
# Slots that were received and are not stored yet wait in Redis; with more than this the follower
# stops reading, and what the stream's server drops then is a gap with a cause.
FOLLOW_BACKLOG_BYTES = env.integer("FOLLOW_BACKLOG_MB", 512, minimum=16) * 1_048_576
# Slots kept behind the newest one; 0 keeps all. What is older falls out of the window.
ARCHIVE_RETENTION_SLOTS = env.integer("ARCHIVE_RETENTION_SLOTS", 0)
LEDGER_RETENTION_SLOTS = env.integer("LEDGER_RETENTION_SLOTS", 0)
if LEDGER_RETENTION_SLOTS and not 0 < ARCHIVE_RETENTION_SLOTS <= LEDGER_RETENTION_SLOTS:
    raise env.BadEnvironment(
        f"LEDGER_RETENTION_SLOTS={LEDGER_RETENTION_SLOTS}: the archive names transactions by the"
        f" ledger, so ARCHIVE_RETENTION_SLOTS ({ARCHIVE_RETENTION_SLOTS}) must be set and not more"
    )
# The archive's version in its answers (`context.apiVersion`).
ARCHIVE_API_VERSION = "rewind-1.0.0"
# One answer's bytes and accounts, of the methods that cut an answer short and say so.
ARCHIVE_ANSWER_BYTES = env.integer("ARCHIVE_ANSWER_MB", 10, minimum=1, maximum=100) * 1_048_576
ARCHIVE_MAX_ACCOUNTS = env.integer("ARCHIVE_MAX_ACCOUNTS", 100, minimum=1, maximum=1_000)
# A simulation that takes longer than this is given up; a transaction at its limit takes 10 ms.
SIMULATION_TIMEOUT_SECONDS = env.integer("SIMULATION_TIMEOUT_SECONDS", 10, minimum=1, maximum=60)
# Of a thousand ingested transactions so many are replayed on the archive, to see that it is right.
REPLAY_AUDIT_PERMILLE = env.integer("REPLAY_AUDIT_PERMILLE", 100 if LOCALNET else 10, maximum=1_000)
# How long the results of a batch of simulations can be fetched.
SIMULATION_JOB_HOURS = env.integer("SIMULATION_JOB_HOURS", 72, minimum=1)

# Methods that POST / passes on to the upstream node, and how long it may take over one.
PROXY_METHODS = frozenset(env.names("PROXY_METHODS", STANDARD_METHODS))
PROXY_TIMEOUT_SECONDS = env.integer("PROXY_TIMEOUT_SECONDS", 30, minimum=1, maximum=300)

# --- the ledger and the archive -------------------------------------------------------------------

# The node version whose rules and words the ledger's answers follow (`context.apiVersion`).
LEDGER_API_VERSION = env.text("LEDGER_API_VERSION", NEWEST.name)

# The archive's address, below which each epoch has a folder: https://…, s3://…, gs://…, az://…,
# file:///…; empty: the ledger serves what it stores, and nothing else.
OLD_FAITHFUL_URL = env.store_url("OLD_FAITHFUL_URL")
# The network in the names of its indexes.
OLD_FAITHFUL_NETWORK = env.choice(
    "OLD_FAITHFUL_NETWORK", "mainnet", ("mainnet", "testnet", "devnet")
)
# The lowest epoch that it has.
OLD_FAITHFUL_FIRST_EPOCH = env.integer("OLD_FAITHFUL_FIRST_EPOCH", 0, maximum=100_000)
# Epochs whose index of signatures getTransaction asks, such as 0-2,940-962: each reads 400 kB for a
# signature that is not in it, so that all epochs would be 400 MB.
OLD_FAITHFUL_SIGNATURE_EPOCHS = env.number_ranges("OLD_FAITHFUL_SIGNATURE_EPOCHS", most=64)
# Ranges kept in the memory of each web process: an epoch's index of slots has 17 MB, a block 1 to 5
# MB.
OLD_FAITHFUL_CACHE_BYTES = env.integer("OLD_FAITHFUL_CACHE_MB", 128, minimum=1) * 1_048_576
# How long one request to it, and the reads of one call together, may take.
OLD_FAITHFUL_TIMEOUT_SECONDS = env.integer(
    "OLD_FAITHFUL_TIMEOUT_SECONDS", 20, minimum=1, maximum=300
)
# Blocks of files and nodes with unsigned transactions are refused, or kept and marked. Transactions
# of a stream were verified by its validator; here they are only if that is wanted.
LEDGER_KEEP_UNSIGNED = env.boolean("LEDGER_KEEP_UNSIGNED", False)
VERIFY_STREAM_SIGNATURES = env.boolean("VERIFY_STREAM_SIGNATURES", False)
# The ledger packs ranges of so many slots once they are finished: an epoch. Longer ranges take a
# look-up less each; 0 packs none. It takes this share of a core while there is something to pack.
LEDGER_SEAL_SLOTS = env.integer("LEDGER_SEAL_SLOTS", 432_000, multiple_of=64)
LEDGER_SEAL_PERCENT = env.integer("LEDGER_SEAL_PERCENT", 50, minimum=1, maximum=100)
# Finished partitions are sealed so many slots behind the newest, in this share of a core's time.
ARCHIVE_SEAL_AFTER_SLOTS = env.integer("ARCHIVE_SEAL_AFTER_SLOTS", 9_000, minimum=0)
ARCHIVE_SEALING_PERCENT = env.integer("ARCHIVE_SEALING_PERCENT", 50, minimum=0, maximum=100)
# What is sealed is read through for damage once in so many days; 0: only what is read otherwise.
ARCHIVE_SCRUB_DAYS = env.integer("ARCHIVE_SCRUB_DAYS", 30, minimum=0, maximum=3_650)
LEDGER_SCRUB_DAYS = env.integer("LEDGER_SCRUB_DAYS", 30, minimum=0, maximum=3_650)
# Archived slots are held against the cluster's votes in this share of a core's time; 0: not at all.
# Where the stakes of an epoch are not known, so many vote accounts that agree are enough (0: 20,
# or 3 of localnet's four). A slot waits so many slots for a gap below it to be filled.
# A refuted slot is compared with the streams, and fetched again where one has it otherwise.
ARCHIVE_PROOF_PERCENT = env.integer("ARCHIVE_PROOF_PERCENT", 50, minimum=0, maximum=100)
ARCHIVE_PROOF_VOTES = env.integer("ARCHIVE_PROOF_VOTES", 0)
# Banks that the operator vouches for: SLOT:HASH, separated by commas.
ARCHIVE_PROOF_TRUST = env.bank_hashes("ARCHIVE_PROOF_TRUST")
ARCHIVE_PROOF_WAIT_SLOTS = env.integer("ARCHIVE_PROOF_WAIT_SLOTS", 20_000, minimum=64)
ARCHIVE_PROOF_REPAIR = env.boolean("ARCHIVE_PROOF_REPAIR", True)
ARCHIVE_PROOF_CACHE_MB = env.integer("ARCHIVE_PROOF_CACHE_MB", 128, minimum=1)
# citus: DATABASE_URL leads to the coordinator of a Citus cluster, over which the large tables of
# archive and ledger are spread (docs/decisions/cluster.md).
ARCHIVE_CLUSTER = env.choice("ARCHIVE_CLUSTER", "", ("", CITUS))

# --- cold storage, and replays --------------------------------------------------------------------

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

# --- landing --------------------------------------------------------------------------------------

# Where this process runs, among several places that issue tip addresses.
EDGE_NAME = env.text("EDGE_NAME", "edge-1")
# 32 bytes in hex, or the path of a file that holds them: from them come the keys of all tip
# addresses, of the treasury, and of the identity that leaders see. Who has them has the tips.
TIP_SECRET_SEED = env.hex_bytes(
    "TIP_SECRET_SEED", "TIP_SECRET_SEED_FILE", lambda: kept_tip_seed(RUN_DIR), count=32
)
# Where sweeps go, and addresses that are always good for a tip; by default one of our own.
TREASURY_ADDRESS = env.pubkey(
    "TREASURY_ADDRESS", derived_keypair(TIP_SECRET_SEED, "treasury").pubkey()
)
TIP_ADDRESSES = env.pubkeys("TIP_ADDRESSES", [TREASURY_ADDRESS])
# The least that counts as a tip, and addresses that one fetch may ask for.
TIP_MINIMUM_LAMPORTS = env.integer("TIP_MINIMUM_LAMPORTS", 1_000_000, minimum=1)
TIP_MAX_COUNT = env.integer("TIP_MAX_COUNT", 16, minimum=1, maximum=1_000)
# What expired so long ago is swept: a transaction that was sent in time may still land meanwhile.
TIP_SWEEP_AFTER_SECONDS = env.integer("TIP_SWEEP_AFTER_SECONDS", 20 if LOCALNET else 300)
# What was accepted waits in Redis for a lander; with more entries nothing more is accepted.
ACCEPTED_MOST = env.integer("ACCEPTED_MOST", 200_000, minimum=1)
# What would be sent later is refused: four leaders' turns, time to restart a lander.
LANDING_BEHIND_SLOTS = env.integer("LANDING_BEHIND_SLOTS", 16, maximum=150)
# A bundle is tried before it is accepted, and refused with its error when it must fail.
BUNDLE_SIMULATION = env.boolean("BUNDLE_SIMULATION", True)
# Keypair files: the identity that leaders see, which may have stake, by default made from the seed;
# and the key that block engines are shown by gRPC, by default none.
TPU_IDENTITY_FILE = env.text("TPU_IDENTITY_FILE", "")
BLOCK_ENGINE_KEYPAIR_FILE = env.text("BLOCK_ENGINE_KEYPAIR_FILE", "")
# A transaction on a durable nonce is sent no longer than this; its fate is not final by that.
NONCE_PATIENCE_SECONDS = env.integer("NONCE_PATIENCE_SECONDS", 600, minimum=1)
# How long submissions, their tries and fates can be looked up.
SUBMISSION_DAYS = env.integer("SUBMISSION_DAYS", 30, minimum=1)

# --- Django ---------------------------------------------------------------------------------------

DEBUG = env.boolean("DEBUG", False)
SECRET_KEY = os.environ.get("SECRET_KEY", "") or kept_secret_key(RUN_DIR)
SECRET_KEY_FALLBACKS = env.names("SECRET_KEY_FALLBACKS", [])
# Signs backups in place of SECRET_KEY, which stands in the backup where the run directory keeps it.
BACKUP_KEY_FILE = env.text("BACKUP_KEY_FILE", "")
# What Prometheus has to send as a bearer token to read /metrics.
METRICS_TOKEN = env.text("METRICS_TOKEN", "") or metrics_token(SECRET_KEY)
# [::1] and 127.0.0.1 so that a fresh `make run` answers whatever "localhost" resolves to.
ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]", f".{DOMAIN}"])

INSTALLED_APPS = [
    "unfold",  # before the admin, whose templates it replaces
    # Without its discovery: config.urls asks for the pages, so that what serves none starts sooner.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.sitemaps",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "rest_framework",
    "drf_spectacular",
    "staff",
    "access",
    "alerts",
    "gateway",
    "historical",
    "ingest",
    "localnet",
    "priority",
    "rewind",
    "tipping",
    "operations",
    "portal",
    "management",
    "reference",
    "config",  # last of those with models: after a migration it finds every permission made
    "django.contrib.staticfiles",  # behind config, whose commands replace its own
]

# Every request pays for what stands here (all of Django's: 48 µs, more than the view of a cheap
# call), so sessions, sign-in, CSRF and static files stand behind AdminMiddleware.
MIDDLEWARE = [
    "gateway.middleware.HostMiddleware",
    "config.middleware.PageCompressionMiddleware",
    "config.pages.page_headers.PageHeadersMiddleware",
    "config.middleware.AdminMiddleware",
]
ADMIN_PATHS = ("/admin/", "/static/", "/portal/", "/docs/")
ADMIN_MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "config.pages.content_policy.ContentPolicyMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.pages.shown_pages.ShownPagesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "staff.middleware.StaffMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
APPEND_SLASH = False  # an RPC path is what it is; a redirect would drop the body
USE_I18N = False  # one language; the translation machinery costs each admin page
USE_TZ = True
TIME_ZONE = "UTC"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "config.pages.page_context.version",
            ]
        },
    }
]

# --- PostgreSQL -----------------------------------------------------------------------------------

DATABASE_URL = env.text("DATABASE_URL", "") or kept_addresses(RUN_DIR, "DATABASE_URL").database_url
# PostgreSQL does not report how large its disk is; 0: not known.
DATABASE_DISK_BYTES = env.integer("DATABASE_DISK_BYTES", 0)
# A statement gives up before the client does, and a lock before the statement, so that the error
# says what it was waiting for. 0: no limit (the supervisor's migrations).
STATEMENT_TIMEOUT_MS = env.integer("STATEMENT_TIMEOUT_MS", 15_000)
LOCK_TIMEOUT_MS = env.integer("LOCK_TIMEOUT_MS", 5_000)
if 0 < STATEMENT_TIMEOUT_MS <= LOCK_TIMEOUT_MS:
    raise env.BadEnvironment(
        f"LOCK_TIMEOUT_MS={LOCK_TIMEOUT_MS}: expected less than STATEMENT_TIMEOUT_MS"
        f" ({STATEMENT_TIMEOUT_MS})"
    )

DATABASES = {
    "default": database_of(
        DATABASE_URL,
        statement_ms=STATEMENT_TIMEOUT_MS,
        lock_ms=LOCK_TIMEOUT_MS,
        cluster=ARCHIVE_CLUSTER,
    )
}
# Where all processes that write to the database share memory, so that reads are answered from it
# and never stale: a folder of this machine. The embedded PostgreSQL cannot be reached from another;
# for any other name one only where no other machine runs a process of Tidemark on that database.
SHARED_MEMORY_DIR = shared_memory(env.text("SHARED_MEMORY_DIR", ""), DATABASE_URL, RUN_DIR)

# --- Redis ----------------------------------------------------------------------------------------

REDIS_URL = redis_url("REDIS_URL", lambda: kept_addresses(RUN_DIR, "REDIS_URL").redis_url)
# For django-ratelimit: fixed windows per address.
CACHES = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "cache",
        "OPTIONS": {"CONNECTION_POOL_KWARGS": redis_options()},
    }
}

# --- notifications -------------------------------------------------------------------------------

# The address that people reach this installation by, for links in mails and webhooks.
_port = env.integer("PORT", 8_000, minimum=1, maximum=65_535)
PUBLIC_URL = env.http_url("PUBLIC_URL", f"http://localhost:{_port}")
FRONT_FIGURES = env.boolean("FRONT_FIGURES", True)
# Off by default: whether outages are public is the operator's choice.
STATUS_PAGE = env.boolean("STATUS_PAGE", False)
# smtp://user:password@host:587 (STARTTLS), smtps://host:465; else mails are files in the run dir.
EMAIL = mail_settings(env.text("EMAIL_URL", ""), RUN_DIR / "mail")
EMAIL_BACKEND, EMAIL_FILE_PATH = EMAIL["backend"], EMAIL["folder"]
EMAIL_HOST, EMAIL_PORT = EMAIL["host"], EMAIL["port"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = EMAIL["user"], EMAIL["password"]
EMAIL_USE_TLS, EMAIL_USE_SSL = EMAIL["starttls"], EMAIL["tls"]
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("MAIL_FROM", f"Tidemark <tidemark@{DOMAIN}>")
# Who gets the mails about the service itself.
STAFF_MAIL = env.names("STAFF_MAIL", [])
# Webhooks may lead to addresses of the own machine and network; in public that lets customers
# reach what only this machine may.
WEBHOOKS_PRIVATE = env.boolean("WEBHOOKS_PRIVATE", LOCALNET)
# Event rules that a customer may have, and deliveries of a rule that may wait: one with more of
# them publishes more than its receiver accepts, and is switched off.
EVENT_RULES = env.integer("EVENT_RULES", 20)
EVENT_RULE_WAITING = env.integer("EVENT_RULE_WAITING", 10_000, minimum=1)
# Days for which usage is kept by the minute; by the day it is kept for good.
USAGE_DAYS = env.integer("USAGE_DAYS", 92, minimum=1)

# --- HTTP -----------------------------------------------------------------------------------------

# Django's own limit guards request.body; ours answers first, in the caller's own form. No page
# takes files: without a handler nothing is ever spooled to the disk.
DATA_UPLOAD_MAX_MEMORY_SIZE = max(MAX_BODY * 2, 2_621_440)
FILE_UPLOAD_HANDLERS: list[str] = []

# --- Celery ---------------------------------------------------------------------------------------

_BROKER = broker_of(REDIS_URL)
CELERY_BROKER_URL = _BROKER.url
CELERY_BROKER_USE_SSL = _BROKER.tls
CELERY_TASK_IGNORE_RESULT = True  # what a task did stands in the database
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = True  # a killed worker's task comes back; tasks are safe to run twice
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_TIME_LIMIT = 240
CELERY_TASK_SOFT_TIME_LIMIT = 210
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_TASKS_PER_CHILD = 1_000
CELERY_WORKER_HIJACK_ROOT_LOGGER = False  # LOGGING below is the one place
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    **_BROKER.options,
    # Above the time limit; with kombu's own intervals a killed worker's task would wait 100 s.
    "visibility_timeout": 300,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    # How long a worker waits in one command for a task: less than `socket_timeout`.
    "polling_interval": 4,
    # Without it processes that wait for a hung broker would hang as well.
    "socket_timeout": 5.0,
    "socket_connect_timeout": 5.0,
}
# They report progress, so that a hang is noticed.
CELERY_WORKER_CONSUMER = "config.workers.celery_worker:WatchedConsumer"
CELERY_BEAT_SCHEDULER = "config.workers.clock:Clock"
CELERY_BEAT_MAX_LOOP_INTERVAL = 1
CELERY_TIMEZONE = "UTC"
# How long a SIGTERM waits for the running task, so that stopping is a matter of seconds.
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 3.0
CELERY_BEAT_SCHEDULE_FILENAME = str(RUN_DIR / "beat-schedule")

# --- the admin ------------------------------------------------------------------------------------

STATIC_URL = "/static/"
STATICFILES_DIRS = [
    ROOT / "platform/config/replaced_static",  # in place of the theme's
    ("docs/pictures", ROOT / "docs/pictures"),
]
# Served from the packages they came with: nothing to collect, nothing to forget after an upgrade.
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 3_600

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# Staff must have a second factor, or set one up before anything else.
STAFF_TWO_FACTOR = env.boolean("STAFF_TWO_FACTOR", False)
OTP_TOTP_ISSUER = "Tidemark"
# Who signs in by OpenID Connect: off without the first three. Which claim names a person's groups,
# and which groups have which role of staff; without a group that has one, no one becomes staff.
OIDC_ISSUER = env.http_url("OIDC_ISSUER", "")
OIDC_CLIENT_ID = env.text("OIDC_CLIENT_ID", "")
OIDC_CLIENT_SECRET = env.text("OIDC_CLIENT_SECRET", "")
require_whole(OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET)
OIDC_NAME = env.text("OIDC_NAME", "single sign-on")
OIDC_SCOPES = requested_scopes(env.text("OIDC_SCOPES", "openid email"))
OIDC_GROUPS_CLAIM = env.text("OIDC_GROUPS_CLAIM", "groups")
OIDC_STAFF_GROUPS = staff_groups(env.names("OIDC_STAFF_GROUPS", []))
LOGIN_URL = reverse_lazy("admin:login")
LOGIN_REDIRECT_URL = reverse_lazy("admin:index")  # for who opened the sign-in page itself

# Behind a proxy that ends TLS and sets X-Forwarded-Proto itself; plain HTTP is for one machine.
BEHIND_HTTPS = env.boolean("BEHIND_HTTPS", False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_HTTPS else None
SECURE_HSTS_SECONDS = 31_536_000 if BEHIND_HTTPS else 0
SESSION_COOKIE_SECURE = BEHIND_HTTPS
CSRF_COOKIE_SECURE = BEHIND_HTTPS
SESSION_COOKIE_NAME = "tidemark_session"  # other services on this host name keep their own
CSRF_COOKIE_NAME = "tidemark_csrf"
SESSION_COOKIE_AGE = 12 * 3_600  # a working day: the admin can issue keys
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# --- logs and checks ------------------------------------------------------------------------------

LOG_LEVEL = env.choice("LOG_LEVEL", "INFO", LEVELS)
# One line of text, or one JSON object for each line, for log collectors.
LOG_FORMAT = env.choice("LOG_FORMAT", "line", FORMATS)
LOGGING = logging_of(LOG_LEVEL, LOG_FORMAT)
LOGGING_CONFIG = None  # Django would do it again at each django.setup(), as Celery calls it
dictConfig(LOGGING)
# A call that took longer is logged with its method, its key and its request's id; 0 logs none.
SLOW_CALL_MS = env.integer("SLOW_CALL_MS", 2_000)

SILENCED_SYSTEM_CHECKS = [*SILENCED]
