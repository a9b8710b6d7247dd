"""Filters of a program's accounts, as the standard node has them."""

import msgspec

_TOKEN_ACCOUNT_BYTES = 165
_TOKEN_STATE = 108
_TOKEN_KIND = 165
_ACCOUNT = 2


class AccountFilter(msgspec.Struct, frozen=True, array_like=True):
    """Exactly one of: `size` is the data's length; `part` stands in the data at `offset`; neither:
    the data is an initialized token account's.
    """

    size: int | None = None
    offset: int = 0
    part: bytes | None = None

    def allows(self, data: bytes) -> bool:
        if self.size is not None:
            return len(data) == self.size
        if self.part is not None:
            return data[self.offset : self.offset + len(self.part)] == self.part
        return _is_token_account(data)


def allowed(filters: tuple[AccountFilter, ...], data: bytes) -> bool:
    """Whether the data passes all filters."""
    return all(each.allows(data) for each in filters)


def _is_token_account(data: bytes) -> bool:
    size = len(data)
    if size < _TOKEN_ACCOUNT_BYTES or not data[_TOKEN_STATE]:
        return False
    # Longer ones have extensions, behind a byte that says whether they are an account or a mint;
    # one of 355 bytes is a multisig.
    return size == _TOKEN_ACCOUNT_BYTES or (size != 355 and data[_TOKEN_KIND] == _ACCOUNT)
