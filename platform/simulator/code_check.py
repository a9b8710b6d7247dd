"""Whether a program's file can be loaded."""

from solders.pubkey import Pubkey

from chain.addresses import LOADER_2
from simulator.features import mainnet_features
from simulator.machine import bare_vm

_KEY = Pubkey(bytes([7]) * 32)


def load_fault(code: bytes) -> str | None:
    """Why the engine cannot load the ELF file; None if it can."""
    try:
        bare_vm(mainnet_features()).add_program_with_loader(_KEY, code, LOADER_2)
    except Exception as fault:  # the wheel does not export its class
        return str(fault)
    return None
