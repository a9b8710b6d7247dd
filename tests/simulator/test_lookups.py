"""Lookup tables: which keys they give, and when they give none."""

from collections.abc import Callable, Sequence

import pytest
from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.pubkey import Pubkey

from chain import addresses
from chain.units import U64_MAX
from tests.simulator.world import (
    ALICE,
    SOL,
    World,
    address,
    call,
    plain,
    readable,
    transfer,
    v0,
    writable,
)

TABLE = address(500)
TARGET = address(77)


def table_data(
    keys: Sequence[Pubkey], *, deactivated: int = U64_MAX, extended: int = 1, start: int = 0
) -> bytes:
    head = (1).to_bytes(4, "little") + deactivated.to_bytes(8, "little")
    head += extended.to_bytes(8, "little") + bytes([start]) + b"\1" + bytes(ALICE.pubkey())
    return head.ljust(56, b"\0") + b"".join(map(bytes, keys))


def lookup_table(
    world: World, key: Pubkey, keys: Sequence[Pubkey], **state: int
) -> AddressLookupTableAccount:
    """Puts a table there, and gives what a client compiles a message with."""
    world.accounts[key] = plain(SOL, table_data(keys, **state), addresses.LOOKUP_TABLE)
    return AddressLookupTableAccount(key, list(keys))


def test_a_key_from_a_table_is_as_good_as_one_in_the_message() -> None:
    world = World()
    table = lookup_table(world, TABLE, [address(1_000), TARGET])
    transaction = v0([transfer(ALICE.pubkey(), TARGET, SOL)], tables=[table])
    assert len(transaction.message.account_keys) == 2
    outcome = world.run(transaction)
    assert outcome.err is None
    assert outcome.keys == [ALICE.pubkey(), addresses.SYSTEM, TARGET]
    assert outcome.loaded_writable == [TARGET]
    assert outcome.loaded_readonly == []
    assert outcome.post_balances == [9 * SOL - 5_000, 1, SOL]
    assert outcome.loaded_accounts_data_size == 8_248 + 64 + 78
    assert outcome.meta()["loadedAddresses"] == {"writable": [str(TARGET)], "readonly": []}
    assert world.balance(TARGET) == SOL


def test_read_only_keys_come_last() -> None:
    world = World()
    first, second, third = address(1_001), address(1_002), address(1_003)
    one = lookup_table(world, TABLE, [first, second])
    other = lookup_table(world, address(501), [third])
    instruction = call(
        addresses.SYSTEM,
        (2).to_bytes(4, "little") + bytes(8),
        [writable(ALICE.pubkey()), writable(second), readable(first), writable(third)],
    )
    outcome = world.look(v0([instruction], tables=[one, other]))
    assert outcome.err is None
    assert outcome.keys[2:] == [second, third, first]
    assert outcome.loaded_writable == [second, third]
    assert outcome.loaded_readonly == [first]
    assert list(outcome.writes) == [ALICE.pubkey(), second, third]


def extended_now(world: World, start: int) -> Account:
    data = table_data([address(1_000), TARGET], extended=world.slot, start=start)
    return plain(SOL, data, addresses.LOOKUP_TABLE)


@pytest.mark.parametrize(
    ("table", "err"),
    [
        (lambda world: None, "AddressLookupTableNotFound"),
        (lambda world: plain(SOL, table_data([TARGET] * 2)), "InvalidAddressLookupTableOwner"),
        (
            lambda world: plain(SOL, bytes(56), addresses.LOOKUP_TABLE),
            "InvalidAddressLookupTableData",
        ),
        (lambda world: plain(SOL, b"", addresses.LOOKUP_TABLE), "InvalidAddressLookupTableData"),
        (
            lambda world: plain(SOL, table_data([TARGET]) + b"x", addresses.LOOKUP_TABLE),
            "InvalidAddressLookupTableData",
        ),
        (
            lambda world: plain(SOL, table_data([TARGET]), addresses.LOOKUP_TABLE),
            "InvalidAddressLookupTableIndex",
        ),
        (lambda world: extended_now(world, 1), "InvalidAddressLookupTableIndex"),
        (lambda world: extended_now(world, 2), None),
        (
            lambda world: plain(
                SOL, table_data([TARGET] * 2, deactivated=5), addresses.LOOKUP_TABLE
            ),
            "AddressLookupTableNotFound",
        ),
        (
            lambda world: plain(
                SOL, table_data([TARGET] * 2, deactivated=world.slot), addresses.LOOKUP_TABLE
            ),
            None,
        ),
    ],
)
def test_a_table_that_gives_no_key(
    table: Callable[[World], Account | None], err: str | None
) -> None:
    world = World()
    transaction = v0(
        [transfer(ALICE.pubkey(), TARGET, SOL)],
        tables=[AddressLookupTableAccount(TABLE, [address(1_000), TARGET])],
    )
    account = table(world)
    if account is not None:
        world.accounts[TABLE] = account
    outcome = world.look(transaction)
    assert outcome.err == err
    assert outcome.charged is (err is None)


def test_a_deactivated_table_lives_on_until_its_slot_leaves_the_slot_hashes() -> None:
    world = World()
    table = lookup_table(world, TABLE, [TARGET], deactivated=990)
    transaction = v0([transfer(ALICE.pubkey(), TARGET, SOL)], tables=[table])
    assert world.look(transaction).err == "AddressLookupTableNotFound"
    hashes = b"".join(slot.to_bytes(8, "little") + bytes(32) for slot in range(999, 980, -1))
    data = (19).to_bytes(8, "little") + hashes
    world.accounts[addresses.SLOT_HASHES] = plain(
        SOL, data.ljust(20_488, b"\0"), addresses.SYSVAR_OWNER
    )
    assert world.look(transaction).err is None
