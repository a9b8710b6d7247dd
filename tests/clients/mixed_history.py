"""A chain of mixed transactions that a running service follows, and what was sent to it."""

from dataclasses import dataclass, field
from typing import Any

from solders.pubkey import Pubkey

from chain.derived_keys import derived_keypair
from tests.clients.chain_endpoints import (
    decided,
    landed,
    localnet_of,
    moment_of,
    of_localnet,
    of_service,
    send_bundle,
    send_by_tpu,
    sending,
    statuses,
    until,
)
from tests.clients.failing_transactions import dropped
from tests.clients.mixed_transactions import Mixture
from tests.clients.planned import Pen, Planned
from tests.clients.service import Service
from tests.localnet.test_block_engine import result
from tests.localnet.wallets import SOL
from tests.localnet_process import Localnet

SETTINGS = {"LOCALNET": "true", "LOCALNET_SLOT_MS": "80", "LOCALNET_SKIP_PERCENT": "5"}
VERSION_0 = {"maxSupportedTransactionVersion": 0}


@dataclass
class History:
    """What was sent and what became of it, and localnet's slots from the archive's first to the
    last that has any of it.
    """

    service: Service
    localnet: Localnet
    wallets: list[Pubkey]
    airdrops: list[str]
    taken: list[Planned] = field(default_factory=list)
    lost: list[Planned] = field(default_factory=list)
    first: int = 0
    last: int = 0
    blocks: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def signatures(self) -> list[str]:
        """Of all that stands in blocks."""
        return [*self.airdrops, *(each.signature for each in self.taken)]


def given_to_the_lander(service: Service, localnet: Localnet, last: int) -> list[str]:
    """Airdrops to the account that pays the service's own tips."""
    seed = bytes.fromhex((service.run_dir / "tip_seed").read_text(encoding="ascii"))
    purse = str(derived_keypair(seed, "bundle tips").pubkey())
    found = localnet.call("getSignaturesForAddress", purse, {"commitment": "finalized"})
    return [each["signature"] for each in found if each["slot"] <= last]


def made(service: Service, *, rounds: int = 12) -> History:
    """Sends so many rounds of them, and waits until all that they did is archived."""
    localnet, pen = localnet_of(service), Pen(seed=3)
    until(lambda: localnet.answer("getHealth").get("result") == "ok", "localnet healthy")
    until(lambda: archived_to(service) >= 0, "a slot archived")
    tip_accounts = [Pubkey.from_string(each) for each in result(localnet, "getTipAccounts")]
    mixture = Mixture(pen, tip_accounts)
    requests = [("requestAirdrop", str(key), 10_000 * SOL) for key in mixture.wallets]
    airdrops = of_localnet(localnet, requests)
    landed(localnet, airdrops)
    history = History(service, localnet, mixture.wallets, airdrops)
    opening = mixture.opening(moment_of(localnet, []))
    of_localnet(localnet, sending(opening))
    landed(localnet, [each.signature for each in opening])
    history.taken += opening
    for number in range(rounds):
        if number in (3, 7):
            localnet.call("setFaults", {"forkSlots": 2, "skipSlots": 1})
        play_round(history, mixture, pen, number)
    history.last = max(each["slot"] for each in statuses(localnet, history.signatures) if each)
    until(lambda: archived_to(service) >= history.last, "all of it archived")
    history.airdrops += given_to_the_lander(service, localnet, history.last)
    (coverage,) = of_service(service, "/rewind", [("getRewindCoverage",)])
    history.first = coverage["earliestSlot"]
    assert history.first == 0  # with the accounts that the chain started with
    slots = localnet.call("getBlocks", history.first, history.last)
    blocks = of_localnet(localnet, [("getBlock", slot, VERSION_0) for slot in slots])
    history.blocks = dict(zip(slots, blocks, strict=True))
    return history


def play_round(history: History, mixture: Mixture, pen: Pen, number: int) -> None:
    localnet, service = history.localnet, history.service
    planned = mixture.round(moment_of(localnet, mixture.nonces))
    # By the service's front door and by the node's own.
    if number % 2:
        of_service(service, "/", sending(planned))
    else:
        of_localnet(localnet, sending(planned))
    by_tpu = mixture.by_tpu()
    send_by_tpu(localnet, by_tpu)
    bundle, lost_bundle, nowhere = mixture.bundle(), mixture.lost_bundle(), list(dropped(pen))
    bundle_ids = [send_bundle(localnet, each) for each in (bundle, lost_bundle)]
    of_localnet(localnet, sending(nowhere))
    assert [decided(localnet, each) for each in bundle_ids] == ["Landed", "Failed"]
    taken = [*planned, *by_tpu, *bundle]
    landed(localnet, [each.signature for each in taken])
    history.taken += taken
    history.lost += [*lost_bundle, *nowhere]


def archived_to(service: Service) -> int:
    """The newest slot that both the archive and the ledger have."""
    question = ("getRewindCoverage", {"includeGaps": False})
    (coverage,) = of_service(service, "/rewind", [question])
    if coverage["latestSlot"] is None:
        return -1
    (newest,) = of_service(service, "/historical", [("getSlot",)])
    both: int = min(coverage["latestSlot"], newest)
    return both


def signatures_of(block: dict[str, Any]) -> list[str]:
    return [each["transaction"]["signatures"][0] for each in block["transactions"]]
