"""Yellowstone's own scenarios (the crate `yellowstone-grpc-e2e-test` of its repository), with what
they watch on mainnet: five markets of a program, and a trader's tokens.
"""

import base64
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from spl.token.constants import TOKEN_PROGRAM_ID

from tests.clients.minted import Minted
from tests.localnet.wallets import SOL, done, pay, send, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from tests.yellowstone.conftest import Geyser, geyser, limited

__all__ = ["geyser", "limited"]
pytestmark = pytest.mark.clients

VARIABLE = "TIDEMARK_TEST_YELLOWSTONE_E2E"
SCENARIO_SECONDS = 120
SCENARIOS = (
    "sysvar-account",
    "sysvar-block",
    "full-blocks",
    "replay",
    "block-subscription-replay",
    "any-commitment",
    "token-owner-balance-changed",
    "event-ordering",
    "filter-accounts",
    "filter-transactions-cuckoo",
    "slot-duplicate",
    "replay-ordering",
    "slot-status-parent-present",
    "blockmachine",
    "health-routes",
)
# They need shreds, which nothing gives us; refused with UNIMPLEMENTED.
REFUSED = ("deshred", "deshred-alt-resolution")
LOCALNETS_OWN = {"health-routes": "localnet serves no grpc.health.v1"}
MARKETS = (
    "2866MvCKPGz9LdnPcmPueoV3mA2Ac1ceEQ8Xqb9VNefu",
    "H3TyE2Q3rDrvRXD8PzHYE7BS2hafGuybje4qXCtyWqMH",
    "9c5xYTnURgpQLDk4XqkJdaUab6p8EMBgE5n7n29pQzCy",
    "8WFduUYU7iX94E3ZMejpTXi5TadKh9j5qp5ez5uSBJwa",
    "FksffEqnBRixYGR791Qw2MgdU7zNCpHVFYBL4Fa4qVuH",
)
MARKETS_OWNER, MARKET_BYTES = "9H6tua7jkLhdm3w8BvgpTn5LZNU7g4ZynDmCiNN3q6Rp", 1_728
TRADER = Pubkey.from_string("62qc2CNXwrYqQScmEdiZFFAnJR262PxWEuNQtxfafNgV")


@pytest.fixture(scope="module")
def program() -> str:
    path = os.environ.get(VARIABLE, "")
    if not Path(path).is_file():
        pytest.skip(f"{VARIABLE} does not name Yellowstone's program yellowstone-e2e")
    return path


@pytest.fixture
def localnet(tmp_path: Path) -> Iterator[Localnet]:
    """With the markets, and somebody who pays them and the trader in every slot."""
    for market in MARKETS:
        data = base64.b64encode(bytes(MARKET_BYTES)).decode()
        account = {"lamports": SOL, "data": [data, "base64"], "owner": MARKETS_OWNER}
        shown = {"pubkey": market, "account": {**account, "executable": False, "rentEpoch": 0}}
        (tmp_path / f"{market}.json").write_text(json.dumps(shown))
    settings = {"LOCALNET_VOTES": "true", "LOCALNET_SLOT_MS": 200}
    with running_localnet("--accounts", str(tmp_path), **settings) as running:
        ended = threading.Event()
        trading = threading.Thread(target=trade, args=(running, ended))
        trading.start()
        try:
            yield running
        finally:
            ended.set()
            trading.join()


def trade(localnet: Localnet, ended: threading.Event) -> None:
    payer, mint = wallet(localnet, 1_000 * SOL), Keypair()
    minted = Minted(TOKEN_PROGRAM_ID, mint.pubkey(), payer, ())
    done(localnet, [*minted.create(), minted.account(payer, TRADER)], payer, mint)
    number = 0
    while not ended.wait(0.1):
        number += 1
        paid = [pay(payer, Pubkey.from_string(each), number) for each in MARKETS]
        send(localnet, signed(localnet, [*paid, minted.mint_to(TRADER, number)], payer))


def outcome(program: str, name: str, port: int, key: str) -> str:
    """Empty if the scenario passes, else what it says."""
    command = [program, "--endpoint", f"http://127.0.0.1:{port}", "--x-token", key, "run", name]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=SCENARIO_SECONDS)
    except subprocess.TimeoutExpired:
        return f"no end within {SCENARIO_SECONDS} s"
    return "" if ran.returncode == 0 else ran.stderr[-1_000:]


@pytest.mark.parametrize("served", ["service", "localnet"])
def test_the_scenarios_pass(program: str, geyser: Geyser, served: str) -> None:
    port = geyser.port if served == "service" else geyser.localnet.geyser_port
    geyser.localnet.wait_for_slot(20)
    said = {name: outcome(program, name, port, geyser.key) for name in (*SCENARIOS, *REFUSED)}
    for name in REFUSED:
        assert "SubscribeDeshred is not served" in said.pop(name), name
    failed = {name: text for name, text in said.items() if text}
    assert failed.keys() == (LOCALNETS_OWN.keys() if served == "localnet" else set()), failed
