"""TransactionError: between the validator's bincode form and the standard node's JSON."""

from typing import Any

from chain.transaction_error_text import INSTRUCTION_ERRORS, TRANSACTION_ERRORS

_TRANSACTION_ERRORS = tuple(TRANSACTION_ERRORS)
_INSTRUCTION_ERRORS = tuple(INSTRUCTION_ERRORS)
_WITH_ACCOUNT_INDEX = {"InsufficientFundsForRent", "ProgramExecutionTemporarilyRestricted"}


class UnknownTransactionError(ValueError):
    """The bytes or the JSON are no TransactionError known here; the text says why."""


def transaction_error_json(data: bytes) -> str | dict[str, Any]:
    """`err` as the standard node's JSON has it; UnknownTransactionError for any other bytes."""
    name = _variant(data, 0, _TRANSACTION_ERRORS)
    if name == "InstructionError":
        index = _byte(data, 4)
        return {name: [index, _instruction_error(data[5:])]}
    if name == "DuplicateInstruction":
        value, end = _byte(data, 4), 5
        answer: str | dict[str, Any] = {name: value}
    elif name in _WITH_ACCOUNT_INDEX:
        value, end = _byte(data, 4), 5
        answer = {name: {"account_index": value}}
    else:
        answer, end = name, 4
    _ends_at(data, end)
    return answer


def transaction_error_bytes(err: Any) -> bytes:
    """The validator's bytes for `err` of the standard node's JSON; UnknownTransactionError for any
    other value.
    """
    name, value = _named(err)
    out = _number(name, _TRANSACTION_ERRORS)
    match value:
        case None if name not in {"InstructionError", "DuplicateInstruction", *_WITH_ACCOUNT_INDEX}:
            return out
        case [int(index), inner] if name == "InstructionError":
            return out + _u8(index) + _instruction_error_bytes(inner)
        case int(index) if name == "DuplicateInstruction":
            return out + _u8(index)
        case {"account_index": int(index)} if name in _WITH_ACCOUNT_INDEX:
            return out + _u8(index)
    raise UnknownTransactionError(f"{name} does not go with {value!r}")


def _instruction_error_bytes(err: Any) -> bytes:
    name, value = _named(err)
    out = _number(name, _INSTRUCTION_ERRORS)
    match value:
        case int(code) if name == "Custom" and 0 <= code < 2**32:
            return out + code.to_bytes(4, "little")
        case None if name != "Custom":
            return out
        case str(text) if name == "BorshIoError":
            return out + len(text.encode()).to_bytes(8, "little") + text.encode()
    raise UnknownTransactionError(f"{name} does not go with {value!r}")


def _named(err: Any) -> tuple[str, Any]:
    """An error's name and what it carries, None for nothing."""
    if isinstance(err, str):
        return err, None
    if isinstance(err, dict) and len(err) == 1:
        ((name, value),) = err.items()
        return name, value
    raise UnknownTransactionError(f"{err!r} names no error")


def _number(name: str, names: tuple[str, ...]) -> bytes:
    try:
        return names.index(name).to_bytes(4, "little")
    except ValueError:
        raise UnknownTransactionError(f"no error is named {name!r}") from None


def _u8(index: int) -> bytes:
    if not 0 <= index <= 0xFF:
        raise UnknownTransactionError(f"{index} is no index")
    return bytes((index,))


def _instruction_error(data: bytes) -> str | dict[str, Any]:
    name = _variant(data, 0, _INSTRUCTION_ERRORS)
    if name == "Custom":
        _ends_at(data, 8)
        return {name: int.from_bytes(data[4:8], "little")}
    if name == "BorshIoError" and len(data) > 4:
        # Before 3.0 a text followed; today's node drops it and names the variant alone.
        _ends_at(data, 12 + int.from_bytes(data[4:12], "little"))
        return name
    _ends_at(data, 4)
    return name


def _variant(data: bytes, start: int, names: tuple[str, ...]) -> str:
    number = data[start : start + 4]
    if len(number) < 4:
        raise UnknownTransactionError("the error ends too early")
    index = int.from_bytes(number, "little")
    if index >= len(names):
        raise UnknownTransactionError(f"no error has the number {index}")
    return names[index]


def _byte(data: bytes, at: int) -> int:
    if at >= len(data):
        raise UnknownTransactionError("the error ends too early")
    return data[at]


def _ends_at(data: bytes, end: int) -> None:
    if len(data) != end:
        raise UnknownTransactionError(
            "the error ends too early" if len(data) < end else "bytes follow the error"
        )
