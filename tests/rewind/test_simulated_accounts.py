"""`accounts` of simulateHistoricalTransaction: what simulateTransaction shows, in the past."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageAddressTableLookup, MessageHeader, MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.instructions import get_associated_token_address

from chain.encodings import b64decode, unzstd
from tests.clients.minted import Minted
from tests.conftest import Rpc
from tests.rewind.little_chain import SOL, LittleChain
from tests.rewind.samples import WHOLE
from tests.rewind.simulating import answer, own_place, refused, simulated, stored

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_ledger")]

K = Keypair.from_seed(bytes([77]) * 32)
WATCHED = Pubkey(bytes([78]) * 32)
NEVER = Pubkey(bytes([79]) * 32)
SYSTEM = str(Pubkey.default())
CLOCK = Pubkey.from_string("SysvarC1ock11111111111111111111111111111111")
ZSTD = "base64+zstd"
INSTRUCTIONS = Pubkey.from_string("Sysvar1nstructions1111111111111111111111111")
HELD = {"data": ["", "base64"], "executable": False, "rentEpoch": 2**64 - 1, "space": 0}


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[LittleChain]:
    """K has 2 SOL after slot 1; WATCHED 1 SOL after slot 2, and 2 after the second transaction of
    slot 3; slot 4 pays to K.
    """
    made = LittleChain(tmp_path)
    made.block(made.payment(K.pubkey(), 2 * SOL))
    made.block(made.payment(WATCHED, SOL))
    made.block(made.payment(K.pubkey(), SOL, payer=1), made.payment(WATCHED, SOL))
    made.block(made.payment(K.pubkey(), SOL, payer=1))
    yield made
    made.close()


def paid(made: LittleChain, lamports: int, *, to: int = 0, fee_by: int = 0) -> VersionedTransaction:
    """From K, to a payer; a payer pays the fee."""
    params = TransferParams(
        from_pubkey=K.pubkey(), to_pubkey=made.payers[to].pubkey(), lamports=lamports
    )
    return made.signed([transfer(params)], made.payers[fee_by], K)


def shown(
    rpc: Rpc,
    transaction: VersionedTransaction,
    *keys: Pubkey,
    encoding: str | None = "base64",
    **config: Any,
) -> list[Any]:
    wanted = {"encoding": encoding, "addresses": [str(key) for key in keys]}
    accounts: list[Any] = simulated(rpc, transaction, accounts=wanted, **config)["accounts"]
    return accounts


def test_an_account_that_is_emptied_is_not_one_that_never_was(chain: LittleChain, rpc: Rpc) -> None:
    stored(chain.records[:2])
    payer = chain.payers[0].pubkey()
    found = shown(rpc, paid(chain, 2 * SOL), K.pubkey(), NEVER, payer, slot=1)
    assert found == [
        {"lamports": 0, "owner": SYSTEM, **HELD},
        None,
        {"lamports": 1_000 * SOL - 15_000, "owner": SYSTEM, **HELD},
    ]


def test_an_account_that_is_loaded_and_does_not_exist_is_empty(
    chain: LittleChain, rpc: Rpc
) -> None:
    from solders.instruction import AccountMeta

    stored(chain.records)
    payer = chain.payers[0]
    given = transfer(TransferParams(from_pubkey=payer.pubkey(), to_pubkey=WATCHED, lamports=1))
    for writable in (False, True):
        metas = [*given.accounts, AccountMeta(NEVER, False, writable)]
        made = chain.signed([type(given)(given.program_id, bytes(given.data), metas)], payer)
        assert shown(rpc, made, NEVER, slot=4) == [{"lamports": 0, "owner": SYSTEM, **HELD}]


def test_accounts_outside_the_transaction_are_as_they_were_there(
    chain: LittleChain, rpc: Rpc
) -> None:
    stored(chain.records)
    sent = chain.sent

    def watched(**position: Any) -> Any:
        (found,) = shown(rpc, sent[0], WATCHED, **position)
        return found and found["lamports"]

    assert watched(slot=1) is None
    assert watched(slot=2) == watched(slot=3, transactionIndex=0) == SOL
    assert watched(anchor=own_place(sent[3])) == SOL
    assert watched(anchor=own_place(sent[3], "after")) == watched(slot=4) == 2 * SOL
    assert watched(slot=4, preStateSlot=2) == SOL
    # Also in the place where it is replayed against the record.
    value = answer(
        rpc,
        sent[2],
        {"anchor": own_place(sent[2]), "accounts": {"addresses": [str(WATCHED), str(CLOCK)]}},
    )["result"]
    assert value["value"]["fidelity"] == "verified"
    assert value["context"]["completeness"] == WHOLE
    account, clock = value["value"]["accounts"]
    read = rpc("/rewind", "getAccountInfo", str(WATCHED), {"anchor": own_place(sent[2])})
    expected = read["result"]["value"]
    assert account == {name: expected[name] for name in account}
    assert int.from_bytes(b64decode(clock["data"][0])[:8], "little") == 3
    # It is a part of no bank, but of each transaction that names it.
    assert shown(rpc, sent[0], INSTRUCTIONS, slot=4) == [None]


def test_what_was_emptied_before_is_null(chain: LittleChain, rpc: Rpc) -> None:
    chain.block(paid(chain, 4 * SOL))
    stored(chain.records)
    assert shown(rpc, chain.sent[1], K.pubkey(), slot=4)[0]["lamports"] == 4 * SOL
    assert shown(rpc, chain.sent[1], K.pubkey(), slot=5) == [None]


def test_after_a_failure_all_are_null(chain: LittleChain, rpc: Rpc) -> None:
    stored(chain.records)
    assert shown(rpc, paid(chain, 9 * SOL), K.pubkey(), WATCHED, slot=4) == [None, None]


def test_the_encodings_are_the_nodes(chain: LittleChain, rpc: Rpc) -> None:
    payer, mint = chain.payers[0], Keypair()
    minted = Minted(TOKEN_PROGRAM_ID, mint.pubkey(), payer, [payer])
    token = get_associated_token_address(payer.pubkey(), mint.pubkey(), TOKEN_PROGRAM_ID)
    chain.block(
        chain.signed([*minted.create(), minted.account(payer, payer.pubkey())], payer, mint)
    )
    stored(chain.records)
    sent = chain.sent[0]
    (plain,) = shown(rpc, sent, token, slot=5, encoding=None)
    assert plain == shown(rpc, sent, token, slot=5)[0]
    assert (plain["space"], plain["owner"]) == (165, str(TOKEN_PROGRAM_ID))
    ((packed, name),) = (each["data"] for each in shown(rpc, sent, token, slot=5, encoding=ZSTD))
    data = b64decode(plain["data"][0])
    assert (unzstd(b64decode(packed), most=165), name) == (data, ZSTD)
    parsed, wallet = shown(rpc, sent, token, K.pubkey(), slot=5, encoding="jsonParsed")
    # The mint's decimals: it is not in the transaction either.
    info = parsed["data"]["parsed"]["info"]
    assert (info["mint"], info["tokenAmount"]["decimals"]) == (str(mint.pubkey()), 6)
    assert wallet["data"] == ["", "base64"]
    read = rpc("/rewind", "getAccountInfo", str(token), {"slot": 5, "encoding": "jsonParsed"})[
        "result"
    ]["value"]
    assert parsed == {name: read[name] for name in parsed}


def test_as_many_may_be_named_as_the_transaction_has(chain: LittleChain, rpc: Rpc) -> None:
    stored(chain.records)
    sent = chain.sent[0]
    assert len(shown(rpc, sent, *[WATCHED] * 3, slot=4)) == 3
    for config, message, reason in (
        ({"addresses": [str(WATCHED)] * 4}, "Too many accounts provided; max 3", "addresses"),
        ({"encoding": "base58", "addresses": []}, "base58 encoding not supported", "encoding"),
        ({"encoding": "binary", "addresses": []}, "base58 encoding not supported", "encoding"),
        ({"addresses": ["x"]}, "Invalid param: WrongSize", "addresses"),
    ):
        error = refused(rpc, sent, slot=4, accounts=config)
        assert (error["code"], error["message"]) == (-32602, message)
        assert reason in error["data"]["at"]
    # What it looks up counts as well.
    lookup = MessageAddressTableLookup(WATCHED, bytes([0, 1]), bytes([2]))
    payer = chain.payers[0]
    message = MessageV0(MessageHeader(1, 0, 0), [payer.pubkey()], Hash.default(), [], [lookup])
    looked = VersionedTransaction(message, [payer])
    for count, words in ((5, "Too many accounts provided; max 4"), (4, "")):
        accounts = {"addresses": [str(WATCHED)] * count}
        found = answer(rpc, looked, {"slot": 4, "accounts": accounts})
        said = found.get("error", {}).get("message", "")
        assert (said == words) if words else not said.startswith("Too many")


def test_an_account_of_which_nothing_is_known_is_refused(chain: LittleChain, rpc: Rpc) -> None:
    """As one that the transaction names, unless that is tolerated: then it is said."""
    stored(chain.records[2:])  # from slot 2 on, and no snapshot
    sent, place = chain.sent[3], {"anchor": own_place(chain.sent[3])}
    wanted = {"addresses": [str(NEVER)]}
    assert answer(rpc, sent, place)["result"]["value"]["err"] is None
    error = refused(rpc, sent, **place, accounts=wanted)
    assert error["data"]["reason"] == "state_not_recorded"
    found = answer(rpc, sent, {**place, "tolerateGaps": True, "accounts": wanted})["result"]
    assert found["value"]["accounts"] == [None]
    causes = found["context"]["completeness"]["causes"]
    assert [str(NEVER)] in [each["accounts"] for each in causes]


def test_a_verified_run_says_that_an_outside_account_may_have_changed(
    chain: LittleChain, rpc: Rpc
) -> None:
    stored([*chain.records[:3], chain.records[4]])  # slot 3 is missing, where WATCHED was paid
    sent = chain.sent[4]
    place = {"anchor": own_place(sent), "accounts": {"addresses": [str(WATCHED)]}}
    result = answer(rpc, sent, place)["result"]
    assert result["value"]["accounts"][0]["lamports"] == SOL
    gaps = [each for each in result["context"]["completeness"]["causes"] if each["cause"] == "gap"]
    assert str(WATCHED) in gaps[0]["accounts"]
    assert result["value"]["fidelity"] == "unverified"
