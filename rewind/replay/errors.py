"""Errors of what a simulation is to show."""

from jsonrpc.errors import InvalidParams


class TooManyAddresses(InvalidParams):
    """The call requests more accounts than the transaction has, as on the standard node."""

    reason = "too_many_addresses"

    def __init__(self, found: int, maximum: int) -> None:
        super().__init__(
            f"Too many accounts provided; max {maximum}",
            at="[1].accounts.addresses",
            found=found,
            maximum=maximum,
        )


class Base58NotSupported(InvalidParams):
    """Simulations do not return accounts in base58, as on the standard node."""

    reason = "base58_not_supported"

    def __init__(self) -> None:
        super().__init__("base58 encoding not supported", at="[1].accounts.encoding")
