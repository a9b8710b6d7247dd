"""The engine behind simulateBundle: programs that never end, large accounts, processes that die."""

import base64
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account
from solders.transaction import VersionedTransaction

from chain import addresses
from chain.encodings import b64decode
from simulator.client import engine_processes
from simulator.defaults import rent_minimum
from tests.localnet.wallets import SOL, latest_blockhash, pay, signed, wallet
from tests.localnet_process import Localnet, running_localnet
from tests.priority.bundling import Post, answer, asking, flat, nested
from tests.priority.odd_nodes import OddNode
from tests.simulator import elf
from tests.simulator.world import World, address, call, limits, plain, writable

pytestmark = pytest.mark.django_db

ENDLESS, HARMLESS, FAILING, YOUNG = (address(800 + each) for each in range(4))
LARGE = [address(900), address(901)]
TEN_MB = 10 * 1024 * 1024


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Localnet]:
    """A localnet with programs that misbehave, and accounts as large as there are."""
    folder = tmp_path_factory.mktemp("accounts")
    world = World(accounts={})
    world.deploy(ENDLESS, elf.NEVER_ENDS)
    world.deploy(HARMLESS, elf.SUCCEEDS)
    world.deploy(FAILING, b"no code at all")
    world.accounts[YOUNG] = Account(SOL, bytes(100), addresses.LOADER_4, True, 0)
    world.accounts.update({key: plain(100 * SOL, bytes(TEN_MB)) for key in LARGE})
    for key, account in world.accounts.items():
        write_account(folder / f"{key}.json", key, account)
    # A blockhash lasts for a minute: a busy machine takes seconds to run them.
    with running_localnet("--accounts", str(folder), LOCALNET_SLOT_MS=400) as localnet:
        localnet.wait(lambda: localnet.call("getAccountInfo", str(HARMLESS))["value"], "furnished")
        yield localnet


def write_account(path: Path, key: Pubkey, account: Account) -> None:
    told = {
        "lamports": account.lamports,
        "data": [base64.b64encode(account.data).decode(), "base64"],
        "owner": str(account.owner),
        "executable": account.executable,
    }
    path.write_text(json.dumps({"pubkey": str(key), "account": told}))


@pytest.fixture(scope="module")
def payer(furnished: Localnet) -> Keypair:
    return wallet(furnished, 1_000 * SOL)


@pytest.fixture(autouse=True)
def behind(furnished: Localnet, settings: Any) -> None:
    settings.UPSTREAM_RPC_URL = furnished.url


def one(localnet: Localnet, payer: Keypair, *instructions: Any) -> VersionedTransaction:
    return signed(localnet, instructions, payer)


def works(localnet: Localnet, payer: Keypair, post: Post) -> None:
    """The next call is answered as if nothing had been."""
    transaction = one(localnet, payer, pay(payer, Keypair().pubkey(), SOL))
    told = flat(post, [transaction])
    assert (told["err"], told["unitsConsumed"]) == (None, 150)


def test_a_program_that_never_ends_is_ended_by_its_units(
    furnished: Localnet, payer: Keypair, post: Post
) -> None:
    blockhash = latest_blockhash(furnished)
    bundle = [
        signed(
            furnished,
            [*limits(units=1_400_000, price=price), call(ENDLESS)],
            payer,
            blockhash=blockhash,
        )
        for price in range(4)
    ]
    told = flat(post, bundle)
    assert told["err"] == {"InstructionError": [1, "ProgramFailedToComplete"]}
    assert told["unitsConsumed"] == 1_400_000
    works(furnished, payer, post)


@pytest.mark.parametrize(
    ("program", "err"),
    [
        (FAILING, {"InstructionError": [0, "UnsupportedProgramId"]}),
        (YOUNG, "InvalidProgramForExecution"),
        (address(4_000), "ProgramAccountNotFound"),
    ],
    ids=["no code", "loader 4", "absent"],
)
def test_what_would_make_the_vm_panic_is_an_error_of_the_transaction(
    furnished: Localnet, payer: Keypair, post: Post, program: Pubkey, err: Any
) -> None:
    bundle = [one(furnished, payer, call(program))]
    told = flat(post, bundle)
    real = furnished.call(
        "simulateTransaction",
        asking(bundle)["encodedTransactions"][0],
        {"encoding": "base64", "commitment": "processed"},
    )["value"]
    assert told["err"] == real["err"] == err
    assert told["logs"] == real["logs"]
    works(furnished, payer, post)


def test_accounts_as_large_as_there_are_are_simulated(
    furnished: Localnet, payer: Keypair, post: Post
) -> None:
    touch = call(HARMLESS, b"", [writable(key) for key in LARGE])
    blockhash = latest_blockhash(furnished)
    bundle = [
        signed(furnished, instructions, payer, blockhash=blockhash)
        for instructions in ([touch], [*limits(loaded=TEN_MB), touch])
    ]
    names = ["preExecutionAccountsConfigs", "postExecutionAccountsConfigs"]
    told = flat(post, bundle, **{name: [None, None] for name in names})
    assert told["err"] == "MaxLoadedAccountsDataSizeExceeded"
    assert told["logs"] and told["postExecutionAccounts"] == []
    wanted = [{"addresses": [str(key) for key in LARGE[:2]]}]
    error = answer(post, asking(bundle[:1], postExecutionAccountsConfigs=wanted))["error"]
    assert error["data"]["reason"] == "snapshots_too_large"
    assert error["data"]["found"] > error["data"]["maximum"]
    works(furnished, payer, post)


def test_large_accounts_that_nobody_asks_for_are_no_reason_to_refuse(
    furnished: Localnet, payer: Keypair, post: Post
) -> None:
    """They are shown as far as they fit, and say how much of them was left out."""
    bundle = [one(furnished, payer, call(HARMLESS, b"", [writable(LARGE[0])]))]
    told = flat(post, bundle)
    assert told["err"] is None
    before, after = told["preExecutionAccounts"][-1], told["postExecutionAccounts"][-1]
    assert len(b64decode(before["data"])) == TEN_MB and "dataOmitted" not in before
    assert (after["data"], after["dataOmitted"]) == ("", TEN_MB)
    assert after["lamports"] == before["lamports"] and after["owner"] == before["owner"]
    # What is asked for comes first.
    post_wanted = [{"addresses": [str(LARGE[0])]}]
    told = flat(post, bundle, postExecutionAccountsConfigs=post_wanted)
    before, after = told["preExecutionAccounts"][-1], told["postExecutionAccounts"][-1]
    assert len(b64decode(after["data"])) == TEN_MB and "dataOmitted" not in after
    assert (before["data"], before["dataOmitted"]) == ("", TEN_MB)
    touch = call(HARMLESS, b"", [writable(key) for key in LARGE])
    every = flat(post, [one(furnished, payer, touch)])
    assert sum("dataOmitted" in (each or {}) for each in every["preExecutionAccounts"]) > 0


def test_accounts_as_large_as_can_be_made_leave_nothing_behind(
    furnished: Localnet, payer: Keypair, post: Post
) -> None:
    """Each transaction makes two of 10 MB, which is what one may."""
    blockhash = latest_blockhash(furnished)
    bundle, made = [], []
    for _ in range(4):
        both = [Keypair(), Keypair()]
        made += both
        instructions = [
            create_account(
                CreateAccountParams(
                    from_pubkey=payer.pubkey(),
                    to_pubkey=each.pubkey(),
                    lamports=rent_minimum(TEN_MB),
                    space=TEN_MB,
                    owner=HARMLESS,
                )
            )
            for each in both
        ]
        bundle.append(signed(furnished, instructions, payer, *both, blockhash=blockhash))
    nothing = [None] * 4
    configs = {
        "preExecutionAccountsConfigs": nothing,
        "postExecutionAccountsConfigs": nothing,
    }
    for _ in range(2):
        value = nested(post, bundle, **configs)["value"]
        assert value["summary"] == "succeeded"
        # None of them is there, and what is read now is read from the same engine.
        shown = [{"addresses": [str(each.pubkey()) for each in made]}]
        transaction = one(furnished, payer, pay(payer, payer.pubkey(), 1))
        told = flat(post, [transaction], **dict.fromkeys(configs, shown))
        assert told["preExecutionAccounts"] == told["postExecutionAccounts"] == [None] * 8
    works(furnished, payer, post)


def test_an_engine_process_that_dies_is_a_clear_error_and_is_replaced(
    furnished: Localnet, payer: Keypair, post: Post
) -> None:
    works(furnished, payer, post)
    pids = engine_processes().pids()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)

    def end() -> None:
        while not engine_processes().busy():
            time.sleep(0.001)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    ending = threading.Thread(target=end)
    ending.start()
    transaction = one(furnished, payer, pay(payer, Keypair().pubkey(), SOL))
    error = answer(post, asking([transaction]))["error"]
    ending.join()
    assert (error["code"], error["data"]["reason"]) == (-32603, "engine_fault")
    assert "died" in error["message"]
    works(furnished, payer, post)
    assert not set(pids) & set(engine_processes().pids())


def test_an_engine_process_that_hangs_is_given_up_in_time(
    furnished: Localnet, payer: Keypair, post: Post, settings: Any
) -> None:
    works(furnished, payer, post)
    pids = engine_processes().pids()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    settings.SIMULATION_TIMEOUT_SECONDS = 1
    transaction = one(furnished, payer, pay(payer, Keypair().pubkey(), SOL))
    error = answer(post, asking([transaction]))["error"]
    assert (error["code"], error["data"]["reason"]) == (-32603, "simulation_timeout")
    for pid in set(pids) & set(engine_processes().pids()):
        os.kill(pid, signal.SIGCONT)
    settings.SIMULATION_TIMEOUT_SECONDS = 30
    works(furnished, payer, post)


def test_a_sysvar_that_is_none_is_a_clear_error(
    furnished: Localnet,
    payer: Keypair,
    node: Callable[..., OddNode],
    post: Post,
    settings: Any,
) -> None:
    broken = base64.b64encode(b"rent").decode()

    def answers(body: bytes) -> tuple[int, bytes]:
        calls = json.loads(body)
        told = furnished.post(calls)
        for asked, each in zip(calls if isinstance(calls, list) else [], told, strict=False):
            keys = asked["params"][0] if asked["method"] == "getMultipleAccounts" else []
            if str(addresses.RENT) in keys:
                each["result"]["value"][keys.index(str(addresses.RENT))]["data"][0] = broken
        return 200, json.dumps(told).encode()

    transaction = one(furnished, payer, pay(payer, Keypair().pubkey(), SOL))
    node(answers)
    error = answer(post, asking([transaction]))["error"]
    assert (error["code"], error["data"]["reason"]) == (-32603, "engine_fault")
    assert str(addresses.RENT) in error["message"]
    settings.UPSTREAM_RPC_URL = furnished.url
    works(furnished, payer, post)
