"""Token transfers and accounts, and their token balances."""

from typing import Any

import pytest
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain import addresses
from tests.simulator.world import (
    ALICE,
    ATA_PROGRAM,
    BOB,
    SOL,
    World,
    address,
    call,
    create_token_account,
    mint_account,
    pay,
    plain,
    readable,
    signing,
    token_account,
    token_address,
    token_transfer,
    v0,
    writable,
)

MINT = address(700)
PROGRAMS = [addresses.TOKEN, addresses.TOKEN_2022]


def with_tokens(program: Pubkey = addresses.TOKEN, decimals: int = 6) -> World:
    """Alice and Bob hold 5 and 0 tokens of a mint."""
    world = World()
    world.accounts[MINT] = mint_account(decimals, program, 5 * 10**decimals)
    for owner, amount in ((ALICE, 5 * 10**decimals), (BOB, 0)):
        key = token_address(owner.pubkey(), MINT, program)
        world.accounts[key] = token_account(MINT, owner.pubkey(), amount, program)
    return world


def alice_pays_bob(
    amount: int, program: Pubkey = addresses.TOKEN, decimals: int = 6
) -> VersionedTransaction:
    source, target = (token_address(each.pubkey(), MINT, program) for each in (ALICE, BOB))
    return v0([token_transfer(source, MINT, target, ALICE.pubkey(), amount, decimals, program)])


def balance(index: int, owner: Pubkey, amount: int, shown: str, program: Pubkey) -> dict[str, Any]:
    return {
        "accountIndex": index,
        "mint": str(MINT),
        "owner": str(owner),
        "programId": str(program),
        "uiTokenAmount": {
            "amount": str(amount),
            "decimals": 6,
            "uiAmount": float(shown) or None,
            "uiAmountString": shown,
        },
    }


@pytest.mark.parametrize("program", PROGRAMS, ids=["SPL Token", "Token-2022"])
def test_a_transfer_and_its_balances(program: Pubkey) -> None:
    world = with_tokens(program)
    outcome = world.run(alice_pays_bob(1_500_000, program))
    assert outcome.err is None
    mine, his = (
        outcome.keys.index(token_address(each.pubkey(), MINT, program)) for each in (ALICE, BOB)
    )
    alice, bob = ALICE.pubkey(), BOB.pubkey()
    before = [balance(mine, alice, 5_000_000, "5", program), balance(his, bob, 0, "0", program)]
    after = [
        balance(mine, alice, 3_500_000, "3.5", program),
        balance(his, bob, 1_500_000, "1.5", program),
    ]
    place = "accountIndex"
    assert outcome.pre_token_balances == sorted(before, key=lambda each: each[place])
    assert outcome.post_token_balances == sorted(after, key=lambda each: each[place])


def test_a_plain_transfer_takes_105_units() -> None:
    outcome = with_tokens().look(alice_pays_bob(1))
    assert outcome.err is None
    assert outcome.units_consumed == 105


def test_a_failed_transfer_leaves_the_balances() -> None:
    outcome = with_tokens().look(alice_pays_bob(5_000_001))
    assert outcome.err == {"InstructionError": [0, {"Custom": 1}]}
    assert outcome.pre_token_balances == outcome.post_token_balances
    assert len(outcome.pre_token_balances) == 2


@pytest.mark.parametrize("program", PROGRAMS, ids=["SPL Token", "Token-2022"])
def test_an_account_is_made_by_programs_that_call_programs(program: Pubkey) -> None:
    world = with_tokens(program)
    carol = address(50)
    outcome = world.run(v0([create_token_account(ALICE.pubkey(), carol, MINT, program)]))
    assert outcome.err is None
    made = token_address(carol, MINT, program)
    assert world.accounts[made].owner == program
    assert outcome.pre_token_balances == []
    (after,) = outcome.post_token_balances
    assert after["accountIndex"] == outcome.keys.index(made)
    assert after["owner"] == str(carol)
    (group,) = outcome.inner_instructions
    assert group["index"] == 0
    assert len(group["instructions"]) >= 3
    assert all(each["stackHeight"] == 2 for each in group["instructions"])
    programs = {outcome.keys[each["programIdIndex"]] for each in group["instructions"]}
    assert programs == {program, addresses.SYSTEM}
    assert ATA_PROGRAM not in outcome.writes


def test_a_closed_account_has_no_lamports_and_no_balance() -> None:
    world = with_tokens()
    his = token_address(BOB.pubkey(), MINT)
    close = call(
        addresses.TOKEN, b"\x09", [writable(his), writable(BOB.pubkey()), signing(BOB.pubkey())]
    )
    outcome = world.run(v0([close], [BOB]))
    assert outcome.err is None
    assert outcome.writes[his].lamports == 0
    assert len(outcome.pre_token_balances) == 1
    assert outcome.post_token_balances == []
    assert his not in world.accounts
    assert outcome.post_balances[outcome.keys.index(his)] == 0
    gone = world.look(alice_pays_bob(1))
    assert gone.err is not None
    assert gone.charged


def test_balances_of_a_mint_that_is_not_there_are_left_out() -> None:
    world = with_tokens()
    source, target = (token_address(each.pubkey(), MINT) for each in (ALICE, BOB))
    del world.accounts[MINT]
    data = b"\x03" + (1).to_bytes(8, "little")
    accounts = [writable(source), writable(target), signing(ALICE.pubkey())]
    outcome = world.look(v0([call(addresses.TOKEN, data, accounts)]))
    assert outcome.err is None
    assert outcome.pre_token_balances == outcome.post_token_balances == []


def test_without_a_token_program_there_are_no_token_balances() -> None:
    world = with_tokens()
    outcome = world.look(pay(token_address(BOB.pubkey(), MINT), SOL))
    assert outcome.err is None
    assert outcome.pre_token_balances == []


def test_wrapped_sol_needs_no_mint() -> None:
    world = World()
    wrapped = token_address(BOB.pubkey(), addresses.WRAPPED_SOL)
    account = token_account(addresses.WRAPPED_SOL, BOB.pubkey(), 7)
    world.accounts[wrapped] = plain(SOL, account.data, addresses.TOKEN)
    world.accounts.pop(addresses.WRAPPED_SOL, None)
    named = call(
        addresses.SYSTEM,
        (2).to_bytes(4, "little") + bytes(8),
        [
            signing(ALICE.pubkey(), writable=True),
            writable(ALICE.pubkey()),
            readable(wrapped),
            readable(addresses.TOKEN),
        ],
    )
    (shown,) = world.look(v0([named])).pre_token_balances
    assert shown["uiTokenAmount"]["uiAmountString"] == "0.000000007"


def test_a_token_2022_account_with_extensions_has_a_balance() -> None:
    program = addresses.TOKEN_2022
    world = with_tokens(program)
    his = token_address(BOB.pubkey(), MINT, program)
    # What every associated account of Token-2022 has: the immutable owner extension.
    longer = world.accounts[his].data + b"\x02" + (7).to_bytes(2, "little") + bytes(2)
    world.accounts[his] = plain(SOL, longer, program)
    outcome = world.look(alice_pays_bob(1, program))
    assert outcome.err is None
    assert len(outcome.post_token_balances) == 2
