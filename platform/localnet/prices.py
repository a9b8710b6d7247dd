"""Prices: what the transactions of a block paid for a compute unit."""

from dataclasses import dataclass, field

from solders.message import VersionedMessage
from solders.pubkey import Pubkey

from chain.transaction_settings import BadSettings, settings_of_message


@dataclass(slots=True)
class BlockPrices:
    """The least price of a block, in micro-lamports, and of each account that it wrote."""

    least: int | None = None
    by_account: dict[Pubkey, int] = field(default_factory=dict)

    def add(self, message: VersionedMessage) -> None:
        """Counts a transaction that stands in the block, by the writable ones of its own keys."""
        price = unit_price(message)
        self.least = price if self.least is None else min(self.least, price)
        header, keys = message.header, message.account_keys
        signed = header.num_required_signatures
        writable = [
            *keys[: signed - header.num_readonly_signed_accounts],
            *keys[signed : len(keys) - header.num_readonly_unsigned_accounts],
        ]
        for key in writable:
            self.by_account[key] = min(price, self.by_account.get(key, price))

    def least_for(self, keys: list[Pubkey]) -> int:
        """The least that got a transaction into the block which writes these accounts."""
        return max([self.least or 0, *(self.by_account.get(key, 0) for key in keys)])


def unit_price(message: VersionedMessage) -> int:
    """What the transaction offers for a compute unit, in micro-lamports; 0 where its settings
    cannot be read.
    """
    try:
        return settings_of_message(message).unit_price
    except BadSettings:
        return 0
