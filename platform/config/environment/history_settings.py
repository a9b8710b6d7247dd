"""Settings of the ledger's answers: whose rules they follow, how old slots are sealed, and where
those that are not stored are read.
"""

from chain.node_version import NEWEST
from columns.clusters import CITUS
from config.environment import env

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
