"""The Procfile: the service's processes, each a name and a command."""

import re
from pathlib import Path

_LINE = re.compile(r"^([A-Za-z0-9_-]+):\s*(.+)$", re.MULTILINE)


def commands_of(procfile: Path) -> dict[str, str]:
    """The command lines by their processes' names, in the file's order."""
    return dict(_LINE.findall(procfile.read_text(encoding="utf-8")))
