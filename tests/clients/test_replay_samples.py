"""The code that a replay's page offers: it signs a failed transaction again, and lands it."""

import base64
import json
import sys
from pathlib import Path

import pytest
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message, MessageV0, MessageV1, VersionedMessage
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from rewind.replay.admin.replays.samples import samples_of
from tests.localnet.wallets import SOL, pay
from tests.localnet_process import Localnet
from tests.simulator.world import ENOUGH

from .chain_endpoints import fetched, localnet_of, until
from .conftest import Node
from .service import Service
from .test_readme import run


def failed(
    service: Service, localnet: Localnet, payer: Keypair, *, version: int
) -> VersionedTransaction:
    """A transaction that pays 2 SOL and a tip, more than its payer has."""
    airdrop = localnet.call("requestAirdrop", str(payer.pubkey()), SOL)
    until(lambda: _status(localnet, airdrop) is not None, "the airdrop")
    text = run(service, "curl", "-sS", "-H", f"Authorization: {service.key}", _tips(service))
    tip = Pubkey.from_string(json.loads(text)["addresses"][0])
    pays = [pay(payer, Pubkey(bytes([77]) * 32), 2 * SOL), pay(payer, tip, 1_000_000)]
    latest = _latest(localnet)
    message: VersionedMessage = {
        -1: lambda: Message.new_with_blockhash(pays, payer.pubkey(), latest),
        0: lambda: MessageV0.try_compile(payer.pubkey(), pays, [], latest),
        1: lambda: MessageV1.try_compile(payer.pubkey(), pays, latest, ENOUGH),
    }[version]()
    transaction = VersionedTransaction(message, [payer])
    wire = base64.b64encode(bytes(transaction)).decode()
    options = {"encoding": "base64", "skipPreflight": True}
    signature = localnet.call("sendTransaction", wire, options)
    until(lambda: _status(localnet, signature) is not None, "the failed transaction")
    assert _status(localnet, signature)["err"] == {"InstructionError": [0, {"Custom": 1}]}
    return transaction


def _tips(service: Service) -> str:
    return f"{service.base_url}/priority/fetchtipaddress?ttl=900"


def _latest(localnet: Localnet) -> Hash:
    return Hash.from_string(localnet.call("getLatestBlockhash")["value"]["blockhash"])


def _status(localnet: Localnet, signature: str) -> dict[str, object]:
    (found,) = localnet.call("getSignatureStatuses", [signature])["value"]
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize("language", ["python", "typescript"])
@pytest.mark.parametrize("version", [-1, 0, 1], ids=["legacy", "version 0", "version 1"])
def test_the_sample_lands_what_failed_once_the_payer_is_funded(
    followed: Service, node: Node, tmp_path: Path, language: str, version: int
) -> None:
    localnet, payer = localnet_of(followed), Keypair()
    transaction = failed(followed, localnet, payer, version=version)
    wire = base64.b64encode(bytes(transaction)).decode()
    samples = {each["id"]: each["text"] for each in samples_of([wire], base=followed.base_url)}
    keys = tmp_path / "payer.json"
    keys.write_text(payer.to_json())
    airdrop = localnet.call("requestAirdrop", str(payer.pubkey()), 3 * SOL)
    until(lambda: _status(localnet, airdrop) is not None, "the second airdrop")
    until(lambda: _latest(localnet) != transaction.message.recent_blockhash, "a new blockhash")
    script = tmp_path / "again.mjs"
    script.write_text(samples["typescript"], encoding="utf-8")

    def sent_again() -> dict[str, object] | None:
        """What became of it; None if nothing landed while its blockhash lived, 22 s here."""
        if language == "python":
            printed = run(followed, sys.executable, "-c", samples["python"], KEYPAIRS=str(keys))
        else:
            printed = node(script, KEY=followed.key, KEYPAIRS=str(keys))
        signature = next(each for each in printed.replace("'", " ").split() if len(each) > 80)
        fate = f"/priority/fate/{signature}"
        until(
            lambda: _status(localnet, signature) or fetched(followed, fate)["final"],
            "the fate of the transaction sent again",
        )
        return _status(localnet, signature)

    assert until(sent_again, "the transaction sent again")["err"] is None
