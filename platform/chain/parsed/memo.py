"""The memo program's one instruction: its data is the memo."""

from chain.parsed.cursor import Cursor, utf8


def parse_memo(accounts: list[str], cursor: Cursor) -> str:
    """The memo as text; UnreadableError if it is not UTF-8."""
    return utf8(cursor.rest())
