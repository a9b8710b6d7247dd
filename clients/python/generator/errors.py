"""The classes of errors, by their reasons."""

from typing import Any

from generator.naming import docstring, pascal

_HEAD = '''\
"""Generated: a class for each reason of the service's errors."""

from tidemark.failures import TidemarkError
'''


def module(errors: list[dict[str, Any]]) -> str:
    parts = [_HEAD]
    for each in errors:
        text = docstring(each["meaning"], [], 4, each["advice"])
        name = pascal(each["reason"])
        parts.append(
            f'\n\nclass {name}(TidemarkError):\n{text}\n\n    reason = "{each["reason"]}"\n'
        )
    entries = "".join(
        f"    {pascal(each['reason'])}.reason: {pascal(each['reason'])},\n" for each in errors
    )
    table = f"\n\nBY_REASON: dict[str, type[TidemarkError]] = {{\n{entries}}}\n"
    return "".join(parts) + table
