"""Texts of others as they are shown: on pages, in logs, in mails and in terminals."""

import re
from collections.abc import Iterable

# Control characters but the line break and the tab, what turns the direction of a line, what has no
# width, and halves of pairs.
_CLASS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufffd\ud800-\udfff\U000e0000-\U000e007f"
)
# Joiners stay between letters of a script that needs them, and in emoji.
_HIDDEN = re.compile(f"[{_CLASS}]|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])")
_SUSPECT = re.compile(f"[{_CLASS}\u200c\u200d]")
_SEEN = bytes(each for each in range(127) if each >= 32 or each in b"\t\n")
_LONGEST = 4_000
# Characters of all lines together: a transaction's log has 10,000 on a cluster.
_MOST_OF_LINES = 40_000


def escaped(text: str, *, longest: int = _LONGEST) -> str:
    """With every character that is not shown as \\xNN, and without what is above the longest."""
    found = visible(text[:longest])
    more = len(text) - longest
    return f"{found}… ({more} more characters)" if more > 0 else found


def visible(text: str) -> str:
    """With every character that is not shown as \\xNN or \\uNNNN."""
    return _HIDDEN.sub(lambda each: each[0].encode("unicode_escape").decode(), text)


def may_hide(utf8: bytes) -> bool:
    """Could there be such a character? 0.3 ms for a page of 400 kB."""
    return _SUSPECT.search(utf8.translate(None, _SEEN).decode("utf-8", "replace")) is not None


def escaped_lines(lines: Iterable[str]) -> list[str]:
    """Each escaped and on one line. The last one counts those above what a page shows."""
    found, left, more = [], _MOST_OF_LINES, 0
    for line in lines:
        if left <= 0:
            more += 1
            continue
        shown = escaped(line).replace("\n", "\\n")
        left -= len(shown) + 1
        found.append(shown)
    if more:
        found.append(f"… ({more} more lines)")
    return found
