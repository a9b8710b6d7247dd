"""What reading real transactions beside their explanations found wrong, fault by fault."""

from typing import Any

import pytest

from chain.encodings import b58encode
from chain.explained.instructions import decode
from chain.explained.programs import (
    ASSOCIATED_TOKEN,
    COMPUTE_BUDGET,
    ED25519,
    MEMOS,
    STAKE,
    SYSTEM,
    TOKEN,
)
from chain.explained.transactions import explain
from tests.chain.test_explained import HEADER, OTHER
from tests.chain.test_explained_natives import A, B, C, u

KEYS = [A, B, C, OTHER, SYSTEM, TOKEN, ASSOCIATED_TOKEN, MEMOS[1], ED25519, STAKE, COMPUTE_BUDGET]


def call(program: str, data: bytes, *accounts: int) -> dict[str, Any]:
    index = KEYS.index(program)
    return {"programIdIndex": index, "accounts": [*accounts], "data": b58encode(data)}


def entry(*calls: dict[str, Any], **meta: Any) -> dict[str, Any]:
    message = {"accountKeys": KEYS, "header": HEADER, "instructions": [*calls]}
    return {"transaction": {"message": message}, "meta": {"err": None, **meta}}


def sentence(program: str, err: Any, *logs: str, code: str = "failed: invalid") -> str:
    return explain(
        entry(
            call(program, b"\1", 0),
            err={"InstructionError": [0, err]},
            logMessages=[
                f"Program {program} invoke [1]",
                *logs,
                f"Program {program} consumed 100 of 200000 compute units",
                f"Program {program} {code}",
            ],
        )
    ).sentence


def test_a_called_programs_code_is_not_mixed_up_with_its_callers() -> None:
    """As an exchange of 2020 did, which gave the token program's error 1 a number of its own."""
    transfer = {**call(TOKEN, b"\3" + u(8, 5), 0, 1, 2), "stackHeight": 2}
    found = explain(
        entry(
            call(OTHER, b"\1", 0),
            err={"InstructionError": [0, {"Custom": 34}]},
            innerInstructions=[{"index": 0, "instructions": [transfer]}],
            logMessages=[
                f"Program {OTHER} invoke [1]",
                f"Program {TOKEN} invoke [2]",
                f"Program {TOKEN} failed: custom program error: 0x1",
                f"Program {OTHER} failed: custom program error: 0x22",
            ],
        )
    )
    assert found.sentence == (
        "The token account has too few tokens for this. The program that called it returned"
        " another error: Custom program error: 0x22."
    )
    assert found.failed is not None and found.failed.instruction == "1.1"


@pytest.mark.parametrize(
    ("err", "lines", "said"),
    [
        (
            {"Custom": 30},
            ["Program log: ray_log: A98c", "Program log: Error: exceeds desired slippage limit"],
            f"The program {OTHER} returned its own error 30 (0x1e): it logged “exceeds desired"
            " slippage limit”.",
        ),
        (
            {"Custom": 300},
            ["Program log: Sequence out of order", "Program log: Custom program error: 0x12c"],
            f"The program {OTHER} returned its own error 300 (0x12c): it logged “Sequence out of"
            " order”.",
        ),
        (
            "InvalidArgument",
            ["Transfer: `from` must not carry data"],
            "The program refused an argument: it logged “Transfer: `from` must not carry data”.",
        ),
        (
            "InvalidArgument",
            [
                "Program log: Instruction: Swap",
                "Program log: FeeInstruction: Swap",
                "Program data: AAAA",
                "Program consumption: 1 units remaining",
                "Program return: AAAA",
                "Program log: Error: InvalidArgument",
                "Program log: ERROR: An argument was not valid",
            ],
            "The program refused an argument.",
        ),
    ],
    ids=["error", "code again", "native", "nothing said"],
)
def test_a_programs_last_words_are_quoted_if_they_say_more(
    err: Any, lines: list[str], said: str
) -> None:
    assert sentence(OTHER, err, *lines) == said


@pytest.mark.parametrize(
    ("program", "err", "said"),
    [
        (ASSOCIATED_TOKEN, "IllegalOwner", "The associated token account exists already: "),
        (MEMOS[1], "InvalidInstructionData", "The memo is not valid UTF-8."),
        (ED25519, {"Custom": 2}, "A signature does not verify."),
        (STAKE, {"Custom": 5}, "A stake that is activating or deactivating cannot be merged."),
        (STAKE, {"Custom": 6}, "The stakes cannot be merged: "),
    ],
)
def test_a_program_means_something_of_its_own(program: str, err: Any, said: str) -> None:
    assert sentence(program, err).startswith(said)


def test_accounts_that_do_not_exist_are_named() -> None:
    transfer = call(TOKEN, b"\x0c" + u(8, 5) + b"\6", 0, 1, 2, 3)
    failed = {"err": {"InstructionError": [0, "InvalidAccountData"]}}
    found = explain(entry(transfer, preBalances=[9, 9, 0, 0], **failed))
    assert found.sentence == (
        f"An account's data are not what the program expects. Its destination {C} does not exist."
    )
    made = call(SYSTEM, u(4, 0) + u(8, 9, 9) + bytes(32), 3, 2)
    failed = {"err": {"InstructionError": [1, "InvalidAccountData"]}}
    found = explain(entry(made, transfer, preBalances=[9, 9, 0, 9], **failed))
    assert found.sentence == "An account's data are not what the program expects.", "it was made"


def test_the_priority_fee_is_the_one_that_was_paid() -> None:
    """Older rules rounded down, and gave instructions other units by default."""
    price = call(COMPUTE_BUDGET, b"\3" + u(8, 30_000))
    found = explain(entry(price, call(OTHER, b"\1", 0), fee=11_000))
    assert (found.fees.base, found.fees.priority) == (5_000, 6_000)
    assert ("Priority fee", "6,000 lamports (0.000006 SOL)") in found.settings_in_words


def test_one_of_a_unit_is_not_several() -> None:
    price = call(COMPUTE_BUDGET, b"\3" + u(8, 1))
    found = explain(entry(price, call(OTHER, b"", 0), fee=5_001))
    assert found.settings_in_words == (
        ("Compute unit price", "1 micro-lamport"),
        ("Priority fee", "1 lamport (0.000000001 SOL)"),
    )


def test_members_of_members_have_a_line_each() -> None:
    data = u(4, 0) + bytes([7]) * 32 + bytes([8]) * 32 + bytes(48)
    details = dict(decode(STAKE, [A, B], b58encode(data)).details)
    assert details["authorized.staker"] == b58encode(bytes([7]) * 32)
    assert details["lockup.epoch"] == "0" and "authorized" not in details


def test_nothing_is_called_none_and_yes_is_true() -> None:
    # No new authority.
    details = dict(decode(TOKEN, [A, B], b58encode(b"\6\0\0")).details)
    assert details["newAuthority"] == "none"
    keys = b"\1" + bytes([7]) * 32 + b"\1"
    config = "Config1111111111111111111111111111111111111"
    assert '"signer":true' in dict(decode(config, [A], b58encode(keys)).details)["keys"]


def test_transfers_in_a_batch_are_counted() -> None:
    transfer = b"\3" + u(8, 5)
    batch = b"\xff" + 2 * (bytes([3, len(transfer)]) + transfer)
    balance = {
        "mint": OTHER,
        "uiTokenAmount": {"amount": "9", "decimals": 1, "uiAmountString": "1"},
    }
    found = explain(
        entry(
            call(TOKEN, batch, 0, 1, 2, 1, 0, 2),
            preTokenBalances=[{"accountIndex": 0, **balance}],
        )
    )
    assert [(each.kind, each.source, each.destination) for each in found.transfers] == [
        ("transfer", A, B),
        ("transfer", B, A),
    ]
    assert found.transfers[0].ui_amount == "0.5"


def test_instructions_without_accounts_are_read() -> None:
    found = decode(STAKE, [], b58encode(u(4, 13)))
    assert (found.kind, found.by) == ("getMinimumDelegation", "program")
