"""Advice for each error reason: of docs/errors.md, /docs/errors/, the portal and the admin."""

from access.advice_of_methods import ADVICE
from jsonrpc.errors import RpcError

OF_ANY_CALL = {
    "key_required": "Send an API key in the header `Authorization`.",
    "key_malformed": "Check that the key was copied completely: an API key begins with `tmk_`.",
    "key_unknown": "Check that the key belongs to this service, or ask for a new one.",
    "key_revoked": "Use another key: a revoked key cannot be restored.",
    "key_expired": "Use its successor, or ask for a new one.",
    "key_suspended": "Ask the operator, or the owner of the key.",
    "origin_not_allowed": "Call from a page of an origin on the key's list, or change the list.",
    "address_not_allowed": "Call from an address on the key's list, or change the list.",
    "scope_missing": "Use a key with the scope that `data.required` names.",
    "tier_too_low": "Use a host of your key's tier: whoami names them in `hosts`.",
    "method_not_found": "Use one of the paths in `data.servedAt`.",
    "path_not_served": "Check the path and the host: not every host serves every path.",
    "host_unknown": "Check the host name in the URL.",
    "http_method_not_allowed": "Use the method that the header `Allow` names.",
    "content_type_unsupported": "Send `Content-Type: application/json`, and an unencoded body.",
    "body_too_large": "Send a smaller body: `data.maximum` is the maximum in bytes.",
    "body_unreadable": "Check the header `Content-Length`; the connection may have been cut.",
    "parse_error": "Check the body: it is not JSON.",
    "invalid_request": "Check `id`, `jsonrpc` and `method`: the message says what is wrong.",
    "request_malformed": "Send HTTP/1.1: request line, headers, body of the announced length.",
    "host_required": "Send one `Host` header with the host name of the URL.",
    "forwarded_address_unreadable": "Ask the operator: the proxy sends `data.found` as your"
    " address.",
    "tls_required": "Use an `https` or `wss` URL, and replace the key that was sent without TLS.",
    "request_timed_out": "Send the request without pauses; check your connection.",
    "head_too_large": "Send fewer and shorter headers, and a shorter URL.",
    "request_failed": "Try again; if it persists, send the operator the `X-Request-Id`.",
    "overloaded": "Wait for `Retry-After` seconds and send the same request again.",
    "too_many_connections": "Close connections, or use one for many requests, and try again.",
    "too_many_at_once": "Wait for some of your calls to finish before you send more.",
    "answer_too_large": "Request less at once: a smaller batch, a shorter range, a lower `limit`.",
    "unauthorized": "Send the token of METRICS_TOKEN as `Authorization: Bearer …`.",
    "rate_limited": "Wait for `Retry-After` seconds, or use a key of a higher tier.",
    "batch_above_limit": "Split the batch.",
    "internal_error": "Try again; if it persists, send the operator the `X-Request-Id`.",
    "blockhash_expired": "Fetch a new blockhash, and sign the transaction again.",
    "nonce_unusable": "Read the nonce account again, sign with its hash and its authority, and send"
    " that.",
    "blockhash_not_found": "Fetch a blockhash of this chain, and sign the transaction again.",
    "tip_missing": "Add a transfer to a tip address to the transaction's own instructions.",
    "tip_too_small": "Raise the transfer to `data.required` lamports.",
    "tip_address_unknown": "Fetch an address: GET `/priority/fetchtipaddress`.",
    "tip_address_expired": "Fetch a new address: GET `/priority/fetchtipaddress`.",
    "tip_behind_lookup_table": "Remove the tip address from your lookup tables.",
    "skip_preflight_required": "Set `skipPreflight` to true; simulateTransaction simulates.",
    "transaction_undecodable": "Check `encoding`: the default is base58.",
    "unknown_upstream": "Choose from `data.selectable`.",
    "unsupported_transaction_version": "Set `maxSupportedTransactionVersion` to 1.",
    "slot_skipped": "Use another slot: the leader of this one produced no block.",
    "slot_missing": "Try again later: the service fetches missing blocks when a source has them.",
    "block_cleaned_up": "Use a slot from `data.firstAvailableBlock` on.",
    "block_not_available": "Wait until the ledger reaches the slot.",
    "min_context_slot_not_reached": "Wait until the ledger reaches the slot.",
    "slot_too_new": "Use a live node, or wait: `data.latestSlot` is the newest one.",
    "slot_too_old": "Use a later slot: getRewindCoverage returns where the archive begins.",
    "slot_unproven": "See `data.why`; getRewindCoverage has the proven ranges in `proof`.",
    "slot_in_archive_gap": "Set `tolerateGaps` to use the state from before the gap.",
    "unknown_signature": "Check the signature; the transaction must have landed and be archived.",
    "state_not_recorded": "Provide the account in `overrides`.",
    "ttl_too_long": "Request at most `max_ttl_seconds`; tipinfo lists the classes.",
    "quota_exceeded": "Wait for `Retry-After` seconds; one fetch can return several addresses.",
    "unavailable": "Wait for `Retry-After` seconds, or use another class.",
    "bundles_off": "Send the transactions with sendTransaction.",
    "bundle_simulation_failed": "Check `data.err` and `data.logs`, and fix the transaction.",
    "node_behind": "Wait; reads that do not need the newest state can go to `/historical`.",
    "no_upstream_node": "Ask the operator to configure a node.",
    "database_unavailable": "Wait for `Retry-After` seconds, then send the same request again.",
    "database_full": "Wait for `Retry-After` seconds; the operator has to free the disk.",
    "disk_full": "Wait for `Retry-After` seconds; the operator has to free the disk.",
    "database_read_only": "Wait for `Retry-After` seconds; the operator has to make it writable.",
    "database_busy": "Wait for `Retry-After` seconds, then send the same request again.",
    "redis_unavailable": "Wait for `Retry-After` seconds, then send the same request again.",
    "redis_full": "Wait for `Retry-After` seconds; the operator has to free the disk or memory.",
    "landing_behind": "Wait for `Retry-After` seconds and send it again: nothing was queued.",
    "queue_unavailable": "Send the same request again: it is not queued twice.",
}


def advice(kind: type[RpcError]) -> str:
    """What the caller can do about it; every reason has its own (a test compares)."""
    return OF_ANY_CALL[kind.reason] if kind.reason in OF_ANY_CALL else ADVICE[kind.reason]


def of_reason(reason: str) -> str:
    """The same; empty for what is not a reason of an error."""
    return OF_ANY_CALL.get(reason) or ADVICE.get(reason, "")
