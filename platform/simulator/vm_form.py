"""The form of a transaction that the VM runs, with the same result as on the chain.

The VM takes the message's own blockhash for the bank's last one, which is what programs that
advance a nonce write: so every transaction is rebound to the previous blockhash.

Of version 1 the VM knows the message, but not the settings in it. Its limits are set on the VM
instead, and its priority fee is taken from the payer beforehand. The VM also reads Compute Budget
instructions in it, which mean nothing there: those that would not suit the VM are altered, and
where that is not possible (it takes one of each of the four kinds) the System program stands in
for them by an instruction of as many units that does nothing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from solders.hash import Hash
from solders.instruction import CompiledInstruction
from solders.message import Message, MessageHeader, MessageV0, MessageV1
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from chain.addresses import COMPUTE_BUDGET, ED25519, SECP256K1, SECP256R1, SYSTEM
from chain.transaction_limits import limits_of
from simulator.errors import EngineFault
from simulator.machine import LOG_BYTES
from simulator.parts import AnyMessage, Parts

# The four kinds, as the VM takes them without any effect on the fee: a heap of 32 KiB, no units,
# no price, one byte of accounts. The limits set on the VM override the others.
_HARMLESS = {
    1: b"\1" + (32 * 1024).to_bytes(4, "little"),
    2: b"\2" + bytes(4),
    3: b"\3" + bytes(8),
    4: b"\4" + (1).to_bytes(4, "little"),
}
_HEAPS = range(32 * 1024, 256 * 1024 + 1, 1024)
# The payer, who belongs to the System program, is assigned to it once more.
_NOTHING = (1).to_bytes(4, "little") + bytes(32)
# Precompiles log nothing.
_SILENT = frozenset({SECP256K1, ED25519, SECP256R1})
_INVOKED = re.compile(r"Program \w+ invoke \[1\]")


class VmForm(NamedTuple):
    """The transaction for the VM. `stand_ins` are instructions that the System program does
    nothing for, in place of the Compute Budget program.
    """

    transaction: VersionedTransaction
    stand_ins: frozenset[int]


def vm_form(parts: Parts, blockhash: Hash) -> VmForm:
    """The form for the VM, bound to this blockhash; its signatures do not verify. EngineFault if
    there is none.
    """
    message = parts.message
    if not isinstance(message, MessageV1):
        if message.recent_blockhash == blockhash:
            return VmForm(parts.transaction, frozenset())
        return VmForm(_populated(parts, _rebound(parts, message, blockhash)), frozenset())
    header, keys, compiled = parts.header, parts.keys, parts.compiled
    budget = {
        index: data
        for index, (program, _, data) in enumerate(parts.instructions)
        if keys[program] == COMPUTE_BUDGET
    }
    altered = _altered(budget)
    stand_ins = frozenset(budget.keys() - altered.keys())
    if stand_ins:
        header, keys = _with_system(header, keys)
    if stand_ins or altered != budget:
        system = keys.index(SYSTEM) if stand_ins else 0
        compiled = [
            CompiledInstruction(system, _NOTHING, b"\0")
            if index in stand_ins
            else CompiledInstruction(
                each.program_id_index, altered.get(index, each.data), each.accounts
            )
            for index, each in enumerate(compiled)
        ]
    form = MessageV1(header, message.config, blockhash, keys, compiled)
    return VmForm(_populated(parts, form), stand_ins)


def original_logs(parts: Parts, stand_ins: frozenset[int], logs: Sequence[str]) -> list[str]:
    """The logs with the Compute Budget program where another stood in for it, and cut as by the
    node. `logs` are whole.
    """
    logging = [
        index
        for index, (program, _, _) in enumerate(parts.instructions)
        if parts.keys[program] not in _SILENT
    ]
    number, written = -1, 0
    system, budget = f"Program {SYSTEM} ", f"Program {COMPUTE_BUDGET} "
    lines: list[str] = []
    cut = False
    for line in logs:
        number += _INVOKED.fullmatch(line) is not None
        if logging[number] in stand_ins:
            line = line.replace(system, budget, 1)
        if written + len(line.encode()) < LOG_BYTES:
            written += len(line.encode())
            lines.append(line)
        elif not cut:
            cut = True
            lines.append("Log truncated")
    return lines


def _altered(budget: Mapping[int, bytes]) -> dict[int, bytes]:
    """The data of Compute Budget instructions as the VM takes them: as they are where possible,
    one of each kind; without those that are too many.
    """
    left = dict(_HARMLESS)
    altered: dict[int, bytes] = {}
    for index, data in budget.items():
        if data and data[0] in left and _is_harmless(data):
            altered[index] = data
            del left[data[0]]
    for index in [each for each in budget if each not in altered][: len(left)]:
        _, altered[index] = left.popitem()
    return altered


def _is_harmless(data: bytes) -> bool:
    """Whether the VM takes it without an effect."""
    kind, value = data[0], int.from_bytes(data[1 : len(_HARMLESS[data[0]])], "little")
    if len(data) < len(_HARMLESS[kind]):
        return False
    return {1: value in _HEAPS, 2: True, 3: value == 0, 4: value > 0}[kind]


def _with_system(header: MessageHeader, keys: list[Pubkey]) -> tuple[MessageHeader, list[Pubkey]]:
    if SYSTEM in keys:
        return header, keys
    if len(keys) == limits_of(1).keys:
        raise EngineFault("too many Compute Budget instructions beside too many keys")
    more = MessageHeader(
        header.num_required_signatures,
        header.num_readonly_signed_accounts,
        header.num_readonly_unsigned_accounts + 1,
    )
    return more, [*keys, SYSTEM]


def _rebound(parts: Parts, message: Message | MessageV0, blockhash: Hash) -> AnyMessage:
    if isinstance(message, MessageV0):
        return MessageV0(
            parts.header,
            message.account_keys,
            blockhash,
            parts.compiled,
            message.address_table_lookups,
        )
    return Message.new_with_compiled_instructions(
        parts.required,
        parts.readonly_signed,
        parts.readonly_unsigned,
        parts.keys,
        blockhash,
        parts.compiled,
    )


def _populated(parts: Parts, message: AnyMessage) -> VersionedTransaction:
    return VersionedTransaction.populate(message, parts.transaction.signatures)
