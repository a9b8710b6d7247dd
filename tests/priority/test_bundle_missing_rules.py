"""simulateBundle on the newest state of a chain with rules that the engine does not have."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chain import addresses
from chain.encodings import b64encode
from chain.rent import rent_exempt
from columns.kept import forget_all
from rewind.recording.store import runtime_accounts
from simulator.newer_features import NEWER_FEATURES
from tests.localnet.wallets import SOL, pay, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from tests.priority.bundling import Post, flat, nested

pytestmark = pytest.mark.django_db

UNHEARD_OF, NATIVE = (Pubkey(bytes([number]) * 32) for number in (211, 60))
NAMED = [key for key, feature in NEWER_FEATURES.items() if not feature.harmless]
ACTIVE = b"\x01" + bytes(8)


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Localnet]:
    """A localnet on which all features of the newest Agave are active, one of an Agave to come, and
    a program of native code.
    """
    folder, options = tmp_path_factory.mktemp("features"), []
    held = [(key, addresses.FEATURE, ACTIVE) for key in (*NEWER_FEATURES, UNHEARD_OF)]
    for key, owner, data in [*held, (NATIVE, addresses.NATIVE_LOADER, b"native")]:
        file = folder / f"{key}.json"
        file.write_text(json.dumps(account_file(key, owner, data)))
        options += ["--account", str(key), str(file)]
    # A blockhash lasts for a minute: a busy machine takes seconds for one simulation.
    with running_localnet(*options, LOCALNET_SLOT_MS=400) as localnet:
        yield localnet


def account_file(key: Pubkey, owner: Pubkey, data: bytes) -> dict[str, Any]:
    account = {
        "lamports": rent_exempt(len(data)),
        "data": [b64encode(data), "base64"],
        "owner": str(owner),
        "executable": owner != addresses.FEATURE,
        "rentEpoch": 0,
        "space": len(data),
    }
    return {"pubkey": str(key), "account": account}


@pytest.fixture
def chain(newer: Localnet, settings: Any) -> Iterator[Localnet]:
    settings.UPSTREAM_RPC_URL = newer.url
    forget_all()
    yield newer
    forget_all()


def test_the_context_names_what_the_engine_lacks(
    chain: Localnet, post: Post, alice: Keypair
) -> None:
    transaction = signed(chain, [pay(alice, alice.pubkey(), 1)], alice)
    found = flat(post, [transaction])
    assert found["err"] is None
    named = [
        {"kind": "feature", "address": str(key), "name": NEWER_FEATURES[key].name}
        for key in sorted(NAMED, key=bytes)
    ]
    assert found["context"]["missingRules"] == named
    assert nested(post, [transaction])["context"]["missingRules"] == named
    # Of a feature that no list has, the archive knows: it met the account.
    runtime_accounts.keep([bytes(UNHEARD_OF), bytes(addresses.RENT)])
    forget_all()
    unheard = {"kind": "feature", "address": str(UNHEARD_OF), "name": None}
    with_it = sorted([*named, unheard], key=lambda each: bytes(Pubkey.from_string(each["address"])))
    assert flat(post, [transaction])["context"]["missingRules"] == with_it


def test_a_program_of_native_code_is_named_where_it_is_called(
    chain: Localnet, post: Post, alice: Keypair
) -> None:
    calls = Instruction(NATIVE, b"", [AccountMeta(alice.pubkey(), True, True)])
    found = flat(post, [signed(chain, [calls], alice)])
    assert found["err"] == {"InstructionError": [0, "UnsupportedProgramId"]}
    last = found["context"]["missingRules"][-1]
    assert last == {"kind": "program", "address": str(NATIVE), "name": None}


@pytest.fixture(scope="module")
def alice(newer: Localnet) -> Keypair:
    return wallet(newer, 10 * SOL)


def test_a_chain_that_the_engine_knows_whole_names_nothing(
    localnet: Localnet, settings: Any, post: Post
) -> None:
    settings.UPSTREAM_RPC_URL = localnet.url
    forget_all()
    payer = wallet(localnet, SOL)
    context = flat(post, [signed(localnet, [pay(payer, payer.pubkey(), 1)], payer)])["context"]
    assert "missingRules" not in context
