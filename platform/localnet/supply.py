"""What circulates: all lamports but those of stakes that are locked up."""

from collections.abc import Iterator

from solders.pubkey import Pubkey

from chain.addresses import STAKE
from chain.parsed.cursor import UnreadableError
from chain.parsed_accounts.raw import RawAccount
from chain.parsed_accounts.stake import parse_stake_account
from localnet.bank import Bank


def non_circulating(bank: Bank) -> dict[Pubkey, int]:
    """The lamports of each stake account whose lockup is in force, as a node counts them."""
    return dict(_locked(bank))


def _locked(bank: Bank) -> Iterator[tuple[Pubkey, int]]:
    for key, account in bank.owned_by(STAKE):
        try:
            parsed = parse_stake_account(RawAccount(str(key), account.data, lambda mint: None))
        except UnreadableError:
            continue
        if "info" in parsed:
            lockup = parsed["info"]["meta"]["lockup"]
            if lockup["unixTimestamp"] > bank.block_time or lockup["epoch"] > bank.epoch:
                yield key, account.lamports
