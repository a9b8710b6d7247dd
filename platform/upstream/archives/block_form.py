"""Which optional fields a getBlock answer carries, so that it can be served as it was."""

from typing import Any

from chain.blocks import CURRENT_FORM, Form


def form_of(entries: list[dict[str, Any]]) -> Form:
    """The form of a block by its `transactions` (already checked); what none of them can show
    is taken as a node of today writes it.
    """
    metas = [entry["meta"] for entry in entries if entry.get("meta") is not None]
    if metas and not any("loadedAddresses" in meta for meta in metas):
        # Nodes wrote loaded addresses years before stack heights.
        return Form(0)
    top = [
        instruction
        for entry in entries
        if isinstance(entry["transaction"], dict)
        for instruction in entry["transaction"]["message"]["instructions"]
    ]
    inner = [
        instruction
        for meta in metas
        for group in meta.get("innerInstructions") or ()
        for instruction in group["instructions"]
    ]
    if not top and not inner:
        return CURRENT_FORM
    if not any("stackHeight" in instruction for instruction in top + inner):
        return Form.LOADED_ADDRESSES
    if top and not any(instruction.get("stackHeight") == 1 for instruction in top):
        return Form.LOADED_ADDRESSES | Form.STACK_HEIGHT
    return CURRENT_FORM
