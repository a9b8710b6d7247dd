"""A localnet whose validators vote: every slot is proven, and one altered write is found."""

import base64
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from solders.keypair import Keypair

from tests import forked_commands
from tests.clients.chain_endpoints import localnet_of, of_service, until
from tests.clients.service import ROOT, Service, running_service
from tests.localnet.wallets import SOL, landed, pay, send, signed, wallet


def asked(service: Service, method: str, *params: Any) -> Any:
    (result,) = of_service(service, "/rewind", [(method, *params)])
    return result


def refuted(service: Service) -> list[dict[str, Any]]:
    return [
        each for each in asked(service, "getRewindCoverage")["proof"] if each["state"] == "refuted"
    ]


def located(service: Service, slot: int, node: str) -> str | None:
    """What the command says; None while the archive has not come to the node's slot."""
    done = forked_commands.run(
        ["locate_refuted", str(slot), "--node", node], environment=service.environment
    )
    assert done.returncode == 0 or "try again" in done.stderr, done.stderr
    return done.stdout if done.returncode == 0 else None


def verified(file: Path, *options: str) -> int:
    """The verifier's exit code, without a database."""
    done = subprocess.run(
        [sys.executable, "manage.py", "verify_proof", str(file), *options],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "DATABASE_URL": "postgres://x:1@127.0.0.1:1/x"},
        capture_output=True,
    )
    return done.returncode


@pytest.mark.soak
def test_slots_are_proven_and_an_altered_write_is_found(tmp_path: Path) -> None:
    with running_service(
        LOCALNET="true",
        LOCALNET_VOTES="true",
        LOCALNET_SLOT_MS="100",
        LOCALNET_SKIP_PERCENT="0",
        ARCHIVE_PROOF_REPAIR="false",
    ) as service:
        localnet = localnet_of(service)
        payer = wallet(localnet)
        good = signed(localnet, [pay(payer, Keypair().pubkey(), SOL)], payer)
        send(localnet, good)
        slot = landed(localnet, str(good.signatures[0]))["slot"]
        until(
            lambda: (asked(service, "getRewindCoverage")["provenThrough"] or 0) >= slot,
            f"slot {slot} proven",
        )
        assert not refuted(service)
        config = {"slot": slot, "proof": True}
        answer = asked(service, "getAccountInfo", str(payer.pubkey()), config)
        assert answer["context"]["proof"]["state"] == "proven"

        def with_stakes() -> dict[str, Any] | None:
            found = asked(service, "getSlotProof", slot)
            return found if found["totalStake"] else None

        proof = until(with_stakes, "the stakes that the node has")
        assert len({vote["votePubkey"] for vote in proof["votes"]}) >= 3
        file = tmp_path / "proof.json"
        file.write_text(json.dumps(proof))
        assert verified(file) == 4
        stakes = tmp_path / "stakes.json"
        with stakes.open("w") as out:
            call_command("snapshot_stakes", localnet.call("createSnapshot")["path"], stdout=out)
        assert verified(file, "--stakes", str(stakes)) == 0
        total = bytearray(base64.b64decode(proof["accountsLatticeHash"]))
        total[7] ^= 1
        other = {**proof, "accountsLatticeHash": base64.b64encode(total).decode()}
        file.write_text(json.dumps(other))
        assert verified(file, "--stakes", str(stakes)) == 1

        # One lamport too many, on the stream alone; again where a later write took its place.
        def struck_slots() -> list[dict[str, Any]]:
            if not localnet.call("getFaults")["corruptWrite"]:
                localnet.call("setFaults", {"corruptWrite": 1})
            time.sleep(1)
            return refuted(service)

        (struck,) = until(struck_slots, "a slot refuted")
        assert struck["fromSlot"] == struck["toSlot"] > slot
        assert struck["reason"] == "votes_differ"
        through = asked(service, "getRewindCoverage")["provenThrough"]
        assert through == asked(service, "getSlotProof", struck["fromSlot"])["parentSlot"]

        # A node names it, unless a later slot wrote the account.
        slot = struck["fromSlot"]
        node = f"http://127.0.0.1:{localnet.rpc_port}"
        done = until(lambda: located(service, slot, node), "the archive at the node's slot")
        assert re.search(r"(?m)^[1-9]\d* accounts were compared with 127\.0\.0\.1", done)
        assert re.search(r": [1-9]\d* accounts differ", done)
