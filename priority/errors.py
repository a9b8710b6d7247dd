"""Errors of landing, each with a code and a reason."""

from typing import Any, ClassVar

import msgspec

from gateway.refusals import Refusal
from jsonrpc.errors import InvalidParams, RpcError


class NodeError(RpcError):
    """What the upstream node answered in place of a result, passed on as it is: code, message and
    data are the node's own.
    """

    code = 0
    reason = "node_error"

    def __init__(self, error: bytes) -> None:
        super().__init__("The node answered with an error")
        self._error = error

    def as_object(self) -> Any:
        return msgspec.Raw(self._error)


class NodeBehind(RpcError):
    """The node's own health check fails: it is behind the chain by so many slots, or null."""

    code = -32005
    reason = "node_behind"

    def __init__(self, slots: int | None) -> None:
        text = "Node is unhealthy" if slots is None else f"Node is behind by {slots} slots"
        super().__init__(text, data={"numSlotsBehind": slots})


class UpstreamFailed(RpcError):
    """No answer came from the upstream node."""

    code = -32005
    reason = "upstream_failed"
    abstract = True


class NoUpstreamNode(UpstreamFailed):
    """This installation follows no node that calls could be passed on to."""

    reason = "no_upstream_node"

    def __init__(self) -> None:
        super().__init__("No node is set to pass calls on to: UPSTREAM_RPC_URL is empty")


class UpstreamUnreachable(UpstreamFailed):
    """The upstream node does not listen, or dropped the connection."""

    reason = "upstream_unreachable"

    def __init__(self) -> None:
        super().__init__("The upstream node cannot be reached")


class UpstreamTimeout(UpstreamFailed):
    """The upstream node took too long. Whether it did what was asked is not known."""

    reason = "upstream_timeout"

    def __init__(self, seconds: int) -> None:
        super().__init__(
            f"The upstream node did not answer within {seconds} s", data={"maximum": seconds}
        )


class UpstreamBusy(UpstreamFailed):
    """As many calls as may wait for the upstream node do so already; nothing was passed on."""

    reason = "upstream_busy"

    def __init__(self) -> None:
        super().__init__("Too many calls wait for the upstream node: try again")


class UpstreamAnswerUnreadable(UpstreamFailed):
    """What the upstream node answered is not JSON-RPC; `found` is its HTTP status."""

    reason = "upstream_answer_unreadable"

    def __init__(self, status: int) -> None:
        super().__init__(
            f"The upstream node answered HTTP {status} without a JSON-RPC answer",
            data={"found": status},
        )


class UpstreamAnswerTooLarge(UpstreamFailed):
    """The upstream node's answer is above what is passed on: ask for less."""

    reason = "upstream_answer_too_large"

    def __init__(self) -> None:
        super().__init__("The upstream node's answer is too large to be passed on: ask for less")


class HeadMoved(RpcError):
    """The chain went on whenever its state was being read: no two answers were of one slot."""

    code = -32005
    reason = "head_moved"

    def __init__(self) -> None:
        super().__init__("The chain moved on while its newest state was read: try again")


class BundleEmpty(InvalidParams):
    """A bundle without transactions."""

    reason = "bundle_empty"

    def __init__(self, maximum: int) -> None:
        super().__init__("bundle contains no transactions", found=0, maximum=maximum)


class BundleTooLarge(InvalidParams):
    """More transactions than a bundle may have."""

    reason = "bundle_too_large"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"bundle size too large, max {maximum} transactions", found=found, maximum=maximum
        )


class ConfigsMismatch(InvalidParams):
    """A list of which accounts to show that is not as long as the bundle."""

    reason = "configs_mismatch"

    def __init__(self, at: str, found: int, required: int) -> None:
        super().__init__(
            f"{at} must be equal in length to the number of transactions",
            at=at,
            found=found,
            required=required,
        )


class TooManySnapshots(InvalidParams):
    """More accounts to show of one transaction than it could have."""

    reason = "too_many_snapshots"

    def __init__(self, at: str, found: int, maximum: int) -> None:
        super().__init__(
            f"Too many accounts provided; max {maximum}", at=at, found=found, maximum=maximum
        )


class SnapshotsTooLarge(InvalidParams):
    """The accounts that are asked for hold more data than one answer may: ask for fewer."""

    reason = "snapshots_too_large"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"The accounts to be shown have {found} bytes; at most {maximum} are answered",
            found=found,
            maximum=maximum,
        )


class SignatureUnknown(InvalidParams):
    """The caller submitted no transaction of this signature here, or so long ago that its fate is
    not kept any more.
    """

    reason = "signature_unknown"
    status: ClassVar[int] = 404  # where it is asked for by GET

    def __init__(self, signature: object, kept_days: int) -> None:
        super().__init__(
            f"No transaction of this signature was accepted from you here within {kept_days} days",
            signature=str(signature),
            keptDays=kept_days,
        )


class BundleUnknown(InvalidParams):
    """The caller submitted no such bundle here, or so long ago that its fate is not kept any
    more.
    """

    reason = "bundle_unknown"
    status: ClassVar[int] = 404  # where it is asked for by GET

    def __init__(self, kept_days: int) -> None:
        super().__init__(
            f"No such bundle was accepted from you here within {kept_days} days",
            keptDays=kept_days,
        )


class BundleIdMalformed(InvalidParams):
    """Neither a bundle's id nor signatures of transactions."""

    reason = "bundle_id_malformed"
    status: ClassVar[int] = 400

    def __init__(self, found: str) -> None:
        super().__init__(
            "Not the id of a bundle",
            required="64 digits of lower-case hex, or the signatures that sendBundle answered",
            found=found[:100],
        )


class TooManyBundles(InvalidParams):
    """More bundles than one call may ask about."""

    reason = "too_many_bundles"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"Too many bundle ids provided; max {maximum}", found=found, maximum=maximum
        )


class TooManyFates(InvalidParams):
    """More signatures than one call may ask about."""

    reason = "too_many_fates"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"Too many signatures provided; max {maximum}", found=found, maximum=maximum
        )


class FatesUnavailable(RpcError):
    """What was accepted a moment ago is in Redis alone, and Redis does not answer: the fate
    may be there, and cannot be read now.
    """

    code = -32005
    reason = "fates_unavailable"
    status: ClassVar[int] = 503

    def __init__(self) -> None:
        super().__init__("What was accepted last cannot be read now: try again")


class BadQuery(InvalidParams):
    """A part of the path or of the query that is not what it should be."""

    reason = "bad_query"
    status: ClassVar[int] = 400

    def __init__(self, name: str, required: str, found: str) -> None:
        super().__init__(
            f"`{name}` is not {required}", name=name, required=required, found=found[:100]
        )


class TooManyStreams(Refusal):
    """So many streams of fates are open already: of the key, or in all."""

    status = 429
    code = -32005
    reason = "too_many_streams"

    def __init__(self, maximum: int) -> None:
        super().__init__(f"Too many streams are open: at most {maximum}", data={"maximum": maximum})

    def headers(self) -> dict[str, str]:
        return {"Retry-After": "5"}


class StreamUnavailable(Refusal):
    """The database or Redis cannot be reached: no fate can be read."""

    status = 503
    code = -32005
    reason = "stream_unavailable"

    def __init__(self) -> None:
        super().__init__("Fates cannot be streamed now: try again")

    def headers(self) -> dict[str, str]:
        return {"Retry-After": "2"}
