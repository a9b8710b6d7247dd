"""Which calls count against a monthly limit: those that were admitted and answered."""

from shared_state.outages import NAMES

# Failures of the service.
OUR_FAILURES = frozenset({"internal_error"}) | NAMES
# How the names end under which notifications of subscriptions are counted.
NOTIFICATION = "Notification"
# Calls refused before their method and failures of the service are free.
FREE = frozenset(
    {
        *("key_required", "key_malformed", "key_unknown", "key_revoked", "key_expired"),
        *("key_suspended", "address_not_allowed", "scope_missing", "method_not_allowed"),
        *("tier_too_low", "rate_limited", "batch_above_limit", "monthly_quota_reached"),
        *("host_unknown", "path_not_served", "http_method_not_allowed"),
        *("body_too_large", "body_unreadable", "content_type_unsupported"),
        *("request_malformed", "host_required", "request_timed_out", "head_too_large"),
        *("overloaded", "too_many_connections", "too_many_at_once", "request_failed"),
    }
    | OUR_FAILURES
)


def is_counted(method: str, status: str) -> bool:
    """Whether a call with this outcome (`ok`, or the refusal's reason) counts. Notifications have a
    limit of their own, in bytes.
    """
    return status not in FREE and not method.endswith(NOTIFICATION)
