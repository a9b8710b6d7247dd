"""Errors of landing, each with a code and a reason."""

from typing import Any, ClassVar

import msgspec

from gateway.refusals import Refusal
from jsonrpc.errors import InvalidParams, RpcError


class NodeError(RpcError):
    """The upstream node responded with this error: code, message and data are the node's own."""

    code = 0
    reason = "node_error"

    def __init__(self, error: bytes) -> None:
        super().__init__("The node responded with an error")
        self._error = error

    def as_object(self) -> Any:
        return msgspec.Raw(self._error)


class NodeBehind(RpcError):
    """The node's own health check fails: it is `numSlotsBehind` slots behind the chain, or null if
    unknown.
    """

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
    """This installation has no node to pass the call on to."""

    reason = "no_upstream_node"

    def __init__(self) -> None:
        super().__init__("No node is set to pass calls on to: UPSTREAM_RPC_URL is empty")


class UpstreamUnreachable(UpstreamFailed):
    """The upstream node does not listen, or dropped the connection."""

    reason = "upstream_unreachable"

    def __init__(self) -> None:
        super().__init__("The upstream node is unreachable")


class UpstreamTimeout(UpstreamFailed):
    """The upstream node took too long. It may or may not have done what the call asks."""

    reason = "upstream_timeout"

    def __init__(self, seconds: int) -> None:
        super().__init__(
            f"The upstream node did not respond within {seconds} s", data={"maximum": seconds}
        )


class UpstreamBusy(UpstreamFailed):
    """Too many calls already wait for the upstream node; nothing was passed on."""

    reason = "upstream_busy"

    def __init__(self) -> None:
        super().__init__("Too many calls wait for the upstream node. Try again")


class UpstreamAnswerUnreadable(UpstreamFailed):
    """The upstream node's response is not JSON-RPC; `found` is its HTTP status."""

    reason = "upstream_answer_unreadable"

    def __init__(self, status: int) -> None:
        super().__init__(
            f"The upstream node returned HTTP {status} without a JSON-RPC response",
            data={"found": status},
        )


class UpstreamAnswerTooLarge(UpstreamFailed):
    """The upstream node's response is too large to pass on: request less."""

    reason = "upstream_answer_too_large"

    def __init__(self) -> None:
        super().__init__("The upstream node's response is too large to pass on. Request less")


class HeadMoved(RpcError):
    """The chain advanced during every read: no two responses were from the same slot."""

    code = -32005
    reason = "head_moved"

    def __init__(self) -> None:
        super().__init__("The chain advanced during every read. Try again")


class BundleEmpty(InvalidParams):
    """The bundle has no transactions."""

    reason = "bundle_empty"

    def __init__(self, maximum: int) -> None:
        super().__init__("bundle contains no transactions", found=0, maximum=maximum)


class BundleTooLarge(InvalidParams):
    """The bundle has too many transactions."""

    reason = "bundle_too_large"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"bundle size too large, max {maximum} transactions", found=found, maximum=maximum
        )


class ConfigsMismatch(InvalidParams):
    """The list of accounts to return is not as long as the bundle."""

    reason = "configs_mismatch"

    def __init__(self, at: str, found: int, required: int) -> None:
        super().__init__(
            f"{at} must be equal in length to the number of transactions",
            at=at,
            found=found,
            required=required,
        )


class TooManySnapshots(InvalidParams):
    """The call requests more accounts of one transaction than it can have."""

    reason = "too_many_snapshots"

    def __init__(self, at: str, found: int, maximum: int) -> None:
        super().__init__(
            f"Too many accounts provided; max {maximum}", at=at, found=found, maximum=maximum
        )


class SnapshotsTooLarge(InvalidParams):
    """The requested accounts have more data than one response may have."""

    reason = "snapshots_too_large"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"The requested accounts have {found} bytes; the maximum is {maximum}",
            found=found,
            maximum=maximum,
        )


class SignatureUnknown(InvalidParams):
    """The caller did not submit a transaction with this signature here, or its fate is not kept any
    more.
    """

    reason = "signature_unknown"
    status: ClassVar[int] = 404  # where it is asked for by GET

    def __init__(self, signature: object, kept_days: int) -> None:
        super().__init__(
            f"You submitted no transaction with this signature here within {kept_days} days",
            signature=str(signature),
            keptDays=kept_days,
        )


class BundleUnknown(InvalidParams):
    """The caller did not submit such a bundle here, or its fate is not kept any more."""

    reason = "bundle_unknown"
    status: ClassVar[int] = 404  # where it is asked for by GET

    def __init__(self, kept_days: int) -> None:
        super().__init__(
            f"You submitted no such bundle here within {kept_days} days",
            keptDays=kept_days,
        )


class BundleIdMalformed(InvalidParams):
    """The value is neither a bundle's id nor a list of signatures."""

    reason = "bundle_id_malformed"
    status: ClassVar[int] = 400

    def __init__(self, found: str) -> None:
        super().__init__(
            "Not the id of a bundle",
            required="64 lower-case hex digits, or the signatures that sendBundle returned",
            found=found[:100],
        )


class TooManyBundles(InvalidParams):
    """The call names too many bundles."""

    reason = "too_many_bundles"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"Too many bundle ids provided; max {maximum}", found=found, maximum=maximum
        )


class TooManyFates(InvalidParams):
    """The call names too many signatures."""

    reason = "too_many_fates"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"Too many signatures provided; max {maximum}", found=found, maximum=maximum
        )


class FatesUnavailable(RpcError):
    """Redis, which has the newest submissions, does not respond: the fate may exist, but cannot be
    read now.
    """

    code = -32005
    reason = "fates_unavailable"
    status: ClassVar[int] = 503

    def __init__(self) -> None:
        super().__init__("The newest submissions cannot be read now. Try again")


class BadQuery(InvalidParams):
    """A part of the path or of the query is invalid."""

    reason = "bad_query"
    status: ClassVar[int] = 400

    def __init__(self, name: str, required: str, found: str) -> None:
        super().__init__(
            f"`{name}` is not {required}", name=name, required=required, found=found[:100]
        )


class TooManyStreams(Refusal):
    """Too many streams of fates are open, of the key or in total."""

    status = 429
    code = -32005
    reason = "too_many_streams"

    def __init__(self, maximum: int) -> None:
        super().__init__(
            f"Too many open streams: the maximum is {maximum}", data={"maximum": maximum}
        )

    def headers(self) -> dict[str, str]:
        return {"Retry-After": "5"}


class StreamUnavailable(Refusal):
    """The database or Redis is down: fates cannot be read."""

    status = 503
    code = -32005
    reason = "stream_unavailable"

    def __init__(self) -> None:
        super().__init__("Fates cannot be streamed now. Try again")

    def headers(self) -> dict[str, str]:
        return {"Retry-After": "2"}
