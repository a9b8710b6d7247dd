"""The memo program's one instruction: its data is the memo."""

from chain.parsed.cursor import utf8


def parse_memo(accounts: list[str], data: bytes) -> str:
    """The memo as text; UnreadableError if it is not UTF-8."""
    return utf8(data)
