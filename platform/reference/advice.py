"""What to do about each reason: a sentence for whoever meets it."""

from jsonrpc.errors import RpcError
from reference.catalogue import http_status

_ADVICE = {
    "key_required": "Send an API key in the header `Authorization`.",
    "key_malformed": "Look whether the key was copied whole: it begins with `tmk_`.",
    "key_unknown": "Look whether the key belongs to this service; else ask for a new one.",
    "key_revoked": "Use another key: this one does not come back.",
    "key_expired": "Use the key that came after it, or ask for a new one.",
    "key_suspended": "Ask whoever gave you the key.",
    "address_not_allowed": "Call from an address of the key's list, or have the list changed.",
    "scope_missing": "Use a key with the scope that `data.required` names.",
    "tier_too_low": "Use a host of your key's tier: whoami names them in `hosts`.",
    "method_not_found": "Look at `data.servedAt`: the paths that have the method.",
    "path_not_served": "Look at the path and the host: not every host serves every path.",
    "host_unknown": "Look at the name in the address.",
    "http_method_not_allowed": "Use the method that the header `Allow` names.",
    "content_type_unsupported": "Send `Content-Type: application/json`, and the body as it is.",
    "body_too_large": "Send less at once: `data.maximum` is the most bytes of a body.",
    "body_unreadable": "Look at the header `Content-Length`; the connection may have been cut.",
    "parse_error": "Look at the body: it is not JSON.",
    "invalid_request": "Look at `id`, `jsonrpc` and `method`: the text says what is wrong.",
    "request_malformed": "Send HTTP/1.1: a request line, headers, a body of the announced length.",
    "host_required": "Send one `Host` header with the name in the address.",
    "request_timed_out": "Send the request without pauses; look at your connection.",
    "head_too_large": "Send fewer and shorter headers, and a shorter address.",
    "request_failed": "Try again; if it stays so, tell the operator the `X-Request-Id`.",
    "overloaded": "Wait for `Retry-After` seconds and send the same again.",
    "too_many_connections": "Close connections or use one for many requests, then try again.",
    "too_many_at_once": "Wait for the answers to some of your calls before you send more.",
    "answer_too_large": "Ask for less at once: a smaller batch, a shorter range, a lower `limit`.",
    "unauthorized": "Send the token of METRICS_TOKEN as `Authorization: Bearer …`.",
    "rate_limited": "Wait for `Retry-After` seconds, or use a key of a higher tier.",
    "batch_above_limit": "Split the batch.",
    "internal_error": "Try again; if it stays so, tell the operator the `X-Request-Id`.",
    "blockhash_expired": "Fetch a new blockhash, and sign the transaction anew.",
    "blockhash_not_found": "Fetch a blockhash of this chain, and sign the transaction anew.",
    "tip_missing": "Add a transfer to a tip address to the transaction's own instructions.",
    "tip_too_small": "Raise the transfer to `data.required` lamports.",
    "tip_address_unknown": "Fetch an address: GET `/priority/fetchtipaddress`.",
    "tip_address_expired": "Fetch a new address: GET `/priority/fetchtipaddress`.",
    "tip_behind_lookup_table": "Leave the tip address out of your lookup tables.",
    "skip_preflight_required": "Set `skipPreflight` to true; simulate before that if you like.",
    "transaction_undecodable": "Look at `encoding`: unless you name one, base58 is read.",
    "unknown_upstream": "Choose among `data.selectable`.",
    "unsupported_transaction_version": "Set `maxSupportedTransactionVersion` to 0.",
    "slot_skipped": "Take another slot: the leader of this one made no block.",
    "slot_missing": "Try again later: what is missing is fetched when a source has it.",
    "block_cleaned_up": "Take a slot from `data.firstAvailableBlock` on.",
    "block_not_available": "Wait until the ledger reaches the slot.",
    "min_context_slot_not_reached": "Wait until the ledger reaches the slot.",
    "slot_too_new": "Ask a live node, or wait: `data.latestSlot` is the newest one.",
    "slot_too_old": "Take a later slot: getRewindCoverage tells where the archive begins.",
    "slot_in_archive_gap": "Set `tolerateGaps` to take what was known before the gap.",
    "unknown_signature": "Look at the signature; the transaction must have landed and be archived.",
    "filtered_account_stale": "Leave these accounts out, or override them.",
    "state_not_recorded": "Give the account yourself, in `overrides`.",
    "ttl_too_long": "Ask for at most `max_ttl_seconds`; tipinfo tells the classes.",
    "quota_exceeded": "Wait for `Retry-After` seconds; one fetch can bring several addresses.",
    "unavailable": "Wait for `Retry-After` seconds, or take another class.",
    "bundles_off": "Send the transactions by sendTransaction.",
    "bundle_simulation_failed": "Look at `data.err` and `data.logs`, and mend the transaction.",
    "node_behind": "Wait; what does not need the newest state can be asked of `/historical`.",
    "no_upstream_node": "Ask the operator: no node is set that such calls could go to.",
    "database_unavailable": "Wait for `Retry-After` seconds, then send the same again.",
    "database_full": "Wait for `Retry-After` seconds; the operator has to free the disk.",
    "redis_unavailable": "Wait for `Retry-After` seconds, then send the same again.",
    "redis_full": "Wait for `Retry-After` seconds; the operator has to free the disk or memory.",
    "landing_behind": "Wait for `Retry-After` seconds and send the same again: nothing was queued.",
    "queue_unavailable": "Send the same again: nothing is sent twice.",
}


def advice(kind: type[RpcError]) -> str:
    """What a caller can do about it."""
    if kind.reason in _ADVICE:
        return _ADVICE[kind.reason]
    status = http_status(kind)
    if status == 429:
        return "Wait for `Retry-After` seconds."
    if status in (401, 403):
        return "Look at the key: whoami tells what it may do."
    if status == 404:
        return "Look at the name: what is asked for is not there, or not yours."
    if kind.code == -32005 or status >= 500:
        return "Try again in a moment."
    if kind.code in (-32602, -32600):
        return "Mend the request: `data` says what was expected, and `data.at` where."
    return "Look at the text and at `data`."
