"""Words on what a replay rests on, and on why there is none: for people, with what to do."""

from typing import NamedTuple

from jsonrpc.errors import RpcError
from rewind.replay.services.replays.results import Json, Proof
from staff.formatting import badge, counted, shortened, slot_range


class Words(NamedTuple):
    """What it means, and what to do about it; either may be empty."""

    meaning: str
    advice: str


_FILL = "Wait until the slots are filled in, or run it at a slot that the archive has whole."
_OPERATOR_FILLS = (
    "The operator of this service can fill the slots in; or let the replay use what was known"
    " before them."
)
_BUILD = (
    "Upload the build that ran at that time and choose it below, or ask the operator to put it on"
    " the shelf."
)
# By the reason of a refusal, or of a verdict.
REASONS = {
    "slot_in_archive_gap": Words("These slots are missing in the archive.", _OPERATOR_FILLS),
    "writes_incomplete": Words(
        "Of the slot the archive knows the last write of each account alone, not the state between"
        " its transactions.",
        "Run it at the end of the slot before, or ask the operator to fill the slot in from a"
        " source with every write.",
    ),
    "state_not_recorded": Words(
        "The archive has no record of an account that the transaction loads: it was written before"
        " the archive began.",
        "Give the account's balance, owner and data in the form; or ask the operator for a snapshot"
        " from before the slot.",
    ),
    "filtered_account": Words(
        "The archive does not follow an account that the transaction loads.",
        "Give the account's balance, owner and data in the form.",
    ),
    "slot_too_new": Words("The slot is not archived yet.", "Try again in a moment."),
    "slot_too_old": Words("The slot is below the archive's window.", "Choose a later slot."),
    "unknown_signature": Words(
        "The ledger of this service does not have the transaction.",
        "A transaction that is in no block has no place to run at. If it is in one, wait until the"
        " block is finalized and stored.",
    ),
    "transaction_index_out_of_range": Words(
        "The block has no transaction of that index.", "Choose a smaller index, or none."
    ),
    "bad_override": Words("A change is none that an account can have.", "Correct the change."),
    "override_without_effect": Words(
        "A change can have no effect on the transaction.", "Take the change back."
    ),
    "archive_damaged": Words(
        "Stored data are damaged and are never served.",
        "Report it to the operator: it can be repaired.",
    ),
    "archive_store_unavailable": Words("Cold storage cannot be read at the moment.", "Try again."),
    "sealed_data_damaged": Words(
        "Stored data are damaged and are never served.",
        "Report it to the operator: it can be repaired.",
    ),
    "engine_fault": Words("The engine could not run it.", "Try again, then ask the operator."),
    "simulation_timeout": Words("The run took longer than it may.", "Try again."),
    "simulation_lost": Words("The run was lost.", "Try again."),
    "program_build_unknown": Words(
        "The build of a program that it calls is not known for that slot.", _BUILD
    ),
    "engine_older_rules": Words(
        "The slot followed rules of the network that the engine no longer has in full.",
        "Take units and logs with care.",
    ),
    "engine_missing_rules": Words(
        "The chain has rules that the engine of this version does not have.",
        "Take units, logs and the outcome with care, and ask the operator to upgrade.",
    ),
    "behind_a_gap": Words(
        "An account that it loads may have been written in slots that are missing in the archive.",
        _FILL,
    ),
    "no_meta": Words(
        "The ledger's source recorded no outcome of it: there is nothing to compare with.", ""
    ),
    "not_in_ledger": Words("The ledger does not have it: there is nothing to compare with.", ""),
}
_FIELDS = {
    "err": "error",
    "fee": "fee",
    "computeUnitsConsumed": "compute units",
    "logs": "logs",
    "innerInstructions": "inner calls",
    "returnData": "return data",
    "preBalances": "balances before",
    "postBalances": "balances after",
    "preTokenBalances": "token balances before",
    "postTokenBalances": "token balances after",
    "loadedAddresses": "looked-up addresses",
    "accounts": "written accounts",
}
_RULES = {"feature": "Feature", "program": "Program of native code", "sysvar": "Sysvar"}
_CAUSES = {
    "gap": "may have been written in slots {slots}, which are missing",
    "last_writes_only": "are known by their last writes alone in slots {slots}",
    "not_recorded": "have no record in the archive",
    "filtered": "are not followed by the archive",
}


def refusal(error: RpcError) -> dict[str, str]:
    """For a note: what was refused in the service's words, what that means and what to do."""
    words = REASONS.get(error.reason, Words("", ""))
    return {"text": error.message, "meaning": words.meaning, "advice": words.advice}


def field_names(fields: list[str]) -> str:
    return ", ".join(dict.fromkeys(_FIELDS.get(each, each) for each in fields))


def proof(found: Proof) -> dict[str, object]:
    """What the run without changes says of this one: a badge, and a sentence."""
    words = REASONS.get(found.reason or "", Words((found.reason or "").replace("_", " "), ""))
    if found.status == "verified":
        text = (
            "Without changes, at its own place, the replay gives what the chain recorded in every"
            " field."
        )
        return {"badge": badge("verified", "good"), "text": text, "advice": ""}
    if found.status == "diverged":
        text = (
            "Without changes, at its own place, the replay already differs from the chain in:"
            f" {field_names(found.fields)}. {words.meaning}"
        )
        advice = words.advice or "Take the outcome with care, and report it to the operator."
        return {"badge": badge("diverged", "bad"), "text": text.strip(), "advice": advice}
    text = f"The replay without changes could not be held against the chain. {words.meaning}"
    return {"badge": badge("unverified", "warning"), "text": text, "advice": words.advice}


def missing_rule(entry: Json) -> dict[str, str]:
    """A rule that the engine does not have: its kind, its address, and Agave's name for it."""
    return {
        "kind": _RULES[entry["kind"]],
        "address": entry["address"],
        "name": entry["name"] or "",
    }


def causes(completeness: Json) -> list[dict[str, object]]:
    """Why the state that it ran on may have been another, a line for each cause."""
    found: list[dict[str, object]] = []
    for each in completeness.get("causes", ()):
        first = each.get("from_slot", each.get("fromSlot"))
        last = each.get("to_slot", each.get("toSlot"))
        text = _CAUSES[each["cause"]].format(slots=slot_range(first, last))
        accounts = each.get("accounts") or []
        found.append(
            {
                "text": f"{counted(len(accounts), 'account')} {text}",
                "accounts": [shortened(key) for key in accounts[:8]],
                "more": max(0, len(accounts) - 8),
            }
        )
    return found
