"""FinalizedAccounts: every account as the newest finalized block left it."""

from collections.abc import Iterable, Iterator, Mapping

from solders.account import Account
from solders.pubkey import Pubkey


class FinalizedAccounts:
    """Accounts by key and by owner; an account without lamports is none."""

    def __init__(self, accounts: Iterable[tuple[Pubkey, Account]] = ()) -> None:
        self._by_key: dict[Pubkey, Account] = {}
        self._by_owner: dict[Pubkey, set[Pubkey]] = {}
        self.update(dict(accounts))

    def get(self, key: Pubkey) -> Account | None:
        return self._by_key.get(key)

    def owned_by(self, owner: Pubkey) -> Iterable[Pubkey]:
        """The keys of the accounts that the program owns."""
        return self._by_owner.get(owner, ())

    def items(self) -> Iterator[tuple[Pubkey, Account]]:
        return iter(self._by_key.items())

    def update(self, written: Mapping[Pubkey, Account]) -> None:
        """Takes over what a block wrote."""
        for key, account in written.items():
            before = self._by_key.pop(key, None)
            if before is not None and (account.lamports == 0 or before.owner != account.owner):
                self._by_owner[before.owner].discard(key)
            if account.lamports:
                self._by_key[key] = account
                self._by_owner.setdefault(account.owner, set()).add(key)
