"""getVoteAccounts: the validators' vote accounts, with what they voted on and earned."""

from typing import Any

from solders.pubkey import Pubkey

from chain.addresses import VOTE
from chain.commitment import Commitment
from jsonrpc.params import U64, Config
from localnet.bank import Bank
from localnet.genesis import STAKE_LAMPORTS
from localnet.methods.table import Node, methods
from localnet.votes import vote_account

_DELINQUENT_AFTER = 128
_CREDITS_SHOWN = 5


class VoteAccountsConfig(Config, frozen=True, kw_only=True):
    node_struct = "RpcGetVoteAccountsConfig"
    node_drops = frozenset({"commitment"})

    vote_pubkey: Pubkey | None = None
    commitment: Commitment | None = None
    keep_unstaked_delinquents: bool | None = None
    delinquent_slot_distance: U64 | None = None


@methods.add("getVoteAccounts")
def get_vote_accounts(
    call: Node,
    config: VoteAccountsConfig = VoteAccountsConfig(),
) -> dict[str, Any]:
    """Every vote account; those of the validators are staked. Where validators do not vote, the
    newest block counts as voted on by them.
    """
    bank = call.ledger.latest(config.commitment or Commitment.FINALIZED)
    distance = config.delinquent_slot_distance
    oldest = bank.slot - (_DELINQUENT_AFTER if distance is None else distance)
    answer: dict[str, Any] = {"current": [], "delinquent": []}
    staked = [validator.vote for validator in call.ledger.schedule.validators]
    others = (key for key, _ in bank.owned_by(VOTE) if key not in staked)
    for key in (*staked, *others):
        if config.vote_pubkey not in (None, key):
            continue
        shown = _shown(call, bank, key, staked=key in staked)
        if shown is None:
            continue
        if oldest < 0 or shown["lastVote"] > oldest:
            answer["current"].append(shown)
        elif shown["activatedStake"] or config.keep_unstaked_delinquents:
            answer["delinquent"].append(shown)
    return answer


def _shown(call: Node, bank: Bank, key: Pubkey, *, staked: bool) -> dict[str, Any] | None:
    info = vote_account(bank, key)
    if info is None:
        return None
    if call.options.votes or not staked:
        last = info["votes"][-1]["slot"] if info["votes"] else 0
        root = info["rootSlot"] or 0
    else:
        last, root = call.ledger.head.slot, call.ledger.root.slot
    earned = info["epochCredits"][-_CREDITS_SHOWN:]
    return {
        "activatedStake": STAKE_LAMPORTS if staked else 0,
        "commission": info["commission"],
        "epochCredits": [
            [each["epoch"], int(each["credits"]), int(each["previousCredits"])] for each in earned
        ],
        "epochVoteAccount": staked,
        "inflationRewardsCommissionBps": info["inflationRewardsCommissionBps"],
        "lastVote": last,
        "nodePubkey": info["nodePubkey"],
        "rootSlot": root,
        "votePubkey": str(key),
    }
