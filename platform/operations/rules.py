"""The rules of alarms: the condition, how long it has to hold, and what to do about it."""

from operations import rule_checks as checks
from operations.alarm_rule import CRITICAL, WARNING, Rule
from operations.proof_rules import PROOF_RULES
from operations.readings.chain import GAP_PATIENCE
from operations.readings.landing import WINDOW
from operations.readings.processes import REMEDY
from operations.readings.servers import LATE
from operations.sealing_rules import SEALING_RULES
from shared_state.pace import SILENT_SLOTS
from staff.formatting import duration, grouped, size_of

_GAPS, _OPEN = "rewind_gap_changelist", "state=open"
_UPSTREAMS, _CLASSES = "priority_upstream_changelist", "tipping_ttlclass_changelist"
_DELIVERIES, _WEBHOOKS = "alerts_delivery_changelist", "alerts_webhook_changelist"
_USAGE = "access_usageminute_changelist"
_TIPS_RUN_OUT, _HANGS_AGAIN = "Tip addresses run out", "A process hangs again"
_NODE = "Check that the node answers and keeps up, and the follower's lines in the log."

RULES = (
    Rule(
        "stream_silent",
        CRITICAL,
        10,
        15,
        "The stream is silent",
        "The stream is connected and sends nothing: no new slot arrives, and fates stay open.",
        f"No message of the stream has come for {SILENT_SLOTS} slots, 2 s at least",
        _NODE,
        _GAPS,
        checks.stream_silent,
    ),
    Rule(
        "stream_lost",
        CRITICAL,
        20,
        15,
        "The stream is lost",
        "No stream is connected: no new slot arrives, and fates stay open.",
        "The source of the chain is not connected",
        _NODE,
        _GAPS,
        checks.stream_lost,
    ),
    Rule(
        *("streams_lacking", WARNING, 60, 60, "One of several streams is lost"),
        "The chain is followed through the others; what these omit is missing.",
        "One of several streams of UPSTREAM_GEYSER_URL is not connected",
        "Check that its server answers, and the follower's lines in the log: one of another chain"
        " is ignored until it restarts.",
        *(_GAPS, checks.streams_down),
    ),
    Rule(
        *("storing_stopped", CRITICAL, 0, 15, "Nothing is stored"),
        "The newest slots cannot be read, and fates stay open. Nothing is lost while the follower"
        " has memory for what waits; then it reads no more of the stream.",
        f"Slots have been waiting for more than {duration(checks.UNSTORED)}, and none was stored",
        "Restart the ingest process. If that does not help, look at its lines in the log, at the"
        " database and at the disk.",
        *(_GAPS, checks.storing_stopped),
    ),
    Rule(
        *("chain_behind", WARNING, 30, 30, "Behind the chain"),
        "The newest slots cannot be read yet, and fates become final late.",
        f"What is stored is more than {checks.SLOTS_BEHIND} slots behind the chain",
        "Check the ingest process, the database and the disk: slots are stored too slowly.",
        *(_GAPS, checks.chain_behind),
    ),
    Rule(
        *("gaps_open", WARNING, 0, 0, "Gaps are open"),
        "Slots are missing, and retries have not brought them yet: reads of them fail.",
        f"A gap is open for more than {duration(GAP_PATIENCE)}",
        "They are retried automatically, and at once from their page. Nodes of FILL_RPC_URLS fill"
        " gaps of the ledger, replays of the streams those of the archive. A gap that no source can"
        " fill is given up automatically once each source said so, or by you on its page.",
        *(_GAPS, checks.gaps_open, _OPEN, "Missing slots"),
    ),
    Rule(
        *("archive_damaged", CRITICAL, 0, 0, "Sealed data is damaged"),
        "A disk or memory changed sealed data: reads that need it fail.",
        "Sealed data was found damaged, and is not repaired",
        "Reads that need it fail, its segment is not merged, and retention drops nothing from there"
        " on. Its page has the command that repairs it from another database, or opens its slots as"
        " gaps. Check the disk.",
        *("rewind_sealeddamage_changelist", checks.archive_damaged, "state=damaged"),
    ),
    Rule(
        *("divergences_open", WARNING, 0, 0, "Replays diverge"),
        "A replay of a stored transaction came to another result than the chain.",
        "A divergence is not resolved",
        "Each shows what differs: the archive or the simulation engine is wrong somewhere.",
        *("rewind_divergence_changelist", checks.divergences, _OPEN),
    ),
    Rule(
        *("rules_missing", WARNING, 0, 0, "The chain has newer rules"),
        "Simulations and replays may end otherwise than on the chain. Each names the rules.",
        "A feature that a transaction may notice is active on the archived chain, and the engine"
        " does not have it",
        "Upgrade Tidemark: a later version has them. Sending, storing and reading are unaffected.",
        *("", checks.rules_missing),
    ),
    Rule(
        *("class_unavailable", CRITICAL, 10, 10, "A tip class is unavailable"),
        "Customers get the error unavailable (HTTP 503) for tip addresses of the class.",
        "No address of the class can be fetched, since it has no open batch with addresses left",
        "Press Prepare and then Rotate now of the class under TTL classes. The worker does both by"
        " itself within seconds: check that worker and beat run.",
        *(_CLASSES, checks.class_unavailable, "", _TIPS_RUN_OUT),
    ),
    Rule(
        *("class_running_dry", WARNING, 30, 15, "A tip class runs dry"),
        "The class becomes unavailable once its open batch is used up or its window ends.",
        "The class has an open batch, and none is prepared behind it",
        "Press Prepare of the class under TTL classes. The worker prepares two batches by itself:"
        " check that worker and beat run. If they do and it comes back, raise its batch size.",
        *(_CLASSES, checks.class_running_dry, "", _TIPS_RUN_OUT),
    ),
    Rule(
        *("sweep_stuck", WARNING, 60, 30, "Tips are not swept"),
        "Tips stay on expired addresses instead of the treasury. Nothing is lost.",
        "An expired batch is not swept a minute after TIP_SWEEP_AFTER_SECONDS, or a sweep is in"
        f" progress for more than {duration(checks.SWEEP_PATIENCE)}",
        "Notes on the batches say why. The node has to answer, and a sweep has to land.",
        *("tipping_tipsweep_changelist", checks.sweep_stuck),
    ),
    Rule(
        *("no_upstream", CRITICAL, 10, 20, "No upstream"),
        "Nothing is sent: accepted submissions wait, or expire.",
        "No upstream is enabled, or the circuit breakers of all enabled ones are open",
        "Enable an upstream, or reset a circuit breaker once its cause is fixed.",
        *(_UPSTREAMS, checks.no_upstream),
    ),
    Rule(
        *("upstream_broken", WARNING, 20, 30, "An upstream is broken"),
        "Nothing is sent to this upstream; the others are used.",
        "The circuit breaker of an enabled upstream is open",
        "It is retried automatically; reset its circuit breaker or disable it on its page.",
        *(_UPSTREAMS, checks.upstream_broken),
    ),
    Rule(
        *("landing_low", WARNING, 60, 60, "Little lands"),
        "Many transactions of customers do not reach a block, or fail there.",
        f"Less than {checks.LANDED_SHARE:.0%} landed of at least {checks.SETTLED} submissions that"
        f" settled in {duration(WINDOW)}",
        "Each submission shows its reason, such as an expired blockhash or a refusing upstream.",
        *("priority_submission_changelist", checks.landing_low),
    ),
    Rule(
        *("landing_behind", CRITICAL, 10, 30, "Landing is behind"),
        "New submissions are refused (landing_behind): they would be sent too late.",
        "The oldest unsent submission waits for longer than a third of LANDING_BEHIND_SLOTS",
        "Check that landers run and upstreams answer; start another lander if one is busy.",
        *(_UPSTREAMS, checks.landing_behind),
    ),
    Rule(
        *("process_missing", CRITICAL, 0, 5, "A process is missing or hung"),
        "What the process does is not done: the alarm names it.",
        "A process that should run is missing, or makes no progress",
        *(REMEDY, "", checks.process_missing, "", _HANGS_AGAIN),
    ),
    Rule(
        *("clock_differs", WARNING, 10, 10, "A clock is off"),
        "What the process writes has the wrong time: received, sent, expired. Heartbeats, samples"
        " and alarms go by Valkey's clock.",
        "The clock of a process differs from Valkey's by a second or more",
        "Set the clock of the machine by NTP, and restart the process if that does not help. If"
        " every process is named, Valkey's own clock is off.",
        *("", checks.clock_differs),
    ),
    Rule(
        *("clock_stopped", CRITICAL, 30, 20, "Periodic tasks do not run"),
        "No periodic task runs: no tip batch is rotated or swept, no mail is sent by the worker.",
        f"The worker has checked nothing for {duration(checks.CLOCK_PATIENCE)}",
        "Restart the one of worker and beat that is missing or hung, or the worker if neither is:"
        " no tip batch is rotated or swept until both run.",
        *("", checks.clock_stopped, "", _HANGS_AGAIN),
    ),
    Rule(
        *("queue_deep", WARNING, 30, 30, "A queue is long"),
        "What waits in the queue is done late.",
        f"More than {checks.QUEUES['default']} tasks wait in a queue, {grouped(checks.ACCEPTED)}"
        f" accepted submissions are not settled, or {checks.FOLLOWER_SLOTS} slots are not stored",
        "Its workers are missing or too slow: see the processes, and WORKER_PROCESSES.",
        *("", checks.queue_deep),
    ),
    Rule(
        *("errors_high", CRITICAL, 20, 60, "Calls fail"),
        "Customers get errors that are the service's own fault; they are not counted.",
        f"More than {checks.FAILED_SHARE:.0%} of calls fail by the service's own fault, at"
        f" {checks.CALLS_PER_SECOND:g} calls a second or more",
        "Usage shows which methods fail and why; the log has request ids and tracebacks.",
        *(_USAGE, checks.errors_high),
    ),
    *PROOF_RULES,
    *SEALING_RULES,
    Rule(
        *("disk_low", CRITICAL, 30, 30, "The disk is nearly full"),
        "When it is full, PostgreSQL and Valkey stop writing: nothing new is stored or accepted.",
        f"Less than {checks.DISK_SHARE:.0%} and less than {size_of(checks.DISK_FREE)} are free for"
        " the run directory, or for PostgreSQL by DATABASE_DISK_BYTES",
        "Free some space, or keep fewer slots (LEDGER_RETENTION_SLOTS, ARCHIVE_RETENTION_SLOTS).",
        *("", checks.disk_low),
    ),
    Rule(
        *("redis_memory_high", WARNING, 30, 60, "Valkey is nearly full"),
        "When its memory is full, Valkey refuses writes: limits, queues and landing stop.",
        f"Valkey uses {checks.REDIS_SHARE:.0%} of its maxmemory or more",
        "See the queues for what waits in it; without a lander it grows.",
        *("", checks.redis_memory),
    ),
    Rule(
        *("redis_down", CRITICAL, 10, 10, "Valkey is down"),
        "Limits, queues and landing do not work.",
        "Valkey does not answer, or cannot write",
        "Free the disk if it is full. The supervisor restarts its own Valkey; with REDIS_URL check"
        " that server.",
        *("", checks.redis_down),
    ),
    Rule(
        *("database_down", CRITICAL, 10, 10, "PostgreSQL is down"),
        "Nothing new is stored: slots and fates wait. Submissions are accepted into Valkey, and"
        " sent. This alarm is mailed and posted at once, and stored later.",
        "PostgreSQL does not answer, or cannot write",
        "Free its disk if it is full, or let it write again if it is read-only: everything then"
        " continues by itself. The supervisor restarts its own PostgreSQL; with DATABASE_URL check"
        " that server.",
        *("", checks.database_down),
    ),
    Rule(
        *("database_slow", WARNING, 30, 60, "PostgreSQL is slow"),
        "Calls that read what is stored are slow.",
        f"An empty query takes more than {checks.SLOW_MILLISECONDS:.0f} ms",
        "Check the load and disk of the machine, and pg_stat_activity for long queries.",
        *("", checks.database_slow),
    ),
    Rule(
        *("webhook_failing", WARNING, 60, 0, "A webhook fails"),
        "Its events wait: a delivery is retried for 33 hours.",
        "The newest delivery to a webhook, of the staff or of a customer, failed",
        "Its deliveries show the responses; deliver one again once the receiver is fixed.",
        *(_WEBHOOKS, checks.webhook_failing),
    ),
    Rule(
        *("deliveries_late", WARNING, 60, 30, "Deliveries are late"),
        "Mails and webhooks come late, alarms among them.",
        f"A delivery is overdue by more than {duration(LATE)}",
        "The worker process delivers them: check that it runs.",
        *(_DELIVERIES, checks.deliveries_late),
    ),
)
BY_NAME = {rule.name: rule for rule in RULES}
# The page to act on one subject, if it is not the rule's.
PAGES_OF_SUBJECTS = {
    ("gaps_open", "ledger"): "historical_gap_changelist",
    ("archive_damaged", "ledger"): "historical_ledgerdamage_changelist",
    ("sealing_behind", "ledger"): "historical_sealedrange_changelist",
    ("sealing_failing", "ledger"): "historical_sealedrange_changelist",
    ("retention_failing", "ledger"): "historical_sealedrange_changelist",
}
