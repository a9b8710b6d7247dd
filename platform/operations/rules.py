"""The rules of alarms: the condition, how long it has to hold, and what to do about it."""

from operations import rule_checks as checks
from operations.alarm_rule import CRITICAL, WARNING, Rule
from operations.proof_rules import PROOF_RULES
from operations.readings.processes import REMEDY
from operations.sealing_rules import SEALING_RULES

_GAPS, _OPEN = "rewind_gap_changelist", "state=open"
_UPSTREAMS, _CLASSES = "priority_upstream_changelist", "tipping_ttlclass_changelist"
_DELIVERIES, _WEBHOOKS = "alerts_delivery_changelist", "alerts_webhook_changelist"
_USAGE = "access_usageminute_changelist"
_NODE = "Check that the node answers and keeps up, and the follower's lines in the log."

RULES = (
    Rule(
        "stream_silent",
        CRITICAL,
        10,
        15,
        "The stream is silent",
        _NODE,
        _GAPS,
        checks.stream_silent,
    ),
    Rule("stream_lost", CRITICAL, 20, 15, "The stream is lost", _NODE, _GAPS, checks.stream_lost),
    Rule(
        *("streams_lacking", WARNING, 60, 60, "One of several streams is lost"),
        "The chain is followed through the others. Check that its server answers, and the"
        " follower's lines in the log: one of another chain is ignored until it restarts.",
        *(_GAPS, checks.streams_down),
    ),
    Rule(
        *("chain_behind", WARNING, 30, 30, "Behind the chain"),
        "Check the ingest process, the database and the disk: slots are stored too slowly.",
        *(_GAPS, checks.chain_behind),
    ),
    Rule(
        *("gaps_open", WARNING, 0, 0, "Gaps are open"),
        "They are retried automatically, and at once from their page. Nodes of FILL_RPC_URLS fill"
        " gaps of the ledger, replays of the streams those of the archive. A gap that no source can"
        " fill is given up automatically once each source said so, or by you on its page.",
        *(_GAPS, checks.gaps_open, _OPEN),
    ),
    Rule(
        *("archive_damaged", CRITICAL, 0, 0, "Sealed data is damaged"),
        "Reads that need it fail, its segment is not merged, and retention drops nothing from there"
        " on. Its page has the command that repairs it from another database, or opens its slots as"
        " gaps. Check the disk.",
        *("rewind_sealeddamage_changelist", checks.archive_damaged, "state=damaged"),
    ),
    Rule(
        *("divergences_open", WARNING, 0, 0, "Replays diverge"),
        "Each shows what differs: the archive or the simulation engine is wrong somewhere.",
        *("rewind_divergence_changelist", checks.divergences, _OPEN),
    ),
    Rule(
        *("class_unavailable", CRITICAL, 10, 10, "A tip class is unavailable"),
        "Press Prepare and then Rotate now of the class under TTL classes. The worker does both by"
        " itself within seconds: check that worker and beat run.",
        *(_CLASSES, checks.class_unavailable),
    ),
    Rule(
        *("class_running_dry", WARNING, 30, 15, "A tip class runs dry"),
        "Press Prepare of the class under TTL classes. The worker prepares two batches by itself:"
        " check that worker and beat run. If they do and it comes back, raise its batch size.",
        *(_CLASSES, checks.class_running_dry),
    ),
    Rule(
        *("sweep_stuck", WARNING, 60, 30, "Tips are not swept"),
        "Notes on the batches say why. The node has to answer, and a sweep has to land.",
        *("tipping_tipsweep_changelist", checks.sweep_stuck),
    ),
    Rule(
        *("no_upstream", CRITICAL, 10, 20, "No upstream"),
        "Enable an upstream, or reset a circuit breaker once its cause is fixed.",
        *(_UPSTREAMS, checks.no_upstream),
    ),
    Rule(
        *("upstream_broken", WARNING, 20, 30, "An upstream is broken"),
        "It is retried automatically; reset its circuit breaker or disable it on its page.",
        *(_UPSTREAMS, checks.upstream_broken),
    ),
    Rule(
        *("landing_low", WARNING, 60, 60, "Little lands"),
        "Each submission shows its reason, such as an expired blockhash or a refusing upstream.",
        *("priority_submission_changelist", checks.landing_low),
    ),
    Rule(
        *("landing_behind", CRITICAL, 10, 30, "Landing is behind"),
        "Check that landers run and upstreams answer; start another lander if one is busy.",
        *(_UPSTREAMS, checks.landing_behind),
    ),
    Rule(
        *("process_missing", CRITICAL, 0, 5, "A process is missing or hung"),
        *(REMEDY, "", checks.process_missing),
    ),
    Rule(
        *("clock_stopped", CRITICAL, 30, 20, "The scheduler is not running"),
        "Restart worker and beat: no tip batch is rotated or swept until they run.",
        *("", checks.clock_stopped),
    ),
    Rule(
        *("queue_deep", WARNING, 30, 30, "A queue is long"),
        "Its workers are missing or too slow: see the processes, and WORKER_PROCESSES.",
        *("", checks.queue_deep),
    ),
    Rule(
        *("errors_high", CRITICAL, 20, 60, "Calls fail"),
        "The log has the tracebacks with request ids; usage shows which methods fail.",
        *(_USAGE, checks.errors_high),
    ),
    *PROOF_RULES,
    *SEALING_RULES,
    Rule(
        *("disk_low", CRITICAL, 30, 30, "The disk is nearly full"),
        "Free some space, or keep fewer slots (LEDGER_RETENTION_SLOTS, ARCHIVE_RETENTION_SLOTS).",
        *("", checks.disk_low),
    ),
    Rule(
        *("redis_memory_high", WARNING, 30, 60, "Valkey is nearly full"),
        "See the queues for what waits in it; without a lander it grows.",
        *("", checks.redis_memory),
    ),
    Rule(
        *("redis_down", CRITICAL, 10, 10, "Valkey is down"),
        "Free the disk if it is full. The supervisor restarts its own Valkey; with REDIS_URL check"
        " that server.",
        *("", checks.redis_down),
    ),
    Rule(
        *("database_slow", WARNING, 30, 60, "PostgreSQL is slow"),
        "Check the load and disk of the machine, and pg_stat_activity for long queries.",
        *("", checks.database_slow),
    ),
    Rule(
        *("webhook_failing", WARNING, 60, 0, "A webhook fails"),
        "Its deliveries show the responses; deliver one again once the receiver is fixed.",
        *(_WEBHOOKS, checks.webhook_failing),
    ),
    Rule(
        *("deliveries_late", WARNING, 60, 30, "Deliveries are late"),
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
