"""Explaining any transaction with any error returns a result and never fails."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from chain.encodings import b58encode
from chain.explained.funding import RentShortfall, Shortfall
from chain.explained.instructions import flat, sol
from chain.explained.programs import COMPUTE_BUDGET, NAMES, SYSTEM, TOKEN
from chain.explained.transactions import explain, explain_error
from chain.transaction_errors import (
    UnknownTransactionError,
    transaction_error_bytes,
    transaction_error_json,
)
from tests.chain.test_parsed_anything import rest
from tests.examples import examples

OTHER = str(Pubkey(bytes([7]) * 32))
HEADER = {
    "numRequiredSignatures": 1,
    "numReadonlySignedAccounts": 0,
    "numReadonlyUnsignedAccounts": 2,
}
KEYS = [OTHER, *sorted(NAMES), "Ed25519SigVerify111111111111111111111111111"]


def _decodable(data: bytes) -> Any:
    try:
        return transaction_error_json(data)
    except UnknownTransactionError:
        return None


index = st.integers(0, 20)
number = st.integers(0, 2**64 - 1)
# Variant 8 is InstructionError: its index, and the variant of its own error; 25 is Custom.
instruction_error = st.builds(
    lambda at, kind, tail: (
        (8).to_bytes(4, "little") + bytes([at]) + kind.to_bytes(4, "little") + tail
    ),
    st.integers(0, 5),
    st.one_of(st.just(25), st.integers(0, 60)),
    st.sampled_from(
        [b"", *(code.to_bytes(4, "little") for code in (0, 1, 6, 18, 6001, 2**32 - 1))]
    ),
)
whole_error = st.builds(
    lambda kind, tail: kind.to_bytes(4, "little") + tail,
    st.integers(0, 40),
    st.sampled_from([b"", b"\3"]),
)
errors = st.one_of(st.none(), st.one_of(instruction_error, whole_error).map(_decodable))
instruction = st.fixed_dictionaries(
    {
        "programIdIndex": index,
        "accounts": st.lists(index, max_size=6),
        "data": rest.map(b58encode),
    },
    optional={"stackHeight": st.none() | st.integers(0, 2**32 - 1)},
)
line = st.one_of(
    st.builds("Program {} invoke [{}]".format, st.sampled_from(KEYS), st.integers(1, 4)),
    st.builds("Program {} success".format, st.sampled_from(KEYS)),
    st.builds("Program {} failed: custom program error: 0x1".format, st.sampled_from(KEYS)),
    st.builds("Transfer: insufficient lamports {}, need {}".format, number, number),
    st.just("Log truncated"),
    st.text(max_size=30),
)
token_balance = st.builds(
    lambda at, amount: {
        "accountIndex": at,
        "mint": OTHER,
        "uiTokenAmount": {"uiAmountString": amount},
    },
    index,
    st.sampled_from(["0", "1.5"]),
)
setting = st.none() | st.integers(0, 2**32 - 1)
in_line = st.fixed_dictionaries(
    {
        "computeUnitLimit": setting,
        "heapSize": setting,
        "loadedAccountsDataSizeLimit": setting,
        "priorityFee": st.none() | number,
    }
)
entries = st.builds(
    lambda instructions, config, meta: {
        "transaction": {
            "message": {"accountKeys": KEYS, "header": HEADER, "instructions": instructions}
            | ({} if config is None else {"transactionConfig": config})
        },
        "meta": meta,
    },
    st.lists(instruction, max_size=5),
    st.none() | in_line,
    st.one_of(
        st.none(),
        st.fixed_dictionaries(
            {"err": errors},
            optional={
                "fee": number,
                "logMessages": st.one_of(st.none(), st.lists(line, max_size=12)),
                "preBalances": st.lists(number, max_size=16),
                "postBalances": st.lists(number, max_size=16),
                "preTokenBalances": st.one_of(st.none(), st.lists(token_balance, max_size=3)),
                "postTokenBalances": st.lists(token_balance, max_size=3),
                "computeUnitsConsumed": number,
                "innerInstructions": st.lists(
                    st.fixed_dictionaries(
                        {
                            "index": st.integers(0, 5),
                            "instructions": st.lists(instruction, max_size=4),
                        }
                    ),
                    max_size=3,
                ),
            },
        ),
    ),
)


@settings(max_examples=examples(200), deadline=None)
@given(entries)
def test_any_transaction_with_any_error_is_explained(entry: dict[str, Any]) -> None:
    err = (entry["meta"] or {}).get("err")
    found = explain(entry)
    assert bool(found.sentence) == bool(found.technical) == (err is not None)
    if err is not None:
        assert explain_error(err)


def test_calls_of_a_file_that_nest_without_end_are_explained() -> None:
    inner = [
        {"programIdIndex": 1, "accounts": [], "data": "", "stackHeight": depth}
        for depth in range(2, 5_000)
    ]
    entry = _entry(
        [{"programIdIndex": 0, "accounts": [], "data": ""}],
        err=None,
        innerInstructions=[{"index": 0, "instructions": inner}],
    )
    calls = [*flat(explain(entry).calls)]
    assert len(calls) == 4_999 and max(each.depth for each in calls) == 16


def _entry(instructions: list[dict[str, Any]], **meta: Any) -> dict[str, Any]:
    message = {
        "accountKeys": [OTHER, SYSTEM, TOKEN, COMPUTE_BUDGET],
        "header": HEADER,
        "instructions": instructions,
    }
    return {"transaction": {"message": message}, "meta": meta}


def test_the_inner_call_that_failed_is_named_with_what_its_log_says() -> None:
    transfer = (2).to_bytes(4, "little") + (10**12).to_bytes(8, "little")
    inner = {"programIdIndex": 1, "accounts": [0, 2], "data": b58encode(transfer)}
    limit = b58encode(bytes([2]) + (90_000).to_bytes(4, "little"))
    entry = _entry(
        [
            {"programIdIndex": 3, "accounts": [], "data": limit},
            {"programIdIndex": 0, "accounts": [], "data": ""},
        ],
        err={"InstructionError": [1, {"Custom": 1}]},
        computeUnitsConsumed=300,
        innerInstructions=[{"index": 1, "instructions": [inner]}],
        logMessages=[
            f"Program {COMPUTE_BUDGET} invoke [1]",
            f"Program {COMPUTE_BUDGET} success",
            f"Program {OTHER} invoke [1]",
            f"Program {SYSTEM} invoke [2]",
            "Transfer: insufficient lamports 1100000000, need 1000000000000",
            f"Program {SYSTEM} failed: custom program error: 0x1",
            f"Program {OTHER} failed: custom program error: 0x1",
        ],
    )
    found = explain(entry)
    assert found.sentence == "Transfer of 1,000 SOL; the payer had 1.1."
    assert (found.units_used, found.units_asked) == (300, 90_000)
    failed = found.failed
    assert failed is not None
    assert (failed.number, failed.inner, failed.program, failed.kind) == (
        2,
        1,
        "System program",
        "transfer",
    )
    assert ("lamports", "1,000,000,000,000 (1,000 SOL)") in failed.details
    assert failed.logs[0] == f"Program {OTHER} invoke [1]", "the lines of this instruction only"


NOTHING = dict.fromkeys(
    ("computeUnitLimit", "heapSize", "loadedAccountsDataSizeLimit", "priorityFee")
)


@pytest.mark.parametrize(
    ("config", "err", "words", "asked"),
    [
        (
            {},
            "MaxLoadedAccountsDataSizeExceeded",
            "It asks for no loaded accounts data size limit, and a version 1 transaction has no"
            " default",
            [
                ("Compute unit limit", "0: none was asked for"),
                ("Loaded data limit", "0: none was asked for"),
            ],
        ),
        (
            {"loadedAccountsDataSizeLimit": 100, "priorityFee": 7},
            "MaxLoadedAccountsDataSizeExceeded",
            "Its accounts hold more data than the 100 bytes that it asked for",
            [
                ("Compute unit limit", "0: none was asked for"),
                ("Priority fee", "7 lamports (0.000000007 SOL)"),
                ("Loaded data limit", "100 bytes"),
            ],
        ),
        *(
            (
                {"loadedAccountsDataSizeLimit": 4_000},
                {"InstructionError": [0, err]},
                "It asks for no compute units, and a version 1 transaction has no default",
                [
                    ("Compute unit limit", "0: none was asked for"),
                    ("Loaded data limit", "4,000 bytes"),
                ],
            )
            for err in ("ComputationalBudgetExceeded", "ProgramFailedToComplete")
        ),
        (
            {"computeUnitLimit": 300, "loadedAccountsDataSizeLimit": 4_000, "heapSize": 65_536},
            {"InstructionError": [0, "ComputationalBudgetExceeded"]},
            "It used all its compute units",
            [("Loaded data limit", "4,000 bytes"), ("Heap size", "65,536 bytes")],
        ),
    ],
)
def test_a_version_1_that_asked_for_too_little_is_told_so(
    config: dict[str, Any], err: Any, words: str, asked: list[tuple[str, str]]
) -> None:
    entry = _entry([{"programIdIndex": 1, "accounts": [], "data": ""}], err=err)
    entry["transaction"]["message"]["transactionConfig"] = NOTHING | config
    found = explain(entry)
    assert found.sentence.startswith(words)
    assert list(found.settings_in_words) == asked
    assert found.units_asked == config.get("computeUnitLimit")


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        (
            "exceeded CUs meter at BPF instruction",
            "It used all its compute units: set a higher limit.",
        ),
        ("Access violation", "The program stopped before its end"),
    ],
)
def test_a_program_that_used_its_last_unit_is_told_so(end: str, sentence: str) -> None:
    entry = _entry(
        [{"programIdIndex": 0, "accounts": [], "data": ""}],
        err={"InstructionError": [0, "ProgramFailedToComplete"]},
        logMessages=[
            f"Program {OTHER} invoke [1]",
            f"Program {OTHER} consumed 300 of 300 compute units",
            f"Program {OTHER} failed: {end}",
        ],
    )
    assert explain(entry).sentence.startswith(sentence)


def test_settings_are_those_of_the_instructions_in_older_versions() -> None:
    instructions = [
        {"programIdIndex": 3, "accounts": [], "data": b58encode(data)}
        for data in (
            b"\2" + (90_000).to_bytes(4, "little"),
            b"\3" + (50_000).to_bytes(8, "little"),
            b"\4" + (2_000).to_bytes(4, "little"),
        )
    ]
    found = explain(_entry(instructions, err="MaxLoadedAccountsDataSizeExceeded"))
    assert found.sentence.startswith("Its accounts hold more data than the 2,000 bytes")
    assert found.units_asked == 90_000
    assert list(found.settings_in_words) == [
        ("Compute unit price", "50,000 micro-lamports"),
        ("Priority fee", "4,500 lamports (0.0000045 SOL)"),
        ("Loaded data limit", "2,000 bytes"),
    ]


@pytest.mark.parametrize(
    ("program", "err", "sentence"),
    [
        (2, {"Custom": 1}, "The token account has too few tokens for this."),
        (2, {"Custom": 99}, "Token program returned its own error 99 (0x63)"),
        (0, {"Custom": 6001}, f"The program {OTHER} returned its own error 6001 (0x1771)."),
        (0, "MissingRequiredSignature", "An account that must sign did not."),
        (0, "CallDepth", "Cross-program invocation call depth too deep."),
    ],
)
def test_an_error_is_words_by_program_and_code(program: int, err: Any, sentence: str) -> None:
    wire = {"InstructionError": [0, err]}
    assert transaction_error_json(transaction_error_bytes(wire)) == wire, "an error of the chain"
    entry = _entry([{"programIdIndex": program, "accounts": [], "data": ""}], err=wire)
    assert (explain(entry).sentence).startswith(sentence)


def _transfer(to: int, lamports: int, source: int = 0) -> dict[str, Any]:
    data = (2).to_bytes(4, "little") + lamports.to_bytes(8, "little")
    return {"programIdIndex": 1, "accounts": [source, to], "data": b58encode(data)}


def _too_few(had: int, need: int) -> list[str]:
    return [
        f"Program {SYSTEM} invoke [1]",
        f"Transfer: insufficient lamports {had}, need {need}",
        f"Program {SYSTEM} failed: custom program error: 0x1",
    ]


@pytest.mark.parametrize(
    ("last", "is_whole"),
    [
        (_transfer(2, 300), True),
        ({"programIdIndex": 2, "accounts": [0], "data": ""}, False),
    ],
)
def test_a_shortfall_counts_what_comes_before_and_after_it(
    last: dict[str, Any], is_whole: bool
) -> None:
    paid = [f"Program {SYSTEM} invoke [1]", f"Program {SYSTEM} success"]
    entry = _entry(
        [_transfer(2, 1_000), _transfer(0, 40, source=2), _transfer(2, 9_000), last],
        err={"InstructionError": [2, {"Custom": 1}]},
        fee=5_000,
        preBalances=[10_000, 1, 7_000, 1],
        postBalances=[5_000, 1, 7_000, 1],
        logMessages=[*paid, *paid, *_too_few(4_040, 9_000)],
    )
    short = explain(entry).short
    assert isinstance(short, Shortfall)
    assert (short.pubkey, short.before, short.had, short.fee) == (OTHER, 10_000, 4_040, 5_000)
    assert [each.lamports for each in short.earlier] == [1_000] and short.other == -40
    later = sum(each.lamports for each in short.later)
    assert (later, short.is_whole) == (300 if is_whole else 0, is_whole)
    assert short.missing == 4_960 and short.sufficient == 10_000 + 4_960 + later
    assert short.sufficient_to_stay - short.sufficient == 890_880


def test_a_source_that_is_not_the_fee_payer_pays_no_fee() -> None:
    entry = _entry(
        [_transfer(0, 9_000, source=2)],
        err={"InstructionError": [0, {"Custom": 1}]},
        fee=5_000,
        preBalances=[10_000, 1, 7_000, 1],
        logMessages=_too_few(7_000, 9_000),
    )
    short = explain(entry).short
    assert isinstance(short, Shortfall)
    assert (short.fee, short.other, short.sufficient) == (0, 0, 9_000)


@pytest.mark.parametrize(
    ("index", "balances", "left", "sufficient"),
    [
        (2, [2_000_000, 1, 0, 1], 500, 890_380),
        (0, [6_500, 1, 10_000_000, 1], 1_000, 896_380),
    ],
)
def test_what_a_rent_exempt_balance_lacks_is_counted(
    index: int, balances: list[int], left: int, sufficient: int
) -> None:
    entry = _entry(
        [_transfer(2, 500)],
        err={"InsufficientFundsForRent": {"account_index": index}},
        fee=5_000,
        preBalances=balances,
    )
    short = explain(entry).short
    assert isinstance(short, RentShortfall)
    assert (short.left, short.sufficient, short.is_new) == (left, sufficient, index == 2)


def test_lamports_are_sol_to_the_last_digit() -> None:
    assert [sol(each) for each in (10**12, 1_099_995_000, 1, 0, -5_000)] == [
        "1,000",
        "1.099995",
        "0.000000001",
        "0",
        "-0.000005",
    ]


def test_a_transfer_of_too_many_tokens_says_how_many_there_were() -> None:
    checked = bytes([12]) + (5_000_000).to_bytes(8, "little") + bytes([6])
    plain = bytes([3]) + (5_000_000).to_bytes(8, "little")
    held = {"amount": "3000000", "decimals": 6, "uiAmountString": "3", "uiAmount": 3.0}
    for data, accounts in ((checked, [0, 1, 3, 0]), (plain, [0, 3, 0])):
        entry = _entry(
            [{"programIdIndex": 2, "accounts": accounts, "data": b58encode(data)}],
            err={"InstructionError": [0, {"Custom": 1}]},
            preTokenBalances=[{"accountIndex": 0, "mint": SYSTEM, "uiTokenAmount": held}],
        )
        wanted = "Transfer of 5 tokens; the account had 3 before the transaction."
        assert explain(entry).sentence == wanted, "by its mint's decimals"


def test_tokens_in_a_sentence_have_the_separators_that_sol_has() -> None:
    data = bytes([12]) + (5_000_000_500).to_bytes(8, "little") + bytes([3])
    held = {"amount": "1234567", "decimals": 3, "uiAmountString": "1234.567", "uiAmount": 1234.567}
    entry = _entry(
        [{"programIdIndex": 2, "accounts": [0, 1, 3, 0], "data": b58encode(data)}],
        err={"InstructionError": [0, {"Custom": 1}]},
        preTokenBalances=[{"accountIndex": 0, "mint": SYSTEM, "uiTokenAmount": held}],
    )
    found = explain(entry)
    wanted = "Transfer of 5,000,000.5 tokens; the account had 1,234.567 before the transaction."
    assert found.sentence == wanted
    assert found.failed is not None and ("tokenAmount", "5,000,000.5") in found.failed.details


def test_the_account_that_would_not_be_rent_exempt_is_named() -> None:
    entry = _entry([], err={"InsufficientFundsForRent": {"account_index": 1}})
    assert explain(entry).sentence.startswith(f"The account {SYSTEM} would be left with too few")
    assert explain_error({"InsufficientFundsForRent": {"account_index": 1}}).startswith("An acc")
