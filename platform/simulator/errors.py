"""Errors around a transaction, rather than in it."""

from collections.abc import Iterable

from solders.pubkey import Pubkey


class EngineFault(Exception):
    """The engine could not run the transaction, and its outcome is unknown. The next call works."""


class EngineTimeout(EngineFault):
    """The engine exceeded its time limit."""


class BadSysvar(EngineFault):
    """A given sysvar account does not contain that sysvar."""

    def __init__(self, pubkey: Pubkey, reason: str) -> None:
        super().__init__(f"{pubkey}: {reason}")
        self.pubkey = pubkey
        self.reason = reason

    def __reduce__(self) -> tuple[type["BadSysvar"], tuple[Pubkey, str]]:
        return type(self), (self.pubkey, self.reason)


class AccountsMissing(Exception):
    """The transactions need accounts that were not given: load these too and retry."""

    def __init__(self, keys: Iterable[Pubkey]) -> None:
        self.keys = tuple(keys)
        super().__init__(f"not given: {', '.join(map(str, self.keys))}")

    def __reduce__(self) -> tuple[type["AccountsMissing"], tuple[tuple[Pubkey, ...]]]:
        return type(self), (self.keys,)


class SelfTestFailed(EngineFault):
    """This engine does not run transactions as the service expects."""


class Refused(Exception):
    """Raised by a check: the transaction could not be in a block, because of `err`."""

    def __init__(self, err: str | dict[str, object]) -> None:
        super().__init__(err)
        self.err = err
