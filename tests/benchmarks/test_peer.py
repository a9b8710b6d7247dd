"""make bench PEER=…: the reads of another RPC server beside ours, on the peer's own blocks."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from solders.pubkey import Pubkey

from tests.localnet.wallets import landed
from tests.localnet_process import Localnet, running_localnet

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.soak


@pytest.fixture
def peer() -> Iterator[Localnet]:
    """A node with finalized transactions among its newest slots."""
    with running_localnet() as localnet:
        sent = [localnet.call("requestAirdrop", str(Pubkey.new_unique()), 1_000) for _ in range(40)]
        for each in sent:
            landed(localnet, each)
        yield localnet


def bench(peer: Localnet, **environment: str) -> "subprocess.CompletedProcess[str]":
    quick = {"ROUNDS": "1", "SECONDS": "1", "CONNECTIONS": "2", "PEER": peer.url}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks"],
        cwd=ROOT,
        env={**os.environ, **quick, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("client", ["own", "wrk", "oha"])
def test_each_call_is_compared_on_the_blocks_that_the_peer_gave(
    peer: Localnet, client: str
) -> None:
    ended = bench(peer, CLIENT=client)
    if "is not on this machine" in ended.stderr:
        pytest.skip(f"no {client} on this machine")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    tables = ended.stdout.split("\n== ")[1:]
    assert [each.partition(",")[0].partition(":")[0] for each in tables] == [
        "getSlot",
        "getSignaturesForAddress",
        "getBlockTime",
        "getTransaction",
        "getTransaction",
        "getSignatureStatuses",
        "getBlock",
        "getBlock",
    ]
    for table in tables:
        assert "ours / peer" in table and "load average" in table and "CPython" in table
    assert "left out" not in ended.stdout


def test_sealed_blocks_are_read_beside_copies_of_them_in_rows(peer: Localnet) -> None:
    only = "getTransaction,getSignatureStatuses,getSignaturesForAddress,getBlock"
    ended = bench(peer, CLIENT="own", SEALED="1", ONLY=only)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    tables = ended.stdout.split("\n== ")[1:]
    assert len(tables) == 6
    for table in tables:
        # The lists of an address have no copies beside them.
        assert ("ours as rows / peer" in table) != table.startswith("getSignaturesForAddress")
        assert "ours / peer" in table and " us; ours " in table
    assert "left out" not in ended.stdout


def test_what_a_running_service_lacks_is_left_out_and_named(peer: Localnet) -> None:
    """The service is another localnet, which has none of the peer's blocks."""
    with running_localnet() as other:
        ended = bench(peer, SERVICE=f"{other.url}/rpc", CLIENT="own")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "is left out" in ended.stdout
    assert ended.stdout.count("\n== ") == 1
