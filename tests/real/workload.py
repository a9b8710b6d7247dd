"""A mixed load on a node: by its own ports, by the service's `/`, and by its `/priority`."""

import json
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from solders import system_program as system
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV1, TransactionConfig
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from tests.clients.chain_endpoints import (
    landed,
    moment_of,
    of_localnet,
    of_service,
    send_by_tpu,
    sending,
    statuses,
)
from tests.clients.mixed_transactions import Mixture
from tests.clients.planned import Pen, Planned
from tests.clients.service import Service
from tests.localnet.wallets import SOL, pay
from tests.localnet_process import Localnet
from tests.patience import PATIENCE_SECONDS

TIP = 1_000_000
_STAKE = Pubkey.from_string("Stake11111111111111111111111111111111111111")
_CLOCK = "SysvarC1ock11111111111111111111111111111111"
_STAKE_HISTORY = "SysvarStakeHistory1111111111111111111111111"
_STAKE_CONFIG = "StakeConfig11111111111111111111111111111111"
_RENT = "SysvarRent111111111111111111111111111111111"
_STAKE_BYTES = 200
_SUBMITTED_A_ROUND = 20
_PAYMENTS = 12
_MOST_SENDINGS = 15
_SENT_AGAIN_SECONDS = 3.0


@dataclass
class Workload(threading.Thread):
    """Rounds of transactions until `stop`, each built on what is confirmed."""

    node: Localnet
    service: Service
    of_version: str
    taken: list[Planned] = field(default_factory=list)
    submitted: list[Planned] = field(default_factory=list)
    airdrops: list[str] = field(default_factory=list)
    failure: list[BaseException] = field(default_factory=list)
    rounds: int = 0

    def __post_init__(self) -> None:
        super().__init__(name="workload", daemon=True)
        self._pen = Pen(seed=7)
        self._mixture = Mixture(self._pen, ())
        self._ending = threading.Event()
        self._submitter = self._pen.key()
        self._staker = self._pen.key()
        self.is_open = threading.Event()

    __hash__ = threading.Thread.__hash__

    @property
    def signatures(self) -> list[str]:
        return [*self.airdrops, *(each.signature for each in (*self.taken, *self.submitted))]

    @property
    def wallets(self) -> list[Pubkey]:
        """With those that submit and stake."""
        return [*self._mixture.wallets, self._submitter.pubkey(), self._staker.pubkey()]

    def stop(self) -> None:
        self._ending.set()
        self.join()
        if self.failure:
            raise self.failure[0]

    def run(self) -> None:
        try:
            self._open()
            while not self._ending.is_set():
                self._round()
                self.rounds += 1
        except BaseException as error:
            self.failure.append(error)
        finally:
            self.is_open.set()

    def _open(self) -> None:
        asked = [("requestAirdrop", str(key), 10_000 * SOL) for key in self.wallets]
        self.airdrops += of_service(self.service, "/", asked)
        landed(self.node, self.airdrops)
        for wave in _waves(self._mixture.opening(moment_of(self.node, [])), self.wallets):
            of_localnet(self.node, sending(wave))
            self._wait_for(wave)
            self.taken += wave
        self._stake()
        self.is_open.set()

    def _round(self) -> None:
        planned = self._mixture.round(moment_of(self.node, self._mixture.nonces))
        if not self.of_version.startswith("4.1."):
            planned.append(self._of_version_1())
        submitted = list(self._submissions())
        beside = list(submitted)
        for wave in _waves(planned, self.wallets):
            if self.rounds % 2:
                of_service(self.service, "/", sending(wave))
            else:
                of_localnet(self.node, sending(wave))
            beside, now = beside[len(wave) :], beside[: len(wave)]
            of_service(self.service, "/priority", sending(now))
            self._wait_for(wave, "processed")
        self._pen.moment = moment_of(self.node, [])  # a round may take as long as a blockhash
        by_tpu = self._mixture.by_tpu()
        self._send_by_tpu(by_tpu)
        taken = [*planned, *by_tpu]
        self._wait_for([*taken, *submitted])
        self.taken += taken
        self.submitted += submitted

    def _send_by_tpu(self, sent: Sequence[Planned]) -> None:
        """Again until all are there: a validator drops what it has not read when we disconnect."""
        for _ in range(_MOST_SENDINGS):
            send_by_tpu(self.node, sent)
            ends = time.monotonic() + _SENT_AGAIN_SECONDS
            while time.monotonic() < ends:
                if all(statuses(self.node, [each.signature for each in sent])):
                    return
                time.sleep(0.1)

    def _wait_for(self, sent: Sequence[Planned], level: str = "confirmed") -> None:
        signatures = [each.signature for each in sent]
        try:
            landed(self.node, signatures, level)
        except AssertionError as error:
            found = zip(sent, statuses(self.node, signatures), strict=True)
            absent = Counter(each.kind for each, status in found if status is None)
            raise AssertionError(f"round {self.rounds}: {error}; absent: {absent}") from None

    def submit(self) -> list[Planned]:
        """Some submissions by themselves, which are accepted."""
        self._pen.moment = moment_of(self.node, [])
        found = list(self._submissions())
        of_service(self.service, "/priority", sending(found))
        return found

    def payments(self) -> list[Planned]:
        """Some that are not sent yet; the last fails."""
        pen = self._pen
        pen.moment = moment_of(self.node, [])
        payers = [pen.payer() for _ in range(_PAYMENTS)]
        paid = [pen.planned("payment", [pen.payment(payer)], payer) for payer in payers]
        wrong = pen.failing("too much", [pen.too_much(payers[0])], payers[0], 0, {"Custom": 1})
        return [*paid, wrong]

    def again(self) -> list[Planned]:
        """Payments on a chain that was interrupted, confirmed."""
        paid = self.payments()
        of_service(self.service, "/", sending(paid))
        landed(self.node, [each.signature for each in paid])
        return paid

    def _submissions(self) -> Iterator[Planned]:
        """Such as land, and one that fails on chain."""
        pen, payer = self._pen, self._submitter
        tip = pay(payer, tip_address(self.service), TIP)
        for number in range(_SUBMITTED_A_ROUND - 1):
            paid = [pen.payment(payer), tip]
            yield pen.planned(f"submission {number}", paid, payer)
        wrong = [tip, pen.too_much(payer)]
        yield pen.failing("submission that fails", wrong, payer, 1, {"Custom": 1})

    def _of_version_1(self) -> Planned:
        payer = self._pen.payer()
        asked = TransactionConfig(
            compute_unit_limit=20_000, loaded_accounts_data_size_limit=1 << 20
        )
        message = MessageV1.try_compile(
            payer.pubkey(), [self._pen.payment(payer)], self._pen.moment.blockhash, asked
        )
        return Planned("version 1", VersionedTransaction(message, [payer]))

    def _stake(self) -> None:
        """Two accounts of stake; one is deactivated at once."""
        node, pen = self.node, self._pen
        vote = Pubkey.from_string(node.call("getVoteAccounts")["current"][0]["votePubkey"])
        stakes = pen.key(), pen.key()
        for steps in (
            [opened(self._staker, each) for each in stakes],
            [[delegated(self._staker, each.pubkey(), vote)] for each in stakes],
            [[deactivated(self._staker, stakes[1].pubkey())]],
        ):
            pen.moment = moment_of(node, [])
            signers = [(each,) for each in stakes] if len(steps[0]) == 2 else [(), ()]
            planned = [
                pen.planned("stake", instructions, self._staker, *others)
                for instructions, others in zip(steps, signers, strict=False)
            ]
            of_localnet(node, sending(planned))
            landed(node, [each.signature for each in planned])
            self.taken += planned


def _waves(planned: Sequence[Planned], wallets: Sequence[Pubkey]) -> list[list[Planned]]:
    """What a leader gets at once it may run in another order: a wave only uses what earlier ones
    wrote, wallets aside, which have enough in any order.
    """
    waves: list[list[Planned]] = []
    of_writes: dict[Pubkey, int] = {}
    of_reads: dict[Pubkey, int] = {}
    for each in planned:
        written, read = _used(each.transaction)
        written -= set(wallets)
        read -= set(wallets)
        before = [of_writes.get(key, -1) for key in written | read]
        before += [of_reads.get(key, -1) for key in written]
        number = max(before, default=-1) + 1
        waves[number:] = waves[number:] or [[]]
        waves[number].append(each)
        of_writes |= dict.fromkeys(written, number)
        of_reads |= {key: max(number, of_reads.get(key, -1)) for key in read}
    return waves


def _used(transaction: VersionedTransaction) -> tuple[set[Pubkey], set[Pubkey]]:
    """Accounts that it writes, and that it reads, with the lookup tables."""
    message = transaction.message
    keys, header = list(message.account_keys), message.header
    signers = header.num_required_signatures
    written = keys[: signers - header.num_readonly_signed_accounts]
    written += keys[signers : len(keys) - header.num_readonly_unsigned_accounts]
    tables = [each.account_key for each in getattr(message, "address_table_lookups", ())]
    return set(written), set(keys) - set(written) | set(tables)


def tip_address(service: Service) -> Pubkey:
    request = urllib.request.Request(
        f"{service.base_url}/priority/fetchtipaddress?ttl=900",
        headers={"Authorization": service.key},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
        return Pubkey.from_string(json.load(response)["addresses"][0])


def fate(service: Service, signature: str) -> dict[str, Any]:
    request = urllib.request.Request(
        f"{service.base_url}/priority/fate/{signature}", headers={"Authorization": service.key}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
        found: dict[str, Any] = json.load(response)
        return found


def opened(staker: Keypair, stake: Keypair) -> list[Instruction]:
    made = system.create_account(
        system.CreateAccountParams(
            from_pubkey=staker.pubkey(),
            to_pubkey=stake.pubkey(),
            lamports=5 * SOL,
            space=_STAKE_BYTES,
            owner=_STAKE,
        )
    )
    # Initialize, with whom may stake and withdraw, and no lockup.
    data = bytes(4) + bytes(staker.pubkey()) * 2 + bytes(48)
    return [made, Instruction(_STAKE, data, [_writable(stake.pubkey()), _read(_RENT)])]


def delegated(staker: Keypair, stake: Pubkey, vote: Pubkey) -> Instruction:
    read = [_read(each) for each in (str(vote), _CLOCK, _STAKE_HISTORY, _STAKE_CONFIG)]
    keys = [_writable(stake), *read, AccountMeta(staker.pubkey(), True, False)]
    return Instruction(_STAKE, (2).to_bytes(4, "little"), keys)


def deactivated(staker: Keypair, stake: Pubkey) -> Instruction:
    keys = [_writable(stake), _read(_CLOCK), AccountMeta(staker.pubkey(), True, False)]
    return Instruction(_STAKE, (5).to_bytes(4, "little"), keys)


def _writable(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, is_signer=False, is_writable=True)


def _read(key: str) -> AccountMeta:
    return AccountMeta(Pubkey.from_string(key), is_signer=False, is_writable=False)
