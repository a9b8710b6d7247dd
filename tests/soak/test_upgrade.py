"""Databases of released versions are upgraded, and the service answers from them as it did.

With RECORD_UPGRADE=1 a database of this version is made and kept (docs/releasing.md): of a chain
that a service followed, with transactions of all kinds, and submissions that landed.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from config.version import VERSION
from tests import upgrades
from tests.clients.chain_endpoints import Question, answers_of_service, of_service, until
from tests.clients.mixed_history import SETTINGS, History, made
from tests.clients.service import Service, prepared, running_in
from tests.localnet.wallets import encoded, pay, signed, wallet
from tests.priority.sending import MINIMUM, SENT
from tests.second_database import second_database
from tests.upgrades import Answers

pytestmark = pytest.mark.soak
_READ = {"maxSupportedTransactionVersion": 1}
_BASE64 = {"encoding": "base64"}


@pytest.mark.parametrize("version", upgrades.versions())
@pytest.mark.django_db(transaction=True)
def test_an_upgraded_database_answers_as_before(version: str, tmp_path: Path) -> None:
    expected = upgrades.answers(version)
    asked = [(path, *question) for path, question, _ in expected]
    with second_database() as url:
        upgrades.fill(url, version)
        with running_in(tmp_path, prepared(tmp_path, DATABASE_URL=url)) as service:
            assert answered(service, asked) == expected


@pytest.mark.skipif(os.environ.get("RECORD_UPGRADE") != "1", reason="it writes into the repository")
@pytest.mark.django_db(transaction=True)
def test_a_database_of_this_version_is_kept(tmp_path: Path) -> None:
    with second_database() as url:
        followed = prepared(tmp_path, DATABASE_URL=url, **SETTINGS)
        with running_in(tmp_path, followed) as service:
            history = made(service, rounds=1)
            asked = [*of_chain(history), *submissions(history)]
        # What is asked now is answered from the database alone.
        with running_in(tmp_path, {**followed, "LOCALNET": "false"}) as service:
            found = answered(service, asked)
        wrong = [each for each in found if "error" in each[2]]
        assert not wrong, wrong[0]
        upgrades.keep(url, VERSION, found)


def answered(service: Service, asked: Sequence[Question]) -> Answers:
    """Each question begins with its path; one request for each, so that none exceeds a limit."""
    return [
        [path, question, answer]
        for path, *question in asked
        for answer in answers_of_service(service, path, [tuple(question)])
    ]


def of_chain(history: History) -> list[Question]:
    """Of the ledger and the archive."""
    slots = sorted(history.blocks)
    busy = [slot for slot in slots if len(history.blocks[slot]["transactions"]) > 1]
    wallets = list(map(str, history.wallets))
    between = {"fromSlot": history.first, "toSlot": history.last}
    reads = [
        ("getAccountInfo", wallet, {"slot": slot, **_BASE64}) for wallet in wallets for slot in busy
    ]
    return [
        ("/historical", "getBlocks", history.first, history.last),
        *(("/historical", "getBlock", slot, _READ) for slot in busy),
        *(("/historical", "getTransaction", each, _READ) for each in history.signatures[::4]),
        *(("/historical", "getSignaturesForAddress", wallet) for wallet in wallets),
        *(("/rewind", *each) for each in reads),
        *(("/rewind", "getAccountChanges", wallet, between) for wallet in wallets),
    ]


def submissions(history: History) -> list[Question]:
    """Of the fates of what the service has landed: three transactions and a bundle."""
    service, localnet = history.service, history.localnet
    payer = wallet(localnet)
    (tips,) = of_service(service, "/bundle", [("getTipAccounts",)])
    tip = pay(payer, Pubkey.from_string(tips[0]), MINIMUM)
    paid = [pay(payer, Keypair().pubkey(), 1_000_000 + each) for each in range(4)]
    *alone, bundled = [encoded(signed(localnet, [each, tip], payer)) for each in paid]
    sent = [("sendTransaction", each, SENT) for each in alone]
    signatures = of_service(service, "/priority", sent)
    (bundle,) = of_service(service, "/bundle", [("sendBundle", [bundled], _BASE64)])
    asked = [
        *(("/priority", "getTransactionFate", each) for each in signatures),
        ("/bundle", "getBundleFate", bundle),
    ]

    def are_final() -> bool:
        fates = [answer["result"] for *_, answer in answered(service, asked)]
        return all(each["final"] and each["state"] == "landed" for each in fates)

    until(are_final, "all fates final")
    return asked
