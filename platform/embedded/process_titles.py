"""What other accounts see of a process: its command line and environment in /proc (Linux)."""

import ctypes
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_PR_SET_NAME = 15
_PR_SET_MM = 35
_PR_SET_MM_MAP = 14
_NAME_BYTES = 15
# Fields of /proc/PID/stat, as proc(5) numbers them.
_START_CODE, _END_CODE, _START_STACK = 26, 27, 28
_START_DATA, _END_DATA, _START_BRK = 45, 46, 47

_NAMES = (
    *("start_code", "end_code", "start_data", "end_data", "start_brk", "brk", "start_stack"),
    *("arg_start", "arg_end", "env_start", "env_end"),
)


class _MemoryMap(ctypes.Structure):
    """struct prctl_mm_map of <linux/prctl.h>."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in _NAMES),
        ("auxv", ctypes.c_void_p),
        ("auxv_size", ctypes.c_uint32),
        ("exe_fd", ctypes.c_uint32),
    )


# The kernel reads them from our memory for as long as we live.
_shown: list[object] = []


def show_as(argv: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Shows these in place of what the process was executed with. False where the system cannot:
    it needs Linux with CONFIG_CHECKPOINT_RESTORE, and no privilege.
    """
    if sys.platform != "linux":
        return False
    arguments = b"".join(os.fsencode(each) + b"\0" for each in argv)
    variables = b"".join(os.fsencode(f"{name}={environment[name]}") + b"\0" for name in environment)
    size = len(arguments) + len(variables)
    memory = ctypes.create_string_buffer(arguments + variables, size)
    start = ctypes.addressof(memory)
    middle = start + len(arguments)
    libc = ctypes.CDLL(None)
    libc.sbrk.restype = ctypes.c_void_p
    libc.sbrk.argtypes = [ctypes.c_ssize_t]
    libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    try:
        stat = Path("/proc/self/stat").read_text(errors="replace")
        fields = ["", "", "", *stat.rpartition(")")[2].split()]
        found = [int(fields[number]) for number in (_START_CODE, _END_CODE, _START_DATA, _END_DATA)]
        brk = [int(fields[_START_BRK]), libc.sbrk(0), int(fields[_START_STACK])]
    except (OSError, ValueError, IndexError):
        return False
    new = _MemoryMap(*found, *brk, start, middle, middle, start + size, None, 0, 2**32 - 1)
    size_of_new = ctypes.sizeof(new)
    if libc.prctl(_PR_SET_MM, _PR_SET_MM_MAP, ctypes.addressof(new), size_of_new, 0) != 0:
        return False
    _shown[:] = [memory]
    name = ctypes.create_string_buffer(os.fsencode(Path(argv[0]).name)[:_NAME_BYTES])
    libc.prctl(_PR_SET_NAME, ctypes.addressof(name), 0, 0, 0)
    return True
