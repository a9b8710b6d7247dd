"""What pages show: moments, numbers, lamports, durations."""

from datetime import UTC, datetime, timedelta

import pytest

from staff import formatting

NOW = datetime(2026, 1, 31, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (formatting.utc(NOW), "2026-01-31 14:05 UTC"),
        (formatting.utc(NOW, seconds=True), "2026-01-31 14:05:00 UTC"),
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
        (formatting.lamports(1_500_000), '<span title="0.0015 SOL">1,500,000</span>'),
        (formatting.lamports(2_000_000_000), '<span title="2 SOL">2,000,000,000</span>'),
        (formatting.lamports(0), '<span title="0 SOL">0</span>'),
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
