"""Characters that are not seen: how a text is shown, on pages and elsewhere."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chain.shown_text import escaped_lines, may_hide, visible
from tests.examples import examples

UNSEEN = (
    "\x00\x07\x08\r\x1b\x7f\x85\x9b\xad\u061c\u200b\u200e\u202e\u2066\u2028\u2060\ufeff\U000e0041"
)


@given(st.text(st.one_of(st.sampled_from(UNSEEN + "\u200c\u200d\n\t"), st.characters())))
@example("a\u200db")
@settings(max_examples=examples(300))
def test_what_is_shown_has_no_character_that_is_not(text: str) -> None:
    shown = visible(text)
    assert not set(UNSEEN) & set(shown) and visible(shown) == shown
    if shown != text:
        assert may_hide(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u200dpal", r"pay\u200dpal"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",) * 2,
        ("Grüße … 你好\n\tx",) * 2,
        ("a\u202eb\x1b[0m", r"a\u202eb\x1b[0m"),
    ],
)
def test_letters_and_emoji_stay_as_they_are(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.lists(st.text(max_size=20) | st.text("ab\n", min_size=1).map(lambda t: t * 3_000)))
@settings(max_examples=examples(100))
def test_lines_are_bounded_and_counted(lines: list[str]) -> None:
    shown = escaped_lines(lines)
    assert sum(map(len, shown)) < 100_000 and not any("\n" in each for each in shown)
    more = len(lines) - len(shown)
    if more >= 0 and shown and shown[-1].endswith(" more lines)"):
        assert shown[-1] == f"… ({more + 1} more lines)"
    else:
        assert len(shown) == len(lines)
