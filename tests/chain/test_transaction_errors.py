"""The validator's stored errors against solders' own tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.transaction_status import InstructionErrorFieldless, TransactionErrorFieldless

from chain.transaction_errors import (
    UnknownTransactionError,
    transaction_error_json,
)


def u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (u32(0), "AccountInUse"),
        (u32(7), "BlockhashNotFound"),
        (u32(38), "CommitCancelled"),
        (u32(8) + b"\3" + u32(25) + u32(6001), {"InstructionError": [3, {"Custom": 6001}]}),
        (u32(8) + b"\0" + u32(37), {"InstructionError": [0, "ComputationalBudgetExceeded"]}),
        (
            u32(8) + b"\0" + u32(53),
            {"InstructionError": [0, "BuiltinProgramsMustConsumeComputeUnits"]},
        ),
        (u32(8) + b"\1" + u32(44), {"InstructionError": [1, "BorshIoError"]}),
        (
            u32(8) + b"\1" + u32(44) + (7).to_bytes(8, "little") + b"Unknown",
            {"InstructionError": [1, "BorshIoError"]},
        ),
        (u32(30) + b"\4", {"DuplicateInstruction": 4}),
        (u32(31) + b"\2", {"InsufficientFundsForRent": {"account_index": 2}}),
        (u32(35) + b"\2", {"ProgramExecutionTemporarilyRestricted": {"account_index": 2}}),
    ],
)
def test_an_error_is_told_as_the_node_does(data: bytes, expected: object) -> None:
    assert transaction_error_json(data) == expected
    for end in range(len(data)):
        # A text that a BorshIoError lost altogether is the shorter form of today.
        if end != 9 or data[5:9] != u32(44):
            with pytest.raises(UnknownTransactionError):
                transaction_error_json(data[:end])
    with pytest.raises(UnknownTransactionError):
        transaction_error_json(data + b"\0")


def in_order(kind: type) -> list[str]:
    found = {name: int(value) for name, value in vars(kind).items() if name[0].isupper()}
    return sorted(found, key=found.__getitem__)


def json_of(data: bytes) -> object:
    """An error's name; of one with a value, as `{name: …}`."""
    for tail in (b"", b"\0", u32(0), b"\0" + u32(0)):
        try:
            return transaction_error_json(data + tail)
        except UnknownTransactionError:
            continue
    raise AssertionError(data)


def test_the_tables_are_in_the_order_that_solders_knows() -> None:
    # These two stand elsewhere in solders' lists, which are of its own making.
    moved = {"ResanitizationNeeded", "BorshIoError"}
    known = [name for name in in_order(TransactionErrorFieldless) if name not in moved]
    plain = [name for number in range(39) if isinstance(name := json_of(u32(number)), str)]
    assert [name for name in plain if name not in moved] == known
    assert len(known) == 34
    errors = []
    for number in range(55):
        answer = json_of(u32(8) + b"\0" + u32(number))
        assert isinstance(answer, dict)
        errors.append(answer["InstructionError"][1])
    plain = [name for name in errors if isinstance(name, str) and name not in moved]
    # BailOut is newer than solders' list.
    assert plain == [
        *(name for name in in_order(InstructionErrorFieldless) if name not in moved),
        "BailOut",
    ]
    assert len(plain) == 53


@given(st.binary(max_size=30))
def test_any_bytes_are_an_error_or_refused(data: bytes) -> None:
    try:
        assert transaction_error_json(data)
    except UnknownTransactionError as refused:
        assert str(refused)
