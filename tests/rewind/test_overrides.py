"""Overrides: which data they may have and how it is written, and which of them have no effect."""

from collections.abc import Iterator
from typing import Any

import pytest
import zstandard
from solders.pubkey import Pubkey

from chain import addresses
from chain.encodings import b58encode, b64decode, b64encode
from tests.conftest import Rpc
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.simulating import (
    answer,
    call,
    code_of,
    own_place,
    refused,
    simulated,
    stored,
    upgradeable,
)
from tests.simulator.elf import CALL, EXIT, LOGS, RETURN_0, elf, fails_with, op

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]

TARGET, PROGRAM, PEEKS = (Pubkey(bytes([number]) * 32) for number in (77, 80, 81))
MOST = 10 * 1_048_576
# Returns what it is told of its first account: from the flags on, 120 bytes of them.
PEEK = elf(
    op(0x07, 1, 0, 0, 8) + op(0xB7, 2, 0, 0, 120) + CALL + RETURN_0 + EXIT,
    {2: b"sol_set_return_data"},
)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LittleChain]:
    given = {**upgradeable(PROGRAM, fails_with(7), slot=0), **upgradeable(PEEKS, PEEK, slot=0)}
    made = LittleChain(tmp_path_factory.mktemp("chain"), given=given)
    made.block(made.payment(TARGET, SOL))
    yield made
    made.close()


@pytest.fixture
def chain(played: LittleChain, db: None) -> LittleChain:
    """In the archive."""
    stored(played.records)
    return played


def zstd(data: bytes) -> list[str]:
    return [b64encode(zstandard.compress(data)), "base64+zstd"]


def lamports_seen(value: dict[str, Any]) -> int:
    """Of what PEEK returns."""
    return int.from_bytes(b64decode(value["returnData"]["data"][0])[72:80], "little")


# --- data -----------------------------------------------------------------------------------------


def test_data_may_be_packed_with_zstd(chain: LittleChain, rpc: Rpc) -> None:
    calls = chain.signed([call(PROGRAM)], chain.payers[0])
    code = upgradeable(PROGRAM, LOGS, slot=0)[code_of(PROGRAM)].data
    streamed = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    packed = streamed.compress(code) + streamed.flush()
    for data in (zstd(code), [b64encode(packed), "base64+zstd"], [b58encode(code), "base58"]):
        value = simulated(rpc, calls, slot=1, overrides={str(code_of(PROGRAM)): {"data": data}})
        assert value["err"] is None and len(value["logs"]) == 4


PACKED = zstandard.compress(bytes(5_000))


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (b"\0" * 9, "not zstd"),
        (b"", "the zstd frame is cut off"),
        (PACKED[:-1], "the zstd frame is cut off"),
        (PACKED + b"\0", "more than one zstd frame"),
        (PACKED + PACKED, "more than one zstd frame"),
        (PACKED + bytes(600), "more than one zstd frame"),
        (MOST + 1, f"it unpacks to more than {MOST} bytes"),
        (1 << 30, f"it unpacks to more than {MOST} bytes"),
    ],
    ids=["other", "empty", "cut", "byte more", "two frames", "tail", "too large", "bomb"],
)
def test_a_frame_that_is_not_one_or_unpacks_to_too_much_is_refused(
    chain: LittleChain, rpc: Rpc, packed: bytes | int, why: str
) -> None:
    # Packed here: every worker imports this file.
    if isinstance(packed, int):
        packed = zstandard.compress(bytes(packed))
    pays = chain.payment(TARGET, SOL)
    data = [b64encode(packed), "base64+zstd"]
    error = refused(rpc, pays, slot=1, overrides={str(TARGET): {"data": data}})
    assert (error["code"], error["data"]["reason"]) == (-32602, "bad_override")
    assert error["message"] == f"Invalid params: invalid base64+zstd encoding: {why}"
    assert error["data"]["at"] == f"[1].overrides.{TARGET}.data"


def test_all_overrides_together_have_so_much_data_and_no_more(chain: LittleChain, rpc: Rpc) -> None:
    """However small they are packed."""
    keys = [Pubkey(bytes([number]) * 32) for number in range(100, 104)]
    reads = chain.signed([call(PEEKS, *keys)], chain.payers[0])
    large = {"owner": str(PROGRAM), "data": zstd(bytes(8 * 1_048_576))}
    whole = {str(key): large for key in keys}
    assert answer(rpc, reads, {"slot": 1, "overrides": whole})["result"]["value"]["err"] is None
    larger = {"owner": str(PROGRAM), "data": zstd(bytes(8 * 1_048_576 + 1))}
    error = refused(rpc, reads, slot=1, overrides={**whole, str(keys[0]): larger})
    assert error["data"]["reason"] == "bad_override"
    assert error["data"]["found"] == error["data"]["maximum"] + 1 == 32 * 1_048_576 + 1


# --- effects --------------------------------------------------------------------------------------

WITHOUT: dict[str, Any] = {
    "System's owner": (addresses.SYSTEM, {"owner": str(PROGRAM)}, "it is native code"),
    "System's lamports": (addresses.SYSTEM, {"lamports": 5}, "it is native code"),
    "a loader's data": (addresses.LOADER_3, {"data": "AAAA"}, "it is native code"),
    "a precompile": (addresses.ED25519, {"lamports": 0}, "it is native code"),
    "ComputeBudget's lamports": (addresses.COMPUTE_BUDGET, {"lamports": 9}, "it is native code"),
    "Instructions": (addresses.INSTRUCTIONS, {"data": "AAAA"}, "the sysvar is made of"),
    "Clock's lamports": (addresses.CLOCK, {"lamports": 5}, "the transaction does not load"),
    "Rent's owner": (addresses.RENT, {"owner": str(PROGRAM)}, "the transaction does not load"),
    "another account": (PEEKS, {"lamports": 5}, "the transaction does not load"),
    "nothing": (PROGRAM, {}, "none of `lamports`, `owner` and `data` is given"),
    "the flag": (PROGRAM, {"executable": True}, "none of `lamports`, `owner` and `data`"),
    "rent": (PROGRAM, {"rentEpoch": 5, "space": 7}, "none of `lamports`, `owner` and `data`"),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_an_override_that_can_have_no_effect_is_refused_by_name(
    chain: LittleChain, rpc: Rpc, name: str
) -> None:
    key, override, why = WITHOUT[name]
    sent = chain.payment(TARGET, SOL)
    good = {str(TARGET): {"lamports": 7 * SOL}}
    error = refused(rpc, sent, slot=1, overrides={**good, str(key): override})
    assert (error["code"], error["data"]["reason"]) == (-32602, "override_without_effect")
    assert error["data"]["pubkey"] == str(key)
    assert error["data"]["at"] == f"[1].overrides.{key}"
    expected = f"Invalid params: the override of {key} has no effect: {why}"
    assert error["message"].startswith(expected)


@pytest.mark.parametrize("key", [addresses.SYSTEM, addresses.INSTRUCTIONS, PEEKS], ids=str)
def test_so_is_an_account_of_another_slot_that_is_not_read(
    chain: LittleChain, rpc: Rpc, key: Pubkey
) -> None:
    error = refused(rpc, chain.payment(TARGET, SOL), slot=1, overrideLoads={str(key): 0})
    assert (error["code"], error["data"]["reason"]) == (-32602, "override_without_effect")
    assert error["data"]["at"] == f"[1].overrideLoads.{key}"


def test_no_native_program_takes_notice_of_its_account(chain: LittleChain, rpc: Rpc) -> None:
    """Not even one that it is handed to sees another balance: the refusals above lose nothing."""
    sent = chain.signed([call(PEEKS, addresses.COMPUTE_BUDGET)], chain.payers[0])
    held = rpc("/rewind", "getAccountInfo", str(addresses.COMPUTE_BUDGET), {"slot": 1})
    assert lamports_seen(simulated(rpc, sent, slot=1)) == held["result"]["value"]["lamports"]
    error = refused(rpc, sent, slot=1, overrides={str(addresses.COMPUTE_BUDGET): {"lamports": 9}})
    assert error["data"]["reason"] == "override_without_effect"


def test_a_sysvar_that_is_loaded_is_seen_with_its_balance(chain: LittleChain, rpc: Rpc) -> None:
    sent = chain.signed([call(PEEKS, addresses.CLOCK)], chain.payers[0])
    value = simulated(rpc, sent, slot=1, overrides={str(addresses.CLOCK): {"lamports": 12_345}})
    assert lamports_seen(value) == 12_345
    assert value["rewindOverriddenAccounts"] == [str(addresses.CLOCK)]


def test_what_was_read_of_a_sysvar_may_be_handed_back_whole(chain: LittleChain, rpc: Rpc) -> None:
    """Its data counts for every transaction."""
    read = rpc("/rewind", "getAccountInfo", str(addresses.CLOCK), {"slot": 1, "encoding": "base64"})
    clock = read["result"]["value"]
    value = simulated(
        rpc, chain.payment(TARGET, SOL), slot=1, overrides={str(addresses.CLOCK): clock}
    )
    assert value["err"] is None


def test_code_of_a_program_that_is_called_counts(chain: LittleChain, rpc: Rpc) -> None:
    sent = chain.signed([call(PROGRAM)], chain.payers[0])
    at = str(code_of(PROGRAM))
    assert simulated(rpc, sent, slot=1, overrides={at: {"lamports": 0}})["err"] is not None
    error = refused(
        rpc, chain.payment(TARGET, SOL), slot=1, overrides={at: {"data": "", "lamports": 5}}
    )
    assert error["data"]["reason"] == "override_without_effect"


def test_a_recorded_transaction_is_held_to_it_too(chain: LittleChain, rpc: Rpc) -> None:
    sent = chain.sent[0]
    for config in (
        {"overrides": {str(PEEKS): {"lamports": 5}}},
        {"overrideLoads": {str(PEEKS): 0}},
    ):
        error = refused(rpc, sent, anchor=own_place(sent), **config)
        assert error["data"]["reason"] == "override_without_effect"
