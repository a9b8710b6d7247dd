"""Errors of fates: looked up, and streamed."""

from typing import ClassVar

from gateway.refusals import Refusal
from jsonrpc.errors import InvalidParams, RpcError


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

    text = "The newest submissions cannot be read now. Try again"


class TooManyStreams(Refusal):
    """Too many streams of fates are open, of the key or in total."""

    status = 429
    code = -32005
    reason = "too_many_streams"
    retry_seconds = 5

    def __init__(self, maximum: int) -> None:
        super().__init__(
            f"Too many open streams: the maximum is {maximum}", data={"maximum": maximum}
        )


class StreamUnavailable(Refusal):
    """The database or Redis is down: fates cannot be read."""

    status = 503
    code = -32005
    reason = "stream_unavailable"
    text = "Fates cannot be streamed now. Try again"
    retry_seconds = 2
