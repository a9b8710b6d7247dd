"""What to do about a refusal, by its reason."""

from collections.abc import Iterator
from functools import cache
from inspect import getdoc

from jsonrpc.errors import RpcError

_ADVICE = {
    "key_expired": "Use the key's successor, or issue a new one.",
    "key_revoked": "A revoked key is still in use: replace it with a new one.",
    "key_suspended": "Resume the key on its page; if the operator suspended it, ask there.",
    "address_not_allowed": "Add the caller's address to the key's networks, or find out who it is.",
    "scope_missing": "Add the scope on the key's page, or use a key that has it.",
    "method_not_allowed": "The operator listed the key's methods: ask for this one, or use"
    " another key.",
    "tier_too_low": "Call the host of the key's own tier, or ask the operator for a higher tier.",
    "rate_limited": "Spread calls, honour Retry-After, or ask the operator for a higher tier.",
    "quota_exceeded": "Fetch tip addresses less often: one is valid for its whole window.",
    "monthly_quota_reached": "Wait for the next month, or ask the operator for more calls.",
    "batch_above_limit": "Split the batch.",
    "key_required": "Send the key in the header Authorization.",
    "skip_preflight_required": 'Send {"skipPreflight": true} in the config.',
    "tip_missing": "Add a transfer to an address of /priority/fetchtipaddress.",
    "tip_too_small": "Tip more in one transfer: the response has the minimum.",
    "tip_address_unknown": "Fetch a tip address from /priority/fetchtipaddress.",
    "tip_address_expired": "Fetch a tip address shortly before you send: each is valid for"
    " its window.",
    "tip_behind_lookup_table": "Put the tip address among the message's own account keys.",
    "blockhash_expired": "Take a newer blockhash, right before signing.",
    "nonce_unusable": "Read the nonce account again, right before signing.",
    "blockhash_not_found": "Take a blockhash of this chain, right before signing.",
    "bundle_simulation_failed": "Read the logs in the response, and fix the failing transaction.",
    "landing_behind": "Honour Retry-After and send the same again: higher tiers and larger tips go"
    " first.",
    "method_not_found": "See the reference for the path of the method.",
    "slot_in_archive_gap": "Ask for another slot, or pass tolerateGaps.",
    "slot_too_new": "Ask a live node, or wait until the slot is archived.",
    "slot_too_old": "Ask for a newer slot: getRewindCoverage names the oldest.",
    "internal_error": "An error of the service: give the operator the X-Request-Id.",
}
_IN_GENERAL = "See the reference for the reason; error.data has what was required and found."


def advice(reason: str) -> str:
    return _ADVICE.get(reason, _IN_GENERAL)


def meaning(reason: str) -> str:
    """When it occurs, from the docstring of the error; empty for other reasons."""
    return _meanings().get(reason, "")


@cache
def _meanings() -> dict[str, str]:
    return {
        str(kind.reason): _first_paragraph(getdoc(kind) or "")
        for kind in _kinds(RpcError)
        if "reason" in vars(kind) and "abstract" not in vars(kind)
    }


def _first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n")[0].replace("`", "").split())


def _kinds(kind: type[RpcError]) -> Iterator[type[RpcError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _kinds(child)
