"""What pages show: moments, numbers, lamports, durations."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from staff import formatting

ROOT = Path(__file__).resolve().parent.parent.parent
NOW = datetime(2026, 1, 31, 14, 5, tzinfo=UTC)


_SOL = '<span class="tm-sol">'


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (formatting.utc(NOW), "2026-01-31 14:05 UTC"),
        (formatting.utc(NOW, seconds=True), "2026-01-31 14:05:00 UTC"),
        (
            formatting.moment(NOW),
            '<time class="tm-moment" datetime="2026-01-31T14:05Z">2026-01-31 14:05 UTC</time>',
        ),
        (
            formatting.timed("<b> 2026-01-31 14:05:09 to 2026-02-01"),
            '&lt;b&gt; <time class="tm-moment" datetime="2026-01-31T14:05:09Z">2026-01-31 14:05:09'
            "</time> to 2026-02-01",
        ),
        (formatting.timed(formatting.moment(NOW)), formatting.moment(NOW)),
        (formatting.ago(None, NOW), "never"),
        (formatting.duration(timedelta(seconds=59)), "59 s"),
        (formatting.duration(timedelta(minutes=125)), "2 h"),
        (formatting.grouped(1_234_567), "1,234,567"),
        (formatting.grouped(None), "-"),
        (formatting.counted(1, "batch", "batches"), "1 batch"),
        (formatting.counted(1_200, "slot"), "1,200 slots"),
        (formatting.slot_range(7, 7), "7"),
        (formatting.slot_range(7, 9), "7 to 9"),
        (formatting.slot_range(None, None), "-"),
        (formatting.size_of(1_400_000), "1.4 MB"),
        (formatting.milliseconds(0.254), "0.25 ms"),
        (formatting.milliseconds(12.34), "12.3 ms"),
        (formatting.milliseconds(240.4), "240 ms"),
        (formatting.milliseconds(12_500), "12.5 s"),
        (formatting.after(0.0024), "+2.4 ms"),
        (formatting.after(14.2), "+14.2 s"),
        (formatting.after(720), "+12 min"),
        (formatting.lamports(None), "-"),
        (formatting.lamports(1_500_000), f"1,500,000 {_SOL}0.0015 SOL</span>"),
        (formatting.lamports(2_000_000_000), f"2,000,000,000 {_SOL}2 SOL</span>"),
        (formatting.lamports(0), f"0 {_SOL}0 SOL</span>"),
        (formatting.lamports(-5, signed=True), f"-5 {_SOL}-0.000000005 SOL</span>"),
        (formatting.with_sol(1), "1 lamport (0.000000001 SOL)"),
        (formatting.in_units(90), "90 s"),
        (formatting.in_units(900), "15 min"),
        (formatting.in_units(3_600), "1 h"),
        (formatting.in_units(5_400), "90 min"),
        (formatting.in_units(172_800), "2 d"),
        (formatting.wait_of(119), "119 s"),
        (formatting.wait_of(601), "11 min"),
        (formatting.plain("rate_limited"), "rate limited"),
        (formatting.plain("not_landed: no block_height"), "not landed: no block_height"),
        (
            formatting.coded("rate_limited"),
            'rate limited <code class="tm-code">rate_limited</code>',
        ),
        (formatting.coded("a text with_code"), "a text with_code"),
    ],
)
def test_each_is_shown_so(shown: str, text: str) -> None:
    assert shown == text


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (NOW - timedelta(minutes=3), ">3 min ago<"),
        (NOW + timedelta(days=2), ">in 2 d<"),
        (NOW, ">now<"),
    ],
)
def test_a_moment_is_relative_with_itself_as_a_hint(at: datetime, text: str) -> None:
    shown = formatting.ago(at, NOW)
    assert text in shown and f'title="{formatting.utc(at)}"' in shown


def test_what_others_wrote_is_escaped() -> None:
    for shown in (
        formatting.badge("<b>", "bad", '"<i>'),
        formatting.in_full("<b>"),
        formatting.shortened("<b>" * 9),
    ):
        assert "<b>" not in shown and "<i>" not in shown


def test_nothing_else_writes_a_moment_in_utc() -> None:
    """A text with one of another form has no time of the reader's zone beside it."""
    written = re.compile(r"%M(:%S)?['\"]?\}+ UTC")
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for folder in ("platform", "priority", "rewind", "historical", "tipping")
        for file in (ROOT / folder).rglob("*.py")
        if file != Path(formatting.__file__)
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if written.search(line)
    ]
    assert not found, "write it by utc or moment of staff/formatting.py"
