"""Reasons for refusing a transaction or a bundle. A refused one is never sent."""

from collections.abc import Sequence
from typing import Any, ClassVar

from solders.pubkey import Pubkey

from gateway.outages import RedisUnavailable, ServiceOutage, outage_of
from gateway.refusals import Refusal
from jsonrpc.errors import InvalidParams, RpcError

_RETRY_SECONDS = 2


class SkipPreflightRequired(InvalidParams):
    """`skipPreflight` must be true: the service does not simulate before sending."""

    reason = "skip_preflight_required"

    def __init__(self, found: bool | None) -> None:
        super().__init__(
            "Invalid params: `skipPreflight` must be true: the service does not simulate",
            at="[1].skipPreflight",
            required=True,
            found=found,
        )


class TipRefused(InvalidParams):
    """No transfer of the transaction is a valid tip."""

    reason = "tip_refused"
    abstract: ClassVar[bool] = True

    def __init__(self, text: str, at: str, **data: Any) -> None:
        super().__init__(text, at=at, **data)


class TipMissing(TipRefused):
    """The transaction has no top-level system transfer of at least the minimum tip. `addresses` are
    always valid.
    """

    reason = "tip_missing"

    def __init__(self, at: str, required: int, addresses: Sequence[bytes]) -> None:
        super().__init__(
            f"no tip: the transaction needs a top-level system transfer of at least {required}"
            " lamports to a tip address",
            at,
            required=required,
            found=0,
            addresses=[str(Pubkey(each)) for each in addresses],
        )


class TipTooSmall(TipRefused):
    """The transfer to a valid tip address is below the minimum. Transfers are not added up."""

    reason = "tip_too_small"

    def __init__(self, at: str, place: int, pubkey: bytes, found: int, required: int) -> None:
        super().__init__(
            f"the tip is {found:,} {'lamport' if found == 1 else 'lamports'}; at least {required:,}"
            f" lamports ({required / 10**9:.9g} SOL) are required in one transfer",
            at,
            **_transfer(place, pubkey, required, found),
        )


class TipAddressUnknown(TipRefused):
    """Transfers are large enough, but go to addresses that were never issued as tip addresses;
    `unknownAddresses` lists all of them.
    """

    reason = "tip_address_unknown"

    def __init__(
        self, at: str, place: int, pubkey: bytes, found: int, required: int, all_: Sequence[bytes]
    ) -> None:
        super().__init__(
            f"{Pubkey(pubkey)} is not a tip address: GET /priority/fetchtipaddress returns one",
            at,
            **_transfer(place, pubkey, required, found),
            # `addresses` are good ones in other refusals.
            unknownAddresses=[str(Pubkey(each)) for each in all_],
        )


class TipAddressExpired(TipRefused):
    """The tip goes to an address that was valid until `expiresAt`."""

    reason = "tip_address_expired"

    def __init__(
        self, at: str, place: int, pubkey: bytes, found: int, required: int, expires_at: int
    ) -> None:
        super().__init__(
            f"the tip address {Pubkey(pubkey)} has expired: fetch a new one",
            at,
            **_transfer(place, pubkey, required, found),
            expiresAt=expires_at,
        )


class TipBehindLookupTable(TipRefused):
    """A sufficient transfer goes to an address in a lookup table: tip one of the message's own
    account keys.
    """

    reason = "tip_behind_lookup_table"

    def __init__(self, at: str, place: int, found: int, required: int) -> None:
        super().__init__(
            "the tip address must be among the message's own account keys, not in a lookup table",
            at,
            instructionIndex=place,
            required=required,
            found=found,
        )


def _transfer(place: int, pubkey: bytes, required: int, found: int) -> dict[str, Any]:
    return {
        "instructionIndex": place,
        "address": str(Pubkey(pubkey)),
        "required": required,
        "found": found,
    }


class BlockhashExpired(InvalidParams):
    """The blockhash is too old: no block above `required` may use it."""

    reason = "blockhash_expired"

    def __init__(self, at: str, last_valid: int, found: int) -> None:
        super().__init__(
            f"the blockhash has expired: its last valid block height is {last_valid}, and the chain"
            f" is at {found}",
            at=at,
            required=last_valid,
            found=found,
        )


class NonceUnusable(InvalidParams):
    """The finalized state of the nonce account rules the transaction out: it can never land.
    `cause` is `nonce_moved` (another hash), `nonce_closed`, `nonce_invalid` (not a nonce) or
    `nonce_authority` (another authority); `movedInSlot` and `movedBy` name the change, if known.
    """

    reason = "nonce_unusable"

    def __init__(
        self,
        at: str,
        cause: str,
        why: str,
        *,
        nonce: str,
        slot: int,
        moved: int | None,
        by: str | None,
    ) -> None:
        since = "" if moved is None else f" since slot {moved}"
        super().__init__(
            f"the nonce account {nonce} {why}{since}{f', by {by}' if by else ''}: the transaction"
            " can never land",
            at=at,
            cause=cause,
            nonceAccount=nonce,
            finalizedSlot=slot,
            movedInSlot=moved,
            movedBy=by,
        )


class BlockhashNotFound(InvalidParams):
    """No recent block has the transaction's blockhash, so it can never land. If it advances a nonce
    too late in the transaction, the message says so.
    """

    reason = "blockhash_not_found"

    def __init__(self, index: int, signature: str, blockhash: str, *, why: str = "") -> None:
        super().__init__(
            f"transaction {index}: Blockhash not found: no block that counts has {blockhash}"
            f"{why and f': {why}'}",
            transactionIndex=index,
            signature=signature,
            blockhash=blockhash,
        )


class NotAccepted(RpcError):
    """Our fault: it could not be accepted now."""

    status: ClassVar[int] = 503
    code = -32005
    reason = "not_accepted"
    abstract: ClassVar[bool] = True


class QueueUnavailable(NotAccepted):
    """Redis did not confirm the transaction: it may be queued (`mayBeQueued`). Send it again; it is
    not queued twice. If nothing was queued, the error is the outage instead: `disk_full`,
    `redis_full` or `redis_unavailable`, with `mayBeQueued` false.
    """

    reason = "queue_unavailable"

    def __init__(self) -> None:
        super().__init__(
            "The transaction may be queued. Send the same one again: it is not queued twice",
            data={"mayBeQueued": True, "retryAfterSeconds": _RETRY_SECONDS},
        )

    def headers(self) -> dict[str, str]:
        return {"Retry-After": str(_RETRY_SECONDS)}


# What our own submissions meet where nothing can be accepted.
NOT_ACCEPTED = (NotAccepted, ServiceOutage)


def not_queued(error: Exception) -> RpcError:
    """The refusal for an outage of Redis, before anything was queued."""
    return outage_of(error, mayBeQueued=False) or RedisUnavailable(mayBeQueued=False)


class QueueFull(NotAccepted):
    """The queue of unsent transactions is full."""

    reason = "queue_full"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            "Too many accepted transactions wait to be sent. Try again",
            data={"found": found, "maximum": maximum},
        )


class LandingBehind(Refusal):
    """The service would send the transaction too late, because earlier ones are not sent yet, or
    because it has waited for the web process itself. Nothing was queued: send the same transaction
    again in `retryAfterSeconds`. `found` is the age of the oldest waiting submission and `maximum`
    the limit, in milliseconds; `unsent` is the number of waiting ones.
    """

    status = 503
    code = -32005
    reason = "landing_behind"

    def __init__(self, found: int, maximum: int, *, unsent: int, retry_seconds: int) -> None:
        super().__init__(
            f"Landing is behind: {unsent} other submissions wait, the longest wait is {found} ms."
            f" Nothing was queued: send the same one again in {retry_seconds} s",
            data={
                "found": found,
                "maximum": maximum,
                "unsent": unsent,
                "retryAfterSeconds": retry_seconds,
            },
        )
        self._queue_ms, self._retry_seconds = found, retry_seconds

    def headers(self) -> dict[str, str]:
        return {
            "Retry-After": str(self._retry_seconds),
            "X-Queue-Milliseconds": str(self._queue_ms),
        }


class TipAddressesUnread(NotAccepted):
    """The tip address cannot be checked while the database is down."""

    reason = "tip_addresses_unread"
    text = "The tip address cannot be checked at the moment. Try again"


class UpstreamsUnread(NotAccepted):
    """The selectable upstreams cannot be read while the database is down."""

    reason = "upstreams_unread"
    text = "The upstreams cannot be read at the moment. Try again"


class LandingStalled(RpcError):
    """The submission is accepted, but no lander is running. It is kept, and sent once a lander
    runs.
    """

    code = -32005
    reason = "landing_stalled"

    def __init__(self, waited_ms: int, maximum_ms: int) -> None:
        super().__init__(
            f"Accepted transactions wait to be sent, the oldest for {waited_ms} ms",
            data={"found": waited_ms, "maximum": maximum_ms},
        )


class BadSelection(Refusal):
    """Upstreams were chosen that cannot be; `selectable` names those that can."""

    status = 400
    code = -32602
    reason = "bad_selection"
    abstract: ClassVar[bool] = True


class UnknownUpstream(BadSelection):
    """The caller's tier has no upstream with this name."""

    reason = "unknown_upstream"

    def __init__(self, found: Sequence[str], selectable: Sequence[str]) -> None:
        names = ", ".join(selectable) or "none"
        super().__init__(
            f"Unknown upstream name: {', '.join(found)[:200]}. Selectable here: {names}",
            data={"found": [each[:100] for each in found[:20]], "selectable": list(selectable)},
        )


class NoUpstreamChosen(BadSelection):
    """Only `bundle` is selected, but block engines accept only bundles, so the transaction has no
    upstream.
    """

    reason = "no_upstream_chosen"

    def __init__(self, selectable: Sequence[str]) -> None:
        super().__init__(
            "Choose an upstream besides `bundle`: block engines accept only bundles",
            data={"selectable": list(selectable)},
        )


class BundlesOff(Refusal):
    """No block engine is enabled for the caller's tier."""

    status = 404
    code = -32601
    reason = "bundles_off"
    text = "Bundles are turned off here: no block engine is enabled"


class BundleOnlyNotServed(InvalidParams):
    """`bundleOnly` is not supported: send the transaction as a bundle of one."""

    reason = "bundle_only_not_served"

    def __init__(self) -> None:
        super().__init__(
            "`bundleOnly` is not supported: send a bundle of one with sendBundle", at="bundleOnly"
        )


class BundleDuplicates(InvalidParams):
    """The bundle contains a transaction twice, so it cannot land."""

    reason = "bundle_duplicates"

    def __init__(self, at: str, signature: str) -> None:
        super().__init__("bundle contains a transaction twice", at=at, signature=signature)


class BundleNonceTwice(InvalidParams):
    """Two transactions of the bundle use the same durable nonce, so it cannot land: a nonce
    advances only once in a block.
    """

    reason = "bundle_nonce_twice"

    def __init__(self, at: str, nonce: str) -> None:
        super().__init__(
            f"two transactions of the bundle use the nonce account {nonce}, which advances only"
            " once in a block",
            at=at,
            nonceAccount=nonce,
        )


class BundleSimulationFailed(InvalidParams):
    """The bundle fails on the newest state: `err` is the error of the transaction at
    `transactionIndex`. If the transaction requests too few resources to succeed anywhere, the
    message says so.
    """

    reason = "bundle_simulation_failed"

    def __init__(
        self, index: int, signature: str, *, text: str, err: Any, logs: Sequence[str], why: str = ""
    ) -> None:
        super().__init__(
            f"bundle simulation failed: transaction {index}: {text}{why and f': {why}'}",
            transactionIndex=index,
            signature=signature,
            err=err,
            logs=list(logs),
        )
