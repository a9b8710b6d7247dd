"""jito-ts' searcher client, unchanged, with the block engine's gRPC of a localnet."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.signature import Signature

from tests.clients.conftest import Node
from tests.localnet.wallets import landed
from tests.localnet_process import Localnet, running_localnet
from tests.tls_door import tls_door


@pytest.fixture(scope="module")
def localnet() -> Iterator[Localnet]:
    with running_localnet() as running:
        yield running


@pytest.mark.parametrize("proves", [False, True], ids=["without a key", "with a key"])
def test_a_bundle_lands_and_its_results_come(
    node: Node, localnet: Localnet, proves: bool, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"rpcUrl": localnet.url}
    if proves:
        given["secret"] = list(bytes(Keypair()))
    # The client speaks TLS alone.
    with tls_door(localnet.searcher_address, tmp_path) as (address, certificate):
        given["engine"] = address
        trusted = {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(certificate)}
        answer = json.loads(node("jito-searcher.mjs", json.dumps(given), **trusted))
    assert len(answer["accounts"]) == 8 and len(answer["leaders"]) >= 1
    assert answer["leader"]["nextLeaderIdentity"] in answer["leaders"]
    own = [each for each in answer["steps"] if each["bundleId"] == answer["uuid"]]
    kinds = [
        next(name for name in each if name != "bundleId" and each[name] is not None) for each in own
    ]
    assert kinds == ["accepted", "processed", "finalized"]
    signature = Signature(bytes.fromhex(answer["signatures"][0]))
    assert landed(localnet, str(signature))["slot"] == own[1]["processed"]["slot"]
