"""manage.py follow as a process: one at a time, ended by SIGTERM; and what /readyz says of it."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.utils import timezone
from solders.hash import Hash

from historical.models import Block
from ingest.chain_identity import known
from ingest.follower_state import FollowerState, publish
from ingest.sources import SecondFollower, SourceLock
from localnet.genesis_file import write_genesis_hash
from rewind.models import ArchiveState
from rewind.recording.services.recording import record_slots
from shared_state import pace
from tests import forked_commands
from tests.databases import this_database
from tests.forked_commands import ForkedProcess
from tests.localnet_process import free_ports, running_localnet
from tests.patience import PATIENCE_SECONDS
from tests.readiness import readyz
from tests.rewind.samples import block

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]


def start_follower(**environment: str) -> ForkedProcess:
    return forked_commands.start(
        ["follow"],
        environment={
            **os.environ,
            "DATABASE_URL": this_database(),
            "REDIS_URL": django_settings.REDIS_URL,
            **environment,
        },
    )


def line_with(process: ForkedProcess, words: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"it ended without a word of: {words}")


def test_it_ends_cleanly_while_nobody_answers() -> None:
    ports = free_ports(2)
    process = start_follower(
        UPSTREAM_GEYSER_URL=f"http://127.0.0.1:{ports[0]}",
        UPSTREAM_RPC_URL=f"http://127.0.0.1:{ports[1]}",
        LOG_LEVEL="DEBUG",
    )
    assert process.stdout is not None
    line = line_with(process, "Connection refused")
    assert f"127.0.0.1:{ports[1]}" in line and "DEBUG" in line
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_SECONDS) == 0, process.stdout.read()


def test_a_second_follower_waits_for_the_end_of_the_first() -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    first = SourceLock(url)
    assert first.take()
    process = start_follower(UPSTREAM_GEYSER_URL=url, LOG_LEVEL="DEBUG")
    line_with(process, "another process follows already")
    first.let_go()
    line_with(process, "refused")
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_SECONDS) == 0


def test_nothing_to_follow_is_said() -> None:
    process = start_follower(LOCALNET="false")
    text = process.finish(PATIENCE_SECONDS)
    assert process.returncode == 1
    assert "nothing to follow: set UPSTREAM_GEYSER_URL or UPSTREAM_RPC_URL" in text


def test_a_lock_that_someone_else_took_meanwhile_is_told() -> None:
    ours, theirs = SourceLock("one source"), SourceLock("one source")
    assert ours.take() and not theirs.take()
    ours.let_go()  # as when the database restarts
    assert theirs.take()
    with pytest.raises(SecondFollower):
        ours.keep()
    for _ in range(20):
        theirs.let_go()
        ours.keep()
        ours.let_go()
        assert theirs.take()
    theirs.let_go()


def stream_check(client: Any) -> tuple[int, dict[str, Any]]:
    status, found = readyz(client)
    return status, found["checks"]["stream"]


def test_readyz_says_how_far_the_stream_is(client: Any, settings: Any) -> None:
    assert stream_check(client)[1]["following"] is None
    publish(
        FollowerState(
            source="stream of a",
            connected_since=time.time(),
            heard_at=time.time(),
            finalized_slot=120,
        )
    )
    status, found = stream_check(client)
    assert status == 200
    assert (found["following"], found["finalizedSlot"], found["slotsBehind"]) == (
        "stream of a",
        120,
        120,
    )


def test_readyz_refuses_a_silent_stream_only_where_a_lag_is_set(client: Any, settings: Any) -> None:
    publish(FollowerState(source="stream of a", heard_at=time.time() - 100))
    assert stream_check(client)[1]["ok"]
    settings.READY_MAX_LAG_SECONDS = 60
    status, found = stream_check(client)
    assert status == 503
    assert not found["ok"] and found["why"].startswith("silent for 10")


@pytest.fixture
def slow_chain() -> Iterator[None]:
    """Its slots take ten seconds."""
    pace.publish(10.0)
    pace.forget()
    yield
    pace.forget()


@pytest.mark.parametrize(
    ("state", "cause", "why"),
    [
        ({"heard_at": 0.5}, "", ""),
        ({"heard_at": 50.0}, "", ""),
        ({"heard_at": 500.0}, "stream_silent", "no slot has come for 5"),
        # It may have been silent before, but it has only been connected again.
        ({"heard_at": 500.0, "connected_since": 0.5}, "", ""),
        ({"connected_since": 500.0}, "stream_silent", "no slot has come for 5"),
        ({"connected_since": None, "problem": "refused"}, "stream_not_connected", "no stream is "),
        ({"ended_at": 0.5, "problem": "another chain"}, "follower_ended", "another chain"),
    ],
)
def test_readyz_is_degraded_with_the_cause_when_nothing_of_the_chain_comes(
    client: Any, settings: Any, slow_chain: None, state: dict[str, Any], cause: str, why: str
) -> None:
    """Times are seconds ago; a stream is silent after twelve slots."""
    settings.UPSTREAM_GEYSER_URL = "http://geyser.example"
    now = time.time()
    times = {"connected_since": 600.0, **state}
    found = {
        name: value if name == "problem" else 0.0 if value is None else now - value
        for name, value in times.items()
    }
    publish(FollowerState(source="stream of a", **found))
    status, answer = readyz(client)
    checks = answer["checks"]["following"]
    assert status == 200 or state.get("ended_at")
    assert (checks["ok"], checks.get("cause", "")) == (not cause, cause)
    assert checks.get("why", "").startswith(why)
    assert not cause or checks["remedy"]
    # Where nothing is to be followed it is as it should be.
    settings.UPSTREAM_GEYSER_URL = settings.UPSTREAM_RPC_URL = ""
    assert readyz(client)[1]["checks"]["following"]["ok"]


def test_a_stream_that_was_never_heard_is_not_silent_since_1970(client: Any, settings: Any) -> None:
    publish(FollowerState(source="stream of a"))
    status, found = stream_check(client)
    assert (status, found["following"], found["silentSeconds"]) == (200, None, None)
    settings.READY_MAX_LAG_SECONDS = 60
    assert stream_check(client)[1]["why"] == "nothing was heard yet; READY_MAX_LAG_SECONDS is 60"


@pytest.mark.parametrize("met", ["another genesis hash", "another block"])
def test_a_follower_that_meets_another_chain_says_so_and_what_to_do(client: Any, met: str) -> None:
    with running_localnet(LOCALNET_SLOT_MS=40, LOCALNET_SKIP_PERCENT=50) as localnet:
        if met == "another genesis hash":
            ArchiveState.objects.create(id=1, filters_set_for=met)
            told = "another genesis hash"
        else:
            localnet.wait_for_slot(30)
            slots = set(localnet.call("getBlocks", 5, 20))
            skipped = next(slot for slot in range(6, 20) if slot not in slots)
            record_slots([block(skipped)], source="stream", now=timezone.now())
            told = "this is another chain"
        process = start_follower(
            LOCALNET_RPC_PORT=str(localnet.rpc_port),
            LOCALNET_GEYSER_PORT=str(localnet.geyser_port),
            TIDEMARK_RUN_DIR=str(localnet.run_dir),
        )
        try:
            text = process.finish(PATIENCE_SECONDS)
        finally:
            process.kill()
    assert process.returncode == 1
    assert text.count("ERROR") == 1 and "Traceback" not in text
    assert told in text
    status, found = stream_check(client)
    assert status == 503 and not found["ok"]
    assert told in found["why"]
    assert f"remove the run directory {localnet.run_dir}" in found["why"]


def test_the_localnet_of_another_installation_is_not_followed(client: Any, tmp_path: Path) -> None:
    with running_localnet(LOCALNET_SLOT_MS=40) as localnet:
        process = start_follower(
            LOCALNET_RPC_PORT=str(localnet.rpc_port),
            LOCALNET_GEYSER_PORT=str(localnet.geyser_port),
            TIDEMARK_RUN_DIR=str(tmp_path),
        )
        try:
            line_with(process, "localnet has not begun yet")
            # As the one of this run directory does before it finds that its ports are taken.
            (tmp_path / "localnet").mkdir()
            write_genesis_hash(tmp_path / "localnet", Hash.new_unique())
            text = process.finish(PATIENCE_SECONDS)
        finally:
            process.kill()
        assert process.returncode == 1
        assert f"127.0.0.1:{localnet.rpc_port} is the localnet of another installation" in text
        assert "choose other ports here: LOCALNET_RPC_PORT" in text and "remove" not in text
        assert known() == "" and not Block.objects.exists()
        assert "the localnet of another installation" in stream_check(client)[1]["why"]
        write_genesis_hash(tmp_path / "localnet", Hash.from_string(localnet.call("getGenesisHash")))
        process = start_follower(
            LOCALNET_RPC_PORT=str(localnet.rpc_port),
            LOCALNET_GEYSER_PORT=str(localnet.geyser_port),
            TIDEMARK_RUN_DIR=str(tmp_path),
        )
        line_with(process, "connected to the stream")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
