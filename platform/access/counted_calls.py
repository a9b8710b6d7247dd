"""What a call is: counted against the monthly quota, refused, failed by our fault, or pushed.

Every figure of calls follows `kind_of`: quotas, pages, charts, files, metrics and alarms.
"""

from enum import StrEnum
from typing import NamedTuple

from shared_state.outages import NAMES


class Kind(StrEnum):
    """Each call is of one kind. COUNTED: a method answered, with an error of its own too. REFUSED:
    a right, a limit or the form of the request turned it away. FAILED: the service could not answer
    a call that it should have. PUSHED: a notification of a subscription, which no one called.
    """

    COUNTED = "counted"
    REFUSED = "refused"
    FAILED = "failed"
    PUSHED = "pushed"


class CallCounts(NamedTuple):
    """Calls of each kind; lists are sorted by `counted`."""

    counted: int = 0
    refused: int = 0
    failed: int = 0
    pushed: int = 0

    @property
    def not_answered(self) -> int:
        return self.refused + self.failed

    @property
    def calls(self) -> int:
        """All but notifications, which no one called."""
        return self.counted + self.not_answered

    def plus(self, other: "CallCounts") -> "CallCounts":
        return CallCounts(*(mine + more for mine, more in zip(self, other, strict=True)))


def counts_of(method: str, status: str, calls: int) -> CallCounts:
    """So many calls with this outcome."""
    return CallCounts(**{kind_of(method, status).value: calls})


# How the names end under which notifications of subscriptions are counted.
NOTIFICATION = "Notification"
# Failures of the service: reasons of errors, and why it ended a stream.
FAILED = (
    frozenset(
        {
            "internal_error",
            "request_failed",
            "overloaded",
            # Landing: Redis, a lander or the database is away or behind.
            "queue_unavailable",
            "queue_full",
            "landing_behind",
            "landing_stalled",
            "fates_unavailable",
            "stream_unavailable",
            "tip_addresses_unread",
            "upstreams_unread",
            "unavailable",
            "missed_some",
            # The node behind the proxy, and the chain.
            "upstream_unreachable",
            "upstream_timeout",
            "upstream_busy",
            "upstream_answer_unreadable",
            "head_moved",
            "chain_not_followed",
            "sockets_unavailable",
            "interrupted",
            "stream_silent",
            # Storage and the simulation engine.
            "archive_damaged",
            "archive_store_unavailable",
            "sealed_data_damaged",
            "remote_history_unavailable",
            "remote_history_damaged",
            "engine_fault",
            "simulation_lost",
            "simulation_timeout",
        }
    )
    | NAMES
)
# Refusals, before a method ran or by a limit, and why streams were ended for the client's part.
REFUSED = frozenset(
    {
        "key_required",
        "key_malformed",
        "key_unknown",
        "key_revoked",
        "key_expired",
        "key_suspended",
        "address_not_allowed",
        "scope_missing",
        "method_not_allowed",
        "origin_not_allowed",
        "tier_too_low",
        "unauthorized",
        "rate_limited",
        "batch_above_limit",
        "monthly_quota_reached",
        "quota_exceeded",
        "too_many_connections",
        "too_many_at_once",
        "too_many_sockets",
        "too_many_streams",
        "remote_history_busy",
        "too_many_jobs",
        "subscription_limit_reached",
        "monthly_bytes_reached",
        "notifications_above_limit",
        "host_unknown",
        "path_not_served",
        "http_method_not_allowed",
        "no_upstream_node",
        "body_too_large",
        "body_unreadable",
        "content_type_unsupported",
        "request_malformed",
        "host_required",
        "request_timed_out",
        "head_too_large",
        "forwarded_address_unreadable",
        "tls_required",
        "handshake_malformed",
        "handshake_invalid",
        "too_slow",
        "message_timed_out",
        "service_stops",
    }
)
# Neither takes from the monthly quota.
FREE = FAILED | REFUSED


def kind_of(method: str, status: str) -> Kind:
    """The kind of a call with this outcome (`ok`, or the reason of the error). Notifications have a
    limit of their own, in bytes.
    """
    if method.endswith(NOTIFICATION):
        return Kind.PUSHED
    if status in FAILED:
        return Kind.FAILED
    return Kind.REFUSED if status in REFUSED else Kind.COUNTED
