"""localnet's stream beside those of real plugins: the messages, their fields and their order."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair

from tests.localnet.geyser_client import Client
from tests.localnet.stream_shapes import Shape, shape_of
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet
from tests.localnet_process import running_localnet
from tests.recordings import messages
from upstream.protobuf import geyser_pb2 as schema

VERSIONS = ("4.4.0", "4.1.2")
# Of each recording so many messages are looked at: some 300 slots.
MOST = 30_000
# What localnet sends and the recorded nodes did not, and why (docs/decisions/localnet.md).
OURS_ALONE = {
    "SLOT_FIRST_SHRED_RECEIVED": "a lone node leads every slot, and receives no shreds",
    "block_meta.entries_count": "a leader counts no entries of its own block; who replays it does",
}
NOT_OURS = {"block_meta.bank_id": "only since 4.3: localnet sends it with the fault bankIds"}
# What contradicts itself in the recordings, and not in localnet's stream.
THEIRS_ALONE = {
    "write versions do not rise": "several threads execute",
    "the last entry is not there": "it may come behind the block's message",
}


@pytest.fixture(scope="module")
def ours() -> Shape:
    """A chain of one validator that votes, some payments, and some that fail."""
    request = schema.SubscribeRequest(commitment=schema.CommitmentLevel.PROCESSED)
    for each in (request.accounts, request.transactions, request.entry, request.blocks_meta):
        each["x"].SetInParent()
    request.slots["x"].interslot_updates = True
    with running_localnet(LOCALNET_VOTES="true", LOCALNET_VALIDATORS=1) as localnet:
        client = Client(localnet.geyser_port)
        client.send(request)
        alice = wallet(localnet)
        for lamports in (SOL, 100 * SOL, SOL):
            paid = signed(localnet, [pay(alice, Keypair().pubkey(), lamports)], alice)
            landed(localnet, send(localnet, paid, skipPreflight=True), "processed")
        localnet.wait_for_slot(localnet.call("getSlot") + 5)
        found = client.rest()
        client.close()
    return shape_of(found)


@pytest.fixture(scope="module", params=VERSIONS)
def theirs(fixtures: Path, request: pytest.FixtureRequest) -> Shape:
    recording = fixtures / f"agave-{request.param}"
    if not (recording / "geyser.bin.zst").is_file():
        pytest.skip(f"the recorded stream is not here: {recording}")
    return shape_of(parsed(recording))


def parsed(recording: Path) -> Iterator[Any]:
    return map(schema.SubscribeUpdate.FromString, itertools.islice(messages(recording), MOST))


def test_messages_have_the_fields_that_real_ones_have(ours: Shape, theirs: Shape) -> None:
    kinds = ours.counts.keys() & theirs.counts.keys()
    assert kinds == theirs.counts.keys()
    absent = {each for each in theirs.always - ours.always if each[0] in kinds}
    assert {name for _, name in absent} <= NOT_OURS.keys()
    never = {each for each in ours.fields.keys() - theirs.fields.keys() if each[0] in kinds}
    names = {name for _, name in never} | (ours.counts.keys() - kinds)
    assert names == OURS_ALONE.keys()


def test_messages_come_in_the_order_of_real_ones(ours: Shape, theirs: Shape) -> None:
    assert theirs.order
    differing = {
        pair for pair in theirs.order - ours.order if all(ours.counts[each] for each in pair)
    }
    # 4.1.2 says that a slot's shreds are complete at any time, 4.4.0 that it opens a bank.
    assert {pair for pair in differing if "SLOT_COMPLETED" not in pair} == set()


def test_a_slot_writes_the_accounts_that_a_real_one_writes(ours: Shape, theirs: Shape) -> None:
    assert ours.steady == theirs.steady
    assert len(ours.steady) == 5


def test_nothing_contradicts_itself_but_where_real_ones_do(ours: Shape, theirs: Shape) -> None:
    assert ours.faults == []
    assert set(theirs.faults) <= THEIRS_ALONE.keys()
