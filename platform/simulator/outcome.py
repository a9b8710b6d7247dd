"""Outcome: the result of a transaction, in the chain's terms."""

from dataclasses import dataclass, field
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one transaction.

    `err` is the TransactionError in the node's JSON form, None on success. `charged`: it would be
    in a block (executed, failed in an instruction, or fees-only); a transaction that is not charged
    (expired blockhash, a payer without funds, …) writes nothing. `fee` in lamports, sizes in bytes.
    `keys` are the static ones, then the loaded writable, then the loaded read-only; balances are in
    the same order. `writes` has every account that a node stores for the transaction, in the order
    of `keys`: on success all its writable accounts, on failure the fee payer (and an advanced
    nonce); a closed account has 0 lamports. `executed` is False if the VM did not run;
    `cost_units` is its cost in the block cost model.
    """

    err: Any | None
    charged: bool
    fee: int
    units_consumed: int = 0
    logs: list[str] = field(default_factory=list)
    inner_instructions: list[dict[str, Any]] = field(default_factory=list)
    return_data: dict[str, Any] | None = None
    loaded_accounts_data_size: int = 0
    keys: list[Pubkey] = field(default_factory=list)
    loaded_writable: list[Pubkey] = field(default_factory=list)
    loaded_readonly: list[Pubkey] = field(default_factory=list)
    pre_balances: list[int] = field(default_factory=list)
    post_balances: list[int] = field(default_factory=list)
    pre_token_balances: list[dict[str, Any]] = field(default_factory=list)
    post_token_balances: list[dict[str, Any]] = field(default_factory=list)
    writes: dict[Pubkey, Account] = field(default_factory=dict)
    executed: bool = True
    cost_units: int = 0

    def meta(self) -> dict[str, Any]:
        """The status meta in the standard node's JSON form."""
        answer: dict[str, Any] = {
            "err": self.err,
            "status": {"Ok": None} if self.err is None else {"Err": self.err},
            "fee": self.fee,
            "preBalances": self.pre_balances,
            "postBalances": self.post_balances,
            # A node has neither for a transaction that never ran.
            "innerInstructions": self.inner_instructions if self.executed else None,
            "logMessages": self.logs if self.executed else None,
            "preTokenBalances": self.pre_token_balances,
            "postTokenBalances": self.post_token_balances,
            "rewards": [],
            "loadedAddresses": {
                "writable": [str(key) for key in self.loaded_writable],
                "readonly": [str(key) for key in self.loaded_readonly],
            },
        }
        if self.return_data is not None:
            answer["returnData"] = self.return_data
        answer["computeUnitsConsumed"] = self.units_consumed
        answer["costUnits"] = self.cost_units
        return answer


def refused(err: Any, keys: list[Pubkey]) -> Outcome:
    """The outcome of a transaction that could not be in a block, because of `err`."""
    return Outcome(err=err, charged=False, fee=0, keys=keys, executed=False)
