"""The settings of an explained transaction, and failures for want of them."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from chain.encodings import b58decode
from chain.explained import programs
from chain.explained.instructions import sol
from chain.transaction_json import all_keys
from chain.transaction_settings import COMPUTE_BUDGET, BadSettings, Settings, settings_of
from chain.transactions import Config

Entry = dict[str, Any]
_OF_UNITS = ("ComputationalBudgetExceeded", "ProgramFailedToComplete")
_NO_DEFAULT = "a version 1 transaction has no default"


def settings_of_entry(entry: Entry) -> Settings | None:
    """What the transaction asked for and was given; None where that cannot be read by today's
    rules, as of some older transactions.
    """
    message = entry["transaction"]["message"]
    config = message.get("transactionConfig")
    try:
        if config is None:
            # Legacy and version 0 have the same rules.
            return settings_of("legacy", _calls(entry), None)
        return settings_of(1, _calls(entry), _in_line(config))
    except BadSettings:
        return None


def settings_in_words(settings: Settings, priority: int | None) -> tuple[tuple[str, str], ...]:
    """What the transaction asked for beside a compute unit limit: names and values, without what
    it did not ask for. Of version 1 also that it asked for no limit, and so has none. `priority` is
    the fee in lamports that it paid, where that is known: older rules made another one.
    """
    asked = settings.asked
    is_new = asked.version == 1
    no_default = "0: none was asked for" if is_new else ""
    price = asked.unit_price
    found = (
        ("Compute unit limit", "" if asked.compute_unit_limit is not None else no_default),
        ("Compute unit price", "" if price is None else _counted(price, "micro-lamport")),
        ("Priority fee", _fee(settings.priority_fee if priority is None else priority)),
        ("Loaded data limit", _bytes(asked.loaded_accounts_data_size_limit) or no_default),
        ("Heap size", _bytes(asked.heap_size)),
    )
    return tuple((name, value) for name, value in found if value)


def want_of_settings(err: Any, settings: Settings | None) -> str:
    """Why it failed, where it asked for too little to run at all; empty otherwise."""
    if settings is None:
        return ""
    asked = settings.asked
    if err == "MaxLoadedAccountsDataSizeExceeded":
        size = asked.loaded_accounts_data_size_limit
        if settings.loaded_bytes == 0:
            return (
                "It asks for no loaded accounts data size limit, and"
                f" {_NO_DEFAULT}: nothing could be loaded. Ask for a limit in its settings."
            )
        if size is not None:
            return (
                f"Its accounts hold more data than the {size:,} bytes that it asked for:"
                " ask for more."
            )
        return ""
    if asked.version != 1 or settings.units or not isinstance(err, dict):
        return ""
    if err.get("InstructionError", (0, ""))[1] not in _OF_UNITS:
        return ""
    return (
        f"It asks for no compute units, and {_NO_DEFAULT}: nothing could run. Ask for a compute"
        " unit limit in its settings."
    )


def _calls(entry: Entry) -> Iterator[tuple[bytes, bytes]]:
    keys = all_keys(entry)
    for each in entry["transaction"]["message"]["instructions"]:
        index = each["programIdIndex"]
        program = keys[index] if index < len(keys) else ""
        if program == programs.COMPUTE_BUDGET:
            yield COMPUTE_BUDGET, b58decode(each["data"])
        else:
            yield _program_bytes(program), b""


@lru_cache(maxsize=4_096)
def _program_bytes(program: str) -> bytes:
    """Transactions call the same programs over and over."""
    return b58decode(program)


def _in_line(config: Entry) -> Config:
    return Config(
        priority_fee=config.get("priorityFee"),
        compute_unit_limit=config.get("computeUnitLimit"),
        loaded_accounts_data_size_limit=config.get("loadedAccountsDataSizeLimit"),
        heap_size=config.get("heapSize"),
    )


def _bytes(value: int | None) -> str:
    return "" if value is None else f"{value:,} bytes"


def _fee(lamports: int) -> str:
    return f"{_counted(lamports, 'lamport')} ({sol(lamports)} SOL)" if lamports else ""


def _counted(number: int, unit: str) -> str:
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
