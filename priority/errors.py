"""Errors of landing, each with a code and a reason."""

from typing import ClassVar

from jsonrpc.errors import InvalidParams


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


class BadQuery(InvalidParams):
    """A part of the path or of the query is invalid."""

    reason = "bad_query"
    status: ClassVar[int] = 400

    def __init__(self, name: str, required: str, found: str) -> None:
        super().__init__(
            f"`{name}` is not {required}", name=name, required=required, found=found[:100]
        )
