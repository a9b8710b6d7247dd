"""Files for this account alone, read and written without following a link."""

import os
from io import BufferedReader, BufferedWriter
from pathlib import Path


def read_from(path: Path) -> BufferedReader:
    """The file, open for reading. Raises OSError, also where the name is a link."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


def write_new(path: Path) -> BufferedWriter:
    """A new file of mode 600, open for writing. Raises FileExistsError where the name is taken."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o600), "wb")
