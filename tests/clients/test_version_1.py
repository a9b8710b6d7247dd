"""A version 1 transaction of 4,096 bytes with 40 instructions on its whole way.

It is simulated, sent by each upstream alone and in a bundle, landed, read in every encoding, and
replayed; its accounts are known before and after.
"""

import base64
import json
import urllib.request
from dataclasses import dataclass
from typing import Any

import pytest
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV1, TransactionConfig
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from tests.patience import PATIENCE_SECONDS
from tests.subscriptions.socket_client import Socket

from .chain_endpoints import localnet_of, of_service, until
from .conftest import Node
from .service import Service

SOL = 1_000_000_000
TIP = 1_000_000
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
ASKED = TransactionConfig(
    priority_fee=7, compute_unit_limit=1_400_000, loaded_accounts_data_size_limit=1 << 26
)
SENT = {"encoding": "base64", "skipPreflight": True}
VERSIONS = {"maxSupportedTransactionVersion": 1}


@dataclass(frozen=True)
class Sent:
    """One that landed: what it was, whom it paid, and its fate."""

    transaction: VersionedTransaction
    receivers: list[Pubkey]
    fate: dict[str, Any]

    @property
    def signature(self) -> str:
        return str(self.transaction.signatures[0])

    @property
    def text(self) -> str:
        return base64.b64encode(bytes(self.transaction)).decode()


def get(service: Service, path: str) -> Any:
    request = urllib.request.Request(
        service.base_url + path, headers={"Authorization": service.key}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
        return json.load(response)


def call(service: Service, path: str, method: str, *params: Any) -> Any:
    (result,) = of_service(service, path, [(method, *params)])
    return result


def largest(
    payer: Keypair, tip: Pubkey, blockhash: Hash
) -> tuple[VersionedTransaction, list[Pubkey]]:
    """A tip, 38 transfers and a memo that fills what is left."""
    receivers = [Pubkey.new_unique() for _ in range(38)]
    amounts = [(tip, TIP), *((key, SOL // 100) for key in receivers)]
    pays = [
        transfer(TransferParams(from_pubkey=payer.pubkey(), to_pubkey=key, lamports=lamports))
        for key, lamports in amounts
    ]

    def signed(note: int) -> VersionedTransaction:
        memo = Instruction(MEMO, b"x" * note, [])
        message = MessageV1.try_compile(payer.pubkey(), [*pays, memo], blockhash, ASKED)
        return VersionedTransaction(message, [payer])

    transaction = signed(4_096 - len(bytes(signed(0))))
    assert len(bytes(transaction)) == 4_096
    assert len(transaction.message.instructions) == 40
    return transaction, receivers


def fate_of(service: Service, transaction: VersionedTransaction) -> dict[str, Any]:
    def settled() -> dict[str, Any] | None:
        found: dict[str, Any] = get(service, f"/priority/fate/{transaction.signatures[0]}")
        return found if found["final"] else None

    return until(settled, "its fate is final")


@pytest.fixture(scope="module")
def payer(followed: Service) -> Keypair:
    made = Keypair()
    localnet = localnet_of(followed)
    airdrop = localnet.call("requestAirdrop", str(made.pubkey()), 100 * SOL)

    def is_there() -> bool:
        found = localnet.call("getSignatureStatuses", [airdrop])["value"][0]
        return bool(found and found["confirmationStatus"] != "processed")

    until(is_there, "the payer is funded")
    return made


def made(service: Service, payer: Keypair) -> tuple[VersionedTransaction, list[Pubkey]]:
    tip = Pubkey.from_string(get(service, "/priority/fetchtipaddress")["address"])
    latest = call(service, "/", "getLatestBlockhash", {"commitment": "confirmed"})
    return largest(payer, tip, Hash.from_string(latest["value"]["blockhash"]))


@pytest.fixture(scope="module")
def landed(followed: Service, payer: Keypair) -> dict[str, Sent]:
    """One for each upstream, by its name."""
    found = {}
    for upstream in ("leaders", "node"):
        transaction, receivers = made(followed, payer)
        text = base64.b64encode(bytes(transaction)).decode()
        options = {**SENT, "onlyUpstreams": [upstream]}
        signature = call(followed, "/priority", "sendTransaction", text, options)
        assert signature == str(transaction.signatures[0])
        found[upstream] = Sent(transaction, receivers, fate_of(followed, transaction))
    bundle = [made(followed, payer) for _ in range(2)]
    texts = [base64.b64encode(bytes(each)).decode() for each, _ in bundle]
    call(followed, "/bundle", "sendBundle", texts, {"encoding": "base64"})
    for number, (transaction, receivers) in enumerate(bundle):
        name = f"engine {number}"
        found[name] = Sent(transaction, receivers, fate_of(followed, transaction))
    last = max(each.fate["slot"] for each in found.values())

    def is_stored() -> bool:
        archived = call(followed, "/rewind", "getRewindCoverage", {})["latestSlot"]
        return bool(min(archived, call(followed, "/historical", "getSlot")) >= last)

    until(is_stored, "ledger and archive have their blocks")
    return found


def test_it_is_simulated_before_it_is_sent(followed: Service, payer: Keypair) -> None:
    transaction, _ = made(followed, payer)
    text = base64.b64encode(bytes(transaction)).decode()
    flat = call(followed, "/", "simulateBundle", {"encodedTransactions": [text]})
    assert flat["err"] is None and flat["unitsConsumed"] > 39 * 150
    nested = call(followed, "/", "simulateBundle", {"encodedTransactions": [text]}, {})
    assert nested["value"]["summary"] == "succeeded"
    (result,) = nested["value"]["transactionResults"]
    assert result["unitsConsumed"] == flat["unitsConsumed"]


@pytest.mark.parametrize("way", ["leaders", "node", "engine 0", "engine 1"])
def test_it_lands_by_each_way_alone(landed: dict[str, Sent], way: str) -> None:
    fate = landed[way].fate
    assert (fate["state"], fate["err"], fate["willFail"]) == ("landed", None, None)
    assert {each["upstream"] for each in fate["attempts"]} == {way.split()[0]}
    # Of a bundle the last one's tip counts first.
    assert (fate["tip"] or {}).get("lamports") == (None if way == "engine 0" else TIP)


@pytest.mark.parametrize("way", ["leaders", "engine 1"])
def test_it_is_read_in_every_encoding(followed: Service, landed: dict[str, Sent], way: str) -> None:
    sent = landed[way]
    for encoding in ("json", "jsonParsed", "base64"):
        options = {**VERSIONS, "encoding": encoding}
        ours = call(followed, "/historical", "getTransaction", sent.signature, options)
        assert ours == call(followed, "/", "getTransaction", sent.signature, options)
        assert ours["version"] == 1 and ours["meta"]["fee"] == 5_007
        if encoding == "base64":
            assert ours["transaction"] == [sent.text, "base64"]
        else:
            assert ours["transaction"]["message"]["transactionConfig"] == {
                "computeUnitLimit": 1_400_000,
                "heapSize": None,
                "loadedAccountsDataSizeLimit": 1 << 26,
                "priorityFee": 7,
            }
            assert len(ours["transaction"]["message"]["instructions"]) == 40
        block = call(followed, "/historical", "getBlock", sent.fate["slot"], options)
        listed = block["transactions"][sent.fate["transactionIndex"]]
        assert listed["transaction"] == ours["transaction"]


def test_it_comes_by_websocket(followed: Service, landed: dict[str, Sent]) -> None:
    sent = landed["node"]
    url = f"{followed.base_url.replace('http', 'ws')}/"
    for encoding in ("json", "jsonParsed", "base64"):
        options = {**VERSIONS, "encoding": encoding, "commitment": "finalized"}
        ours = call(followed, "/historical", "getTransaction", sent.signature, options)
        with Socket(url, followed.key) as socket:
            number = socket.call(
                "blockSubscribe",
                {"mentionsAccountOrProgram": str(sent.receivers[0])},
                {**options, "fromSlot": sent.fate["slot"]},
            )
            notice = socket.notice(number)
        (listed,) = notice["params"]["result"]["value"]["block"]["transactions"]
        assert (listed["transaction"], listed["version"]) == (ours["transaction"], 1)
        # Rewards are of the block where it comes whole, as from a node.
        assert {**listed["meta"], "rewards": []} == ours["meta"]


@pytest.mark.parametrize("way", ["node", "engine 0"])
def test_its_accounts_are_known_before_and_after(
    followed: Service, landed: dict[str, Sent], payer: Keypair, way: str
) -> None:
    sent = landed[way]
    before = {"anchor": {"signature": sent.signature, "position": "before"}}
    after = {"anchor": {"signature": sent.signature, "position": "after"}}

    def read(key: Pubkey, where: dict[str, Any]) -> dict[str, Any] | None:
        found = call(
            followed, "/rewind", "getAccountInfo", str(key), {**where, "encoding": "base64"}
        )
        value: dict[str, Any] | None = found["value"]
        return value

    for receiver in (sent.receivers[0], sent.receivers[-1]):
        assert read(receiver, before) is None
        paid = read(receiver, after)
        assert paid is not None and paid["lamports"] == SOL // 100
    had, has = read(payer.pubkey(), before), read(payer.pubkey(), after)
    assert had is not None and has is not None
    assert had["lamports"] - has["lamports"] == 5_007 + TIP + 38 * (SOL // 100)


def test_it_is_replayed_where_it_was_alone_and_in_a_job(
    followed: Service, landed: dict[str, Sent]
) -> None:
    sent = landed["leaders"]
    where = {"anchor": {"signature": sent.signature, "position": "before"}}
    alone = call(followed, "/rewind", "simulateHistoricalTransaction", sent.text, where)
    assert (alone["value"]["err"], alone["value"]["fidelity"]) == (None, "verified")
    job = call(
        followed,
        "/rewind",
        "submitSimulationJob",
        {"transactions": [sent.text], "positions": [where]},
    )

    def done() -> dict[str, Any] | None:
        page = call(followed, "/rewind", "getSimulationJobResults", job["jobId"], {})
        return page if page["results"] else None

    (result,) = until(done, "the job is done")["results"]
    assert result["value"]["unitsConsumed"] == alone["value"]["unitsConsumed"]


def test_one_that_will_fail_is_sent_and_told(followed: Service, payer: Keypair) -> None:
    tip = Pubkey.from_string(get(followed, "/priority/fetchtipaddress")["address"])
    latest = call(followed, "/", "getLatestBlockhash", {"commitment": "confirmed"})
    blockhash = Hash.from_string(latest["value"]["blockhash"])
    pay = transfer(TransferParams(from_pubkey=payer.pubkey(), to_pubkey=tip, lamports=TIP))
    for config, err in (
        (TransactionConfig(compute_unit_limit=1_000), "MaxLoadedAccountsDataSizeExceeded"),
        (
            TransactionConfig(loaded_accounts_data_size_limit=1 << 20),
            {"InstructionError": [0, "ComputationalBudgetExceeded"]},
        ),
    ):
        message = MessageV1.try_compile(payer.pubkey(), [pay], blockhash, config)
        transaction = VersionedTransaction(message, [payer])
        text = base64.b64encode(bytes(transaction)).decode()
        checked = {"encoding": "base64", "preflightCommitment": "confirmed"}
        refused = error_of(followed, "/", "sendTransaction", text, checked)
        assert (refused["code"], refused["data"]["err"]) == (-32002, err)
        refused = error_of(followed, "/bundle", "sendBundle", [text], {"encoding": "base64"})
        assert refused["data"]["reason"] == "bundle_simulation_failed"
        assert "and version 1 has no default" in refused["message"]
        call(followed, "/priority", "sendTransaction", text, SENT)
        fate = fate_of(followed, transaction)
        assert (fate["state"], fate["err"]) == ("failed", err)
        assert "version 1 has no default" in fate["willFail"]


def error_of(service: Service, path: str, method: str, *params: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    request = urllib.request.Request(
        service.base_url + path,
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": service.key},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
        error: dict[str, Any] = json.load(response)["error"]
    return error


def test_kits_lands_unchanged(followed: Service, node: Node) -> None:
    given = json.dumps({"url": followed.base_url, "key": followed.key})
    assert json.loads(node("version-1.mjs", given)) == {
        "size": 4_096,
        "fate": {"state": "landed", "err": None},
        "isUnchanged": True,
        "version": 1,
        "fee": "5007",
    }
