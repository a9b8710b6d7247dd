"""Cold storage in S3, and what is answered while the store fails."""

import random
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from rewind.recording.store.partitions import SEGMENT_SLOTS
from rewind.sealed.models import SealedSegment
from rewind.sealed.services.moving import Policy, move_step
from rewind.sealed.store import cold_blocks, cold_store, open_blocks
from tests.conftest import Rpc
from tests.rewind.conftest import NOW
from tests.rewind.histories import text
from tests.rewind.s3_server import SECRET, Proxy, options, proxy_of, s3_server
from tests.rewind.samples import key
from tests.rewind.sealed_forms import move, seal, use_folder
from tests.rewind.test_sealing import SLOTS, everything, history
from upstream.object_store import StoreFault

__all__ = ["history"]

ALL = Policy(after=-1_000_000)


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    with s3_server("cold") as port:
        yield port


@pytest.fixture
def store(server: int) -> Iterator[Proxy]:
    """The store that is in use, behind a proxy."""
    with proxy_of(server) as proxy:
        use(proxy.port)
        yield proxy
        cold_store.configure(cold_store.Terms())
        cold_blocks.forget()


def use(
    port: int, *, url: str = "s3://cold/below", timeout_seconds: int = 60, **changed: str
) -> None:
    terms = cold_store.Terms(url, options(port, **changed), timeout_seconds=timeout_seconds)
    cold_store.configure(terms)
    forget()


def forget() -> None:
    open_blocks.forget()
    cold_blocks.forget()


def command(action: str) -> str:
    out = StringIO()
    call_command("archive_store", action, stdout=out, stderr=out)
    return out.getvalue()


def test_segments_in_s3_read_as_before(rpc: Rpc, history: Any, store: Proxy) -> None:
    seal(half=True)
    before = everything(rpc)
    assert move() > 3
    assert everything(rpc) == before
    assert "objects" in command("list")
    segment = SealedSegment.objects.get(cold_at__isnull=False)
    assert f"{segment.changes:,} changes" in command("verify")
    store.fault = "flipped"
    with pytest.raises(CommandError, match="damaged"):
        command("verify")


def test_a_store_that_fails_fails_cold_slots_alone(rpc: Rpc, history: Any, store: Proxy) -> None:
    seal(half=True)
    move()
    pubkey = text(key(1))
    for fault in ("refused", "500", "403", "truncated", "flipped", "hang"):
        store.fault = fault
        use(store.port, timeout_seconds=1 if fault == "hang" else 60)
        cold = rpc("/rewind", "getAccountInfo", pubkey, {"slot": 50})["error"]
        reason = "archive_damaged" if fault == "flipped" else "archive_store_unavailable"
        assert cold["data"]["reason"] == reason, fault
        assert SECRET not in str(cold)
        assert "127.0.0.1" not in str(cold)
        for slot in (SEGMENT_SLOTS + 9, SLOTS[-1]):
            value = rpc("/rewind", "getAccountInfo", pubkey, {"slot": slot})["result"]["value"]
            assert value["lamports"] == slot + 1, fault
        store.fault = ""
        store.release.set()
        use(store.port)
        assert rpc("/rewind", "getAccountInfo", pubkey, {"slot": 50})["result"]["value"], fault


def test_a_bit_flipped_on_the_way_is_fetched_once_more(
    rpc: Rpc, history: Any, store: Proxy
) -> None:
    seal(half=True)
    move()
    asked = ("/rewind", "getAccountInfo", text(key(1)), {"slot": 50})
    expected = rpc(*asked)["result"]["value"]
    store.fault = "flipped"
    for times, requests in ((1, 2), (2, 2)):
        forget()
        store.times, before = times, store.requests
        answer = rpc(*asked)
        assert store.requests - before == requests
        if times == 1:
            assert answer["result"]["value"] == expected
        else:
            assert answer["error"]["data"]["reason"] == "archive_damaged"
    assert rpc(*asked)["result"]["value"] == expected  # what was damaged is not kept


def test_nothing_moves_to_a_store_that_fails(rpc: Rpc, history: Any, store: Proxy) -> None:
    from rewind.sealed.services.moving import MovedWrongly

    seal(half=True)
    before = everything(rpc)
    for fault in ("refused", "500", "403", "truncated", "flipped"):
        store.fault = fault
        with pytest.raises((StoreFault, MovedWrongly)) as raised:
            move_step(ALL, now=NOW)
        assert SECRET not in str(raised.value)
        assert not SealedSegment.objects.filter(cold_buckets__gt=0).exists(), fault
    store.fault = ""
    move()
    assert everything(rpc) == before


@pytest.mark.soak
def test_a_store_that_fails_now_and_then(rpc: Rpc, history: Any, store: Proxy) -> None:
    """Whatever it does meanwhile: an answer is right or an error, and all has moved in the end."""
    from rewind.sealed.services.moving import MovedWrongly

    chance = random.Random(7)
    seal(half=True)
    pubkeys = [text(key(number)) for number in range(1, 30)]
    asked = [(pubkey, slot) for pubkey in pubkeys for slot in (30, 60, 104)]
    before = {each: _state(rpc, each) for each in asked}
    failed = right = 0
    for _ in range(600):
        store.fault = chance.choice(["", "", "refused", "500", "403", "truncated", "flipped"])
        cold_store.close()
        try:
            move_step(ALL, now=NOW)
        except (StoreFault, MovedWrongly):
            failed += 1
        store.fault = chance.choice(["", "", "refused", "500", "403", "truncated", "flipped"])
        forget()
        each = chance.choice(asked)
        answer = _state(rpc, each)
        right += "result" in answer
        assert "error" in answer or answer == before[each]
    assert failed > 50
    assert right > 50
    store.fault = ""
    cold_store.close()
    move()
    forget()
    assert {each: _state(rpc, each) for each in asked} == before
    command("verify")


def _state(rpc: Rpc, asked: tuple[str, int]) -> dict[str, Any]:
    answer = rpc("/rewind", "getAccountInfo", asked[0], {"slot": asked[1]})
    return {name: value for name, value in answer.items() if name != "id"}


def test_check_names_what_is_wrong(server: int, store: Proxy, tmp_path: Path) -> None:
    shown = command("check")
    assert [line.split(" in ")[0] for line in shown.splitlines()] == [
        "opened",
        "written",
        "read by range",
        "deleted",
        "Cold storage works.",
    ]
    store.fault = "403"
    with pytest.raises(CommandError, match="check the credentials") as refused:
        command("check")
    assert SECRET not in str(refused.value)
    store.fault = ""
    use(store.port, url="s3://missing")
    with pytest.raises(CommandError, match="the bucket does not exist"):
        command("check")
    use(1)
    with pytest.raises(CommandError, match="Check the host"):
        command("check")
    use(store.port, nonsense="a-secret-value")
    with pytest.raises(CommandError, match="ARCHIVE_STORE_OPTIONS") as unknown:
        command("check")
    assert "a-secret-value" not in str(unknown.value)
    use_folder(str(tmp_path / "missing"))
    with pytest.raises(CommandError, match="the folder does not exist"):
        command("check")
    cold_store.configure(cold_store.Terms())
    with pytest.raises(CommandError, match="ARCHIVE_STORE is not set"):
        command("check")
