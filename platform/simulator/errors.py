"""What goes wrong around a transaction, rather than in it."""

from collections.abc import Iterable

from solders.pubkey import Pubkey


class EngineFault(Exception):
    """The engine could not run the transaction; nothing is known of its outcome. The next call
    works.
    """


class EngineTimeout(EngineFault):
    """The engine took longer than it was given."""


class BadSysvar(EngineFault):
    """A sysvar account was given whose bytes are not that sysvar's."""

    def __init__(self, pubkey: Pubkey, reason: str) -> None:
        super().__init__(f"{pubkey}: {reason}")
        self.pubkey = pubkey
        self.reason = reason

    def __reduce__(self) -> tuple[type["BadSysvar"], tuple[Pubkey, str]]:
        return type(self), (self.pubkey, self.reason)


class AccountsMissing(Exception):
    """The transactions need accounts that were not given: load these too and ask again."""

    def __init__(self, keys: Iterable[Pubkey]) -> None:
        self.keys = tuple(keys)
        super().__init__(f"not given: {', '.join(map(str, self.keys))}")

    def __reduce__(self) -> tuple[type["AccountsMissing"], tuple[tuple[Pubkey, ...]]]:
        return type(self), (self.keys,)


class SelfTestFailed(EngineFault):
    """This engine does not run transactions the way the service was built for."""


class Refused(Exception):
    """Raised by a check: the transaction would never stand in a block, and `err` is why."""

    def __init__(self, err: str | dict[str, object]) -> None:
        super().__init__(err)
        self.err = err
