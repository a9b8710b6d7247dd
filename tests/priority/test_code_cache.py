"""Code that is remembered is never another's, and never an older one."""

from collections.abc import Iterator

import pytest
from solders.account import Account
from solders.pubkey import Pubkey

from chain.addresses import LOADER_2, LOADER_3, SYSTEM
from priority.simulation import code_cache as memory

KEY, OTHER = Pubkey(bytes([1]) * 32), Pubkey(bytes([2]) * 32)


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    memory.forget()
    yield
    memory.forget()


def programdata(
    slot: int, code: bytes = b"code" * 50, *, authority: bytes = bytes(33), lamports: int = 9
) -> Account:
    data = (3).to_bytes(4, "little") + slot.to_bytes(8, "little") + authority + code
    return Account(lamports, data, LOADER_3, False, 0)


def head(account: Account) -> Account:
    """As a node tells it when only the head is asked for."""
    data = account.data[: memory.HEAD]
    return Account(account.lamports, data, account.owner, account.executable, account.rent_epoch)


def restored(account: Account) -> Account | None:
    return memory.restored(KEY, head(account), len(account.data))


def test_the_same_code_comes_back_whole() -> None:
    account = programdata(100)
    memory.remember(KEY, account, 500)
    assert memory.knows(KEY) and not memory.knows(OTHER)
    assert restored(account) == account


def test_lamports_and_authority_are_the_new_ones() -> None:
    memory.remember(KEY, programdata(100), 500)
    now = programdata(100, authority=b"\1" + bytes(range(32)), lamports=10)
    assert restored(now) == now


@pytest.mark.parametrize(
    "now",
    [
        programdata(101, b"edoc" * 50),
        programdata(100, b"code" * 51),
        Account(9, programdata(100).data, LOADER_2, False, 0),
        Account(9, programdata(100).data, LOADER_3, True, 0),
        Account(9, bytes(245), LOADER_3, False, 0),
        Account(9, b"", SYSTEM, False, 0),
    ],
    ids=["upgraded", "extended", "loader 2", "executable", "a closed one", "another account"],
)
def test_what_does_not_fit_is_forgotten(now: Account) -> None:
    memory.remember(KEY, programdata(100), 500)
    assert restored(now) is None
    assert not memory.knows(KEY)


def test_code_so_young_that_its_slot_may_have_two_blocks_is_not_remembered() -> None:
    memory.remember(KEY, programdata(100), 163)
    assert not memory.knows(KEY)
    memory.remember(KEY, programdata(100), 164)
    assert memory.knows(KEY)


def test_code_of_the_older_loader_is_remembered_once_it_runs() -> None:
    for account, known in (
        (Account(9, b"\x7fELF" * 50, LOADER_2, False, 0), False),
        (Account(9, b"\x7fELF" * 50, LOADER_2, True, 0), True),
    ):
        memory.remember(KEY, account, 500)
        assert memory.knows(KEY) is known
    assert restored(account) == account


def test_other_accounts_are_not_remembered() -> None:
    for account in (
        Account(9, b"\x7fELF" * 50, SYSTEM, True, 0),
        Account(9, (1).to_bytes(4, "little") + bytes(300), LOADER_3, False, 0),
    ):
        memory.remember(KEY, account, 500)
        assert not memory.knows(KEY)


def test_a_program_leads_to_its_code() -> None:
    pointer = (2).to_bytes(4, "little") + bytes(OTHER)
    memory.remember(KEY, Account(9, pointer, LOADER_3, True, 0), 500)
    assert memory.code_behind(KEY) == OTHER
    assert memory.code_behind(OTHER) is None and not memory.knows(KEY)


def test_the_memory_has_an_end() -> None:
    large = programdata(1, bytes(10 * 1024 * 1024))
    keys = [Pubkey(bytes([each]) * 32) for each in range(1, 10)]
    for key in keys:
        memory.remember(key, large, 500)
    assert [memory.knows(key) for key in keys] == [False] * 3 + [True] * 6
