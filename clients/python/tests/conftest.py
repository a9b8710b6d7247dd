"""A running service: TIDEMARK_URL and TIDEMARK_KEY, by default those of `make run`, which follows
its localnet. Tests of the management API need TIDEMARK_ROOT_KEY, made in the admin.
"""

import json
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from tidemark import Management, Tidemark
from tidemark.management_types import Customer

ROOT = Path(__file__).resolve().parents[3]

Signed = Callable[..., VersionedTransaction]


@pytest.fixture(scope="session")
def url() -> str:
    return os.environ.get("TIDEMARK_URL", "http://127.0.0.1:8000")


@pytest.fixture(scope="session")
def key() -> str:
    """An API key of the highest tier."""
    if "TIDEMARK_KEY" in os.environ:
        return os.environ["TIDEMARK_KEY"]
    file = ROOT / ".run" / "credentials.json"
    if not file.exists():
        pytest.skip("set TIDEMARK_URL and TIDEMARK_KEY, or start the service with `make run`")
    return str(json.loads(file.read_text())["api_keys"]["epic"])


@pytest.fixture(scope="session")
def root_key() -> str:
    if "TIDEMARK_ROOT_KEY" not in os.environ:
        pytest.skip("set TIDEMARK_ROOT_KEY to a root key with every scope")
    return os.environ["TIDEMARK_ROOT_KEY"]


@pytest.fixture(scope="session")
def tidemark(url: str, key: str) -> Iterator[Tidemark]:
    with Tidemark(url, key) as client:
        yield client


@pytest.fixture(scope="session")
def management(url: str, root_key: str) -> Iterator[Management]:
    with Management(url, root_key) as client:
        yield client


@pytest.fixture
def customer(management: Management) -> Customer:
    return management.customers.create(name=f"Ada {uuid.uuid4().hex[:8]}")


@pytest.fixture(scope="session")
def payer(tidemark: Tidemark) -> Keypair:
    """An account with 10 SOL."""
    account = Keypair()
    tidemark.airdrop(account.pubkey(), 10_000_000_000)
    return account


@pytest.fixture(scope="session")
def signed(tidemark: Tidemark, payer: Keypair) -> Signed:
    """`signed(lamports)`: a transfer of so many lamports with a tip, signed."""

    def make(lamports: int = 1_000_000) -> VersionedTransaction:
        to = Pubkey.new_unique()
        params = TransferParams(from_pubkey=payer.pubkey(), to_pubkey=to, lamports=lamports)
        instructions = tidemark.with_tip([transfer(params)], payer.pubkey())
        blockhash = tidemark.latest_blockhash()
        message = MessageV0.try_compile(payer.pubkey(), instructions, [], blockhash)
        return VersionedTransaction(message, [payer])

    return make
