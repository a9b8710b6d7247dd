"""Genesis: the accounts that a new localnet starts with."""

import struct
from collections.abc import Iterable

from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey

from chain import addresses
from chain.rent import rent_exempt
from chain.units import LAMPORTS_PER_SOL, U64_MAX, Epoch, Slot, UnixTimestamp
from localnet import sysvars
from localnet.identities import FAUCET, LOCKED_STAKE, TIP_ACCOUNTS, Validator
from localnet.native_mints import native_mints
from simulator import defaults

FAUCET_LAMPORTS = 500_000_000 * LAMPORTS_PER_SOL
IDENTITY_LAMPORTS = 500 * LAMPORTS_PER_SOL
STAKE_LAMPORTS = 100_000 * LAMPORTS_PER_SOL
LOCKED_LAMPORTS = 1_000 * LAMPORTS_PER_SOL

_SYSTEM = Pubkey.default()
# Of no use since the stake program keeps its own; validators' genesis still has it.
_STAKE_CONFIG_DATA = bytes(1) + struct.pack("<dB", 0.25, 12)
_VOTE_SIZE = 3_762
_STAKE_SIZE = 200
COMMISSION = 0


def genesis_accounts(
    epoch_slots: int,
    genesis_hash: Hash,
    now: UnixTimestamp,
    validators: Iterable[Validator],
    *,
    token_2022_mint: bool = True,
) -> dict[Pubkey, Account]:
    """Programs, sysvars, the native mints and the stake config, the faucet, the tip accounts, a
    stake that is locked up, and each validator's identity, vote and stake account.
    """
    accounts = defaults.genesis_accounts()
    accounts.update(_sysvars(epoch_slots, genesis_hash, now))
    accounts.update(native_mints(token_2022=token_2022_mint))
    accounts.update(stake_config())
    accounts[FAUCET.pubkey()] = _wallet(FAUCET_LAMPORTS)
    accounts[LOCKED_STAKE] = _owned(_locked_stake(), addresses.STAKE, LOCKED_LAMPORTS)
    for tip_account in TIP_ACCOUNTS:
        # Rent-exempt from the start: the smallest tip alone could not open the account.
        accounts[tip_account] = _wallet(rent_exempt(0))
    for validator in validators:
        accounts[validator.identity.pubkey()] = _wallet(IDENTITY_LAMPORTS)
        # As much as is staked, as in solana-test-validator's genesis.
        accounts[validator.vote] = _owned(
            _vote_state(validator).ljust(_VOTE_SIZE, b"\0"), addresses.VOTE, STAKE_LAMPORTS
        )
        accounts[validator.stake] = _owned(
            _stake_state(validator).ljust(_STAKE_SIZE, b"\0"), addresses.STAKE, STAKE_LAMPORTS
        )
    return accounts


def stake_config() -> dict[Pubkey, Account]:
    """The one account whose place no given account takes, as in a validator's genesis."""
    return {
        addresses.STAKE_CONFIG: Account(
            rent_exempt(10), _STAKE_CONFIG_DATA, addresses.CONFIG, False, 0
        )
    }


def _wallet(lamports: int) -> Account:
    return Account(lamports, b"", _SYSTEM, False, U64_MAX)


def _owned(data: bytes, owner: Pubkey, lamports: int = 0) -> Account:
    return Account(lamports + rent_exempt(len(data)), data, owner, False, U64_MAX)


def _sysvars(epoch_slots: int, genesis_hash: Hash, now: UnixTimestamp) -> dict[Pubkey, Account]:
    clock = sysvars.clock(Slot(0), Epoch(0), epoch_started_at=now, now=now)
    data = {
        addresses.CLOCK: clock,
        addresses.EPOCH_SCHEDULE: sysvars.epoch_schedule(epoch_slots),
        addresses.RENT: sysvars.rent(),
        addresses.SLOT_HASHES: bytes(20_488),
        # The genesis hash is slot 0's blockhash, which transactions of the next block may name.
        addresses.RECENT_BLOCKHASHES: sysvars.recent_blockhashes(bytes(6_008), genesis_hash),
        addresses.STAKE_HISTORY: bytes(16_392),
        addresses.SLOT_HISTORY: sysvars.slot_history(sysvars.no_slot_history(), Slot(0)),
        addresses.LAST_RESTART_SLOT: bytes(8),
    }
    return {key: sysvars.sysvar(each) for key, each in data.items()}


def _vote_state(validator: Validator) -> bytes:
    """VoteState in its third layout: no votes yet. The account's own key votes and withdraws."""
    voter = bytes(validator.vote)
    prior_voters = bytes(32 * 48) + struct.pack("<Q?", 31, True)
    return b"".join(
        (
            struct.pack("<I", 2),
            bytes(validator.identity.pubkey()),
            voter,  # who may withdraw
            bytes((COMMISSION,)),
            struct.pack("<Q", 0),  # votes
            b"\0",  # no root slot
            struct.pack("<QQ", 1, 0) + voter,  # who votes since epoch 0
            prior_voters,
            struct.pack("<Q", 0),  # epoch credits
            struct.pack("<Qq", 0, 0),  # the last timestamp
        )
    )


def _stake_state(validator: Validator) -> bytes:
    """A stake that has been active since before epoch 0."""
    identity = bytes(validator.identity.pubkey())
    return b"".join(
        (
            struct.pack("<IQ", 2, rent_exempt(_STAKE_SIZE)),
            identity,
            identity,
            struct.pack("<qQ", 0, 0) + bytes(32),  # no lock-up
            bytes(validator.vote),
            struct.pack("<QQQd", STAKE_LAMPORTS, U64_MAX, U64_MAX, 0.25),
            struct.pack("<Q", 0),
        )
    )


def _locked_stake() -> bytes:
    """A stake that is delegated to no one, and locked up beyond every epoch."""
    authority = bytes(FAUCET.pubkey())
    head = struct.pack("<IQ", 1, rent_exempt(_STAKE_SIZE)) + authority + authority
    return (head + struct.pack("<qQ", 0, U64_MAX) + bytes(32)).ljust(_STAKE_SIZE, b"\0")
