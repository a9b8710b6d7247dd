"""Errors of simulateBundle."""

from jsonrpc.errors import InvalidParams, RpcError


class HeadMoved(RpcError):
    """The chain advanced during every read: no two responses were from the same slot."""

    code = -32005
    reason = "head_moved"
    text = "The chain advanced during every read. Try again"


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
