"""The admin's home: what it tells of the chain that is followed."""

from typing import Any

import pytest
from django.utils import timezone

from columns.gaps import GapStatus
from ingest.follower_state import FollowerState, publish
from rewind.services.gaps import open_gap

pytestmark = pytest.mark.django_db


def home(admin_client: Any) -> str:
    return " ".join(admin_client.get("/admin/").content.decode().split())


def test_without_a_follower_it_says_so(admin_client: Any, empty_redis: None) -> None:
    assert '<p class="tm-figure">not followed</p>' in home(admin_client)


def test_it_tells_the_stream_its_head_and_the_open_gaps(
    admin_client: Any, empty_redis: None
) -> None:
    open_gap(7, 9, status=GapStatus.MISSING, cause="stream_lost", now=timezone.now())
    publish(FollowerState(source="stream of a.example", connected_since=1.0, finalized_slot=1234))
    told = home(admin_client)
    assert "<dt>Newest finalized slot</dt><dd>1234</dd>" in told
    assert 'title="stream of a.example">connected</span>' in told
    assert (
        '<dt>Open gaps of the archive</dt><dd><span class="tm-word tm-warning" title="">1<' in told
    )


def test_a_lost_stream_is_told_with_its_reason(admin_client: Any, empty_redis: None) -> None:
    publish(FollowerState(source="a", problem="the stream of a: UNAVAILABLE: refused <b>"))
    told = home(admin_client)
    assert "not connected</span>" in told
    assert "UNAVAILABLE: refused &lt;b&gt;" in told
