"""The features of a chain whose beginning the archive does not have."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from solders.pubkey import Pubkey

from chain import addresses
from chain.encodings import b64encode
from rewind.accounts.services import seeding
from rewind.accounts.services.position_lookup import resolve_position
from rewind.positions import Asked
from rewind.recording.services import filters
from rewind.replay.services import features
from simulator.features import activation_slots, known_features, mainnet_features
from simulator.newer_features import NEWER_FEATURES
from tests.priority.odd_nodes import odd_node
from tests.rewind.samples import block, signature, write

GENESIS = "11111111111111111111111111111112"
OF_MAINNET = sorted(activation_slots(), key=bytes)
NEWER, OTHER = sorted(known_features() - activation_slots().keys(), key=bytes)[:2]


@pytest.fixture(autouse=True)
def chain_known(db: None) -> Iterator[None]:
    filters.apply_defaults(GENESIS)
    features.forget()
    seeding.forget()
    yield
    features.forget()
    seeding.forget()


def content(slot: int) -> bytes:
    return b"\x01" + slot.to_bytes(8, "little")


@contextmanager
def node_with(active: Mapping[Pubkey, int], settings: Any) -> Iterator[list[int]]:
    """A node in slot 15 that has these features; how many accounts each call asked for. Like every
    node it tells of no more than 100 at once.
    """
    asked: list[int] = []
    held = {"lamports": 1, "owner": str(addresses.FEATURE), "executable": False, "rentEpoch": 0}

    def account(pubkey: str) -> Any:
        slot = active.get(Pubkey.from_string(pubkey))
        return None if slot is None else {**held, "data": [b64encode(content(slot)), "base64"]}

    def answer(body: bytes) -> tuple[int, bytes]:
        call = json.loads(body)
        if call["method"] == "getGenesisHash":
            return 200, json.dumps({"id": call["id"], "result": GENESIS}).encode()
        asked.append(len(call["params"][0]))
        result = {"context": {"slot": 15}, "value": list(map(account, call["params"][0]))}
        told = (
            {"result": result} if asked[-1] <= 100 else {"error": {"code": -32602, "message": ""}}
        )
        return 200, json.dumps({"jsonrpc": "2.0", "id": call["id"], **told}).encode()

    with odd_node(answer) as node:
        settings.UPSTREAM_RPC_URL = node.url
        yield asked


def active_at(slot: int) -> set[Pubkey]:
    return set(features.features_at(resolve_position(Asked(slot=slot)), epoch=0).features.active)


def test_the_node_tells_all_of_them(record: Any, settings: Any) -> None:
    record(*(block(slot) for slot in range(10, 16)))
    active = {**dict.fromkeys(OF_MAINNET[3:], 0), NEWER: 12}
    with node_with(active, settings) as asked:
        assert active_at(12) == active.keys()
        assert active_at(11) == active.keys() - {NEWER}
        assert sum(asked) == len(known_features() | NEWER_FEATURES.keys()) > 200
    # They are kept: nobody has to ask again.
    features.forget()
    settings.UPSTREAM_RPC_URL = ""
    assert active_at(12) == active.keys()


def test_what_nobody_tells_is_taken_to_be_as_on_mainnet(record: Any, settings: Any) -> None:
    settings.UPSTREAM_RPC_URL = ""
    by = signature(13, 0)
    made = [
        write(bytes(each), by, owner=bytes(addresses.FEATURE), data=data)
        for each, data in ((NEWER, content(13)), (OTHER, bytes(9)))
    ]
    record(*(block(slot, None, made if slot == 13 else ()) for slot in range(10, 16)))
    assert active_at(12) == set(mainnet_features().active)
    assert active_at(13) == {*mainnet_features().active, NEWER}
