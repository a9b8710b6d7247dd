"""Generated types."""

from datetime import datetime
from typing import Any, Literal

from tidemark.values import Resource


class Alarm(Resource):
    """A problem for the operator."""

    acknowledged_at: datetime | None
    acknowledged_by: str | None
    began_at: datetime
    """when the condition was seen first"""
    closed_at: datetime | None
    id: int
    opened_at: datetime | None
    rule: str
    runbook_url: str
    """the paragraph of the docs on the rule: when it opens, and what to do"""
    severity: Literal["critical", "warning"] | str
    """
    * `critical` - Critical
    * `warning` - Warning
    """
    subject: str
    """what it is about"""
    text: str
    """the problem, in words"""


class ArchiveGap(Resource):
    """Slots that are not stored, both ends included."""

    cause: str
    """stream_lost, follower_down, writes_missing, …"""
    closed_at: datetime | None
    closed_by: str
    """What filled it, or proved it skipped"""
    from_slot: int
    history: list[dict[str, str]]
    id: int
    next_try_at: datetime | None
    """Empty: at once"""
    opened_at: datetime
    state: Literal["open", "given_up", "closed"] | str
    """
    * `open` - open
    * `given_up` - given_up
    * `closed` - closed
    """
    status: str
    to_slot: int
    tries: int


class Attempt(Resource):
    """One attempt of a delivery: the HTTP status (of a mail 250), or the problem."""

    at: datetime
    milliseconds: int
    problem: str
    status: int | None
    """HTTP status"""


class AuditEntry(Resource):
    """One action of staff, of a customer, or of a program with a root key."""

    address: str | None
    at: datetime
    changes: dict[str, Any]
    """{field: [before, after]}"""
    digest: str
    """SHA-256 over the entry before and this one's content"""
    id: int
    request_id: str
    subject: str
    subject_id: str
    subject_type: str
    """app.model"""
    text: str
    verb: str
    """added, changed, deleted, signed in, …"""
    who: str
    """the user's name at the time"""


class Counts(Resource):
    """Calls by their kind: only `counted` ones count against a monthly limit."""

    counted: int
    failed: int
    pushed: int
    """notifications"""
    refused: int


class Coverage(Resource):
    """The results of getLedgerCoverage and getRewindCoverage."""

    archive: dict[str, Any]
    ledger: dict[str, Any]


class Customer(Resource):
    """A holder of API keys."""

    alert_mails: bool
    """mail to the address above what concerns the keys: expiry, quota, suspension"""
    created_at: datetime
    email: str
    """may be empty"""
    id: int
    name: str
    notes: str


class Delivery(Resource):
    """One event for one webhook, or for one mail address that a rule names."""

    about: str
    at: datetime
    attempts: list[Attempt]
    delivered_at: datetime | None
    due_at: datetime
    """when the next attempt is due"""
    id: int
    kind: str
    mail_to: str
    message_id: str
    """the `webhook-id` of its requests"""
    rule: int | None
    state: Literal["waiting", "delivered", "failed"] | str
    """
    * `waiting` - Waiting
    * `delivered` - Delivered
    * `failed` - given up
    """
    tries: int
    """attempts since it was last queued"""
    webhook: int | None


class IssuedKey(Resource):
    """A new API key with its secret, which no other response has."""

    calls_per_month: int | None
    """calls that this key may make in a calendar month (UTC); empty applies its tier's limit"""
    created_at: datetime
    created_by: str | None
    """who issued it; null if that is not known, and for tokens if it was the operator"""
    customer: int
    environment: str
    expires_at: datetime | None
    id: int
    last_four: str
    """how its secret ends"""
    last_used_address: str | None
    last_used_at: datetime | None
    methods: list[str]
    name: str
    networks: list[str]
    notes: str
    origins: list[str]
    prefix: str
    """how its secret begins"""
    requests_per_second: float | None
    """calls per second of this key; empty applies its tier's limit, which is the maximum"""
    revoked_at: datetime | None
    rotated_from: int | None
    rotated_to: int | None
    scopes: list[Literal["priority", "bundle", "rewind", "historical", "simulate", "proxy"] | str]
    secret: str
    state: Literal["active", "expiring", "suspended", "expired", "revoked"] | str
    suspended_at: datetime | None
    tier: str


class Key(Resource):
    """An API key, without its secret."""

    calls_per_month: int | None
    """calls that this key may make in a calendar month (UTC); empty applies its tier's limit"""
    created_at: datetime
    created_by: str | None
    """who issued it; null if that is not known, and for tokens if it was the operator"""
    customer: int
    environment: str
    expires_at: datetime | None
    id: int
    last_four: str
    """how its secret ends"""
    last_used_address: str | None
    last_used_at: datetime | None
    methods: list[str]
    name: str
    networks: list[str]
    notes: str
    origins: list[str]
    prefix: str
    """how its secret begins"""
    requests_per_second: float | None
    """calls per second of this key; empty applies its tier's limit, which is the maximum"""
    revoked_at: datetime | None
    rotated_from: int | None
    rotated_to: int | None
    scopes: list[Literal["priority", "bundle", "rewind", "historical", "simulate", "proxy"] | str]
    state: Literal["active", "expiring", "suspended", "expired", "revoked"] | str
    suspended_at: datetime | None
    tier: str


class KeyCalls(Resource):
    """Calls of one key; null: without a key."""

    counts: Counts
    key: int | None = None


class LedgerGap(Resource):
    """Slots that are not stored, both ends included."""

    cause: str
    """stream_lost, follower_down, writes_missing, …"""
    closed_at: datetime | None
    closed_by: str
    """What filled it, or proved it skipped"""
    from_slot: int
    history: list[dict[str, str]]
    id: int
    next_try_at: datetime | None
    """Empty: at once"""
    opened_at: datetime
    state: Literal["open", "given_up", "closed"] | str
    """
    * `open` - open
    * `given_up` - given_up
    * `closed` - closed
    """
    status: str
    to_slot: int
    tries: int


class Member(Resource):
    """A user of a customer's portal."""

    created_at: datetime
    customer: int
    email: str
    has_second_factor: bool | None = False
    """whether signing in takes a code of an authenticator app"""
    id: int
    role: Literal["owner", "developer", "reader"] | str
    """
    * `owner` - Owner
    * `developer` - Developer
    * `reader` - Reader
    """
    signed_in_at: datetime | None
    state: str
    """active, invited (without a password yet) or deactivated"""


class MemberWithLink(Resource):
    """A member; `link` sets the password, once, and is null if it is being mailed."""

    created_at: datetime
    customer: int
    email: str
    has_second_factor: bool | None = False
    """whether signing in takes a code of an authenticator app"""
    id: int
    link: str | None
    role: Literal["owner", "developer", "reader"] | str
    """
    * `owner` - Owner
    * `developer` - Developer
    * `reader` - Reader
    """
    signed_in_at: datetime | None
    state: str
    """active, invited (without a password yet) or deactivated"""


class Method(Resource):
    """Calls of one method with one outcome."""

    calls: int
    method: str
    milliseconds: float
    """mean duration"""
    status: str
    """`ok`, or the refusal's reason"""


class Replayed(Resource):
    """How many deliveries were queued again."""

    queued: int


class RuleCondition(Resource):
    """
    What must be so, by the trigger: `submission` has `states` and `keys`; `landing_share`
    `belowPercent`, `minutes`, `leastSubmissions` and `keys`; `tip_spend` `aboveLamports`, `period`
    and `keys`; `account` `address`; `program` `program` and `filters`; `mention` `address` and
    `outcome`.
    """

    above_lamports: int | None = None
    address: str | None = None
    """base58"""
    below_percent: int | None = None
    filters: list[Any] | None = None
    """as in `programSubscribe`"""
    keys: list[int] | None = None
    """ids of API keys whose submissions count; empty means all of the customer"""
    least_submissions: int | None = None
    """with fewer settled ones the share is not compared; 20 by default"""
    minutes: Literal[15, 60, 360] | str | None = None
    """
    60 by default

    * `15` - 15
    * `60` - 60
    * `360` - 360
    """
    outcome: Literal["any", "landed", "failed"] | str | None = None
    """
    any by default

    * `any` - any
    * `landed` - landed
    * `failed` - failed
    """
    period: Literal["hour", "day", "month"] | str | None = None
    """
    of UTC; day by default

    * `hour` - hour
    * `day` - day
    * `month` - month
    """
    program: str | None = None
    """base58"""
    states: list[Literal["landed", "failed", "expired", "refused"] | str] | None = None
    """final fates; without them: all"""


class Rule(Resource):
    """An event rule. `condition` has the members that go with its trigger."""

    condition: RuleCondition
    created_at: datetime
    customer: int
    disabled_reason: str
    enabled_at: datetime
    """it is about what happens from then on"""
    id: int
    is_enabled: bool
    low_since: datetime | None
    """since when the landing share has been below the threshold"""
    mails: bool
    """events are mailed to the customer"""
    name: str
    trigger: (
        Literal["submission", "landing_share", "tip_spend", "account", "program", "mention"] | str
    )
    """
    * `submission` - The final fate of a submitted transaction
    * `landing_share` - The share of landed transactions falls below a threshold
    * `tip_spend` - Spending on tips exceeds a threshold
    * `account` - A write to an account
    * `program` - A write to an account of a program
    * `mention` - A transaction that mentions an address
    """
    webhook: int | None


class Step(Resource):
    """Calls of one step of time."""

    counts: Counts
    start: datetime


class Submission(Resource):
    """An accepted transaction and what became of it; final once `settledAt` is set."""

    accepted_at: datetime
    accepted_slot: int | None
    bundle_id: str | None = None
    commitment: str
    err: Any
    id: int
    key: int | None
    kind: Literal["transaction", "bundle", "sweep"] | str
    """
    * `transaction` - Transaction
    * `bundle` - transaction of a bundle
    * `sweep` - sweep of tips
    """
    reason: str
    request_id: str
    seen_at: datetime | None
    sent_at: datetime | None
    settled_at: datetime | None
    signature: str
    slot: int | None
    state: Literal["received", "sent", "landed", "failed", "expired", "refused"] | str
    """
    * `received` - received
    * `sent` - sent
    * `landed` - landed
    * `failed` - failed
    * `expired` - expired
    * `refused` - refused
    """
    tier: str
    tip_address: str | None
    tip_lamports: int | None
    transaction_index: int | None
    tries: int


class SweptAddress(Resource):
    """An address of a sweep, and the balance that it moves."""

    address: str
    lamports: int


class Tier(Resource):
    """A class of service. A limit of null means unlimited."""

    bundles_burst: int
    """bundles that may come at once after a pause"""
    bundles_per_second: float | None
    """bundles per second; empty means no limit"""
    calls_per_month: int | None
    """calls that one key may make in a calendar month (UTC); empty means no limit"""
    id: int
    landing_weight: int
    """share of the landers' work while submissions wait: with 4, four of this tier are sent for one of a tier with 1"""
    name: str
    rank: int
    """opens hosts of this rank and below: basic 10, ultra 20, elite 30, epic 40"""
    requests_burst: int
    """calls that may come at once after a pause"""
    requests_per_second: float | None
    """calls per second; empty means no limit"""
    simulation_jobs: int
    """batch simulation jobs of one key that may be open at once; 0 is none"""
    simulations_per_job: int
    """simulations that one batch job may ask for"""
    stream_bytes_per_month: int | None
    """bytes of notifications to one key in a calendar month (UTC); empty means no limit"""
    stream_connections: int
    """WebSockets that one key (or address without a key) may have open; 0 is none"""
    stream_notifications_per_second: int | None
    """notifications per second to one key, over ten seconds; empty means no limit"""
    stream_subscriptions: int
    """subscriptions of one WebSocket"""
    tip_fetches_burst: int
    """tip-address fetches that may come at once after a pause"""
    tip_fetches_daily_cap: int | None
    """tip-address fetches a UTC day; empty means no limit"""
    tip_fetches_per_second: float | None
    """tip-address fetches per second; empty means no limit"""


class Tip(Resource):
    """By how much one finalized transaction changed the balance of one of our addresses."""

    address: str
    id: int
    is_static: bool
    key: int | None
    kind: Literal["tip", "sweep", "other"] | str
    """
    * `tip` - Tip
    * `sweep` - Sweep
    * `other` - Other
    """
    lamports: int
    """negative where the address paid"""
    recorded_at: datetime
    signature: str
    slot: int


class TipBatch(Resource):
    """Tip addresses of one TTL class that are issued in one window and expire together."""

    balances_read_at: datetime | None
    closed_at: datetime | None
    expires_at: datetime | None
    id: int
    number: int
    opened_at: datetime | None
    prepared_at: datetime
    size: int
    state: Literal["prepared", "open", "closed"] | str
    """
    * `prepared` - Prepared
    * `open` - Open
    * `closed` - Closed
    """
    sweep_note: str
    swept_at: datetime | None
    ttl_class: int
    ttl_seconds: int
    window_ends_at: datetime | None


class TipSweep(Resource):
    """One transaction that moves the balances of tip addresses to the treasury."""

    addresses: list[SweptAddress]
    fee: int
    """lamports of it that the network takes"""
    id: int
    lamports: int
    """what the addresses held"""
    planned_at: datetime
    reason: str
    settled_at: datetime | None
    signature: str
    slot: int | None
    state: Literal["planned", "landed", "failed", "expired"] | str
    """
    * `planned` - Planned
    * `landed` - Landed
    * `failed` - Failed
    * `expired` - Expired
    """
    treasury: str


class TtlClass(Resource):
    """How long tip addresses live, and how many are prepared."""

    batch_size: int
    """addresses per batch; a batch with none left before its window ends is closed"""
    id: int
    is_default: bool
    """the class of a fetch without a TTL; exactly one class"""
    ttl_seconds: int
    """how long an address lives; a fetch takes the smallest class that is long enough"""
    window_seconds: int
    """how long addresses of one batch are issued before the next batch opens"""


class Upstream(Resource):
    """A service that sends to the leaders; only its host is shown, its URL may hold a key."""

    broken_reason: str
    broken_until: datetime | None
    draining_since: datetime | None
    host: str | None
    """null: those of the followed chain"""
    id: int
    is_enabled: bool
    kind: Literal["leaders", "node", "block_engine"] | str
    """
    * `leaders` - leaders, by TPU QUIC
    * `node` - node, by JSON-RPC
    * `block_engine` - block engine, for bundles
    """
    name: str
    """callers choose by it; `bundle` is reserved"""
    own_tip_lamports: int
    """block engines: what we tip the engine ourselves, by a transaction of our own behind the bundle's; 0 leaves it to the bundle"""
    tiers: list[str]
    timeout_ms: int
    weight: int
    """of a hundred submissions that choose no upstream, so many go this way too"""


class Usage(Resource):
    """Calls in a span of time."""

    by_key: list[KeyCalls]
    counts: Counts
    end: datetime
    methods: list[Method]
    start: datetime
    step_seconds: int
    steps: list[Step]
    truncated: bool
    """whether `byKey` has only the 1,000 busiest keys: a CSV has all"""


class Webhook(Resource):
    """An address that events are posted to; only its host is shown, its path may be a secret."""

    created_at: datetime
    customer: int | None
    delivered_at: datetime | None
    """last success"""
    disabled_reason: str
    failing_since: datetime | None
    host: str
    id: int
    is_enabled: bool
    kinds: list[str]
    last_problem: str
    """of the last attempt; empty: it succeeded"""
    name: str
    previous_until: datetime | None
    """requests are signed with the previous secret too until then"""


class WebhookWithSecret(Resource):
    """A webhook with the secret (`whsec_…`) that verifies its requests."""

    created_at: datetime
    customer: int | None
    delivered_at: datetime | None
    """last success"""
    disabled_reason: str
    failing_since: datetime | None
    host: str
    id: int
    is_enabled: bool
    kinds: list[str]
    last_problem: str
    """of the last attempt; empty: it succeeded"""
    name: str
    previous_until: datetime | None
    """requests are signed with the previous secret too until then"""
    secret: str
