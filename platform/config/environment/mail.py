"""Where mails go: a server named by one address, or files."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from config.environment.env import BadEnvironment

_PORTS = {"smtp": 587, "smtps": 465}
_LOCAL = {"localhost", "127.0.0.1", "::1"}


def mail_settings(url: str, folder: Path) -> dict[str, Any]:
    """The parts of EMAIL_URL: smtp://user:password@host:587 speaks STARTTLS (not to this machine
    itself), smtps://host:465 speaks TLS at once. Without one, each mail is a file in the folder.
    Raises BadEnvironment, without the text: there may be a password in it.
    """
    backend = "django.core.mail.backends."
    found: dict[str, Any] = {"backend": backend + "filebased.EmailBackend", "folder": str(folder)}
    found |= {"host": "", "port": 25, "user": "", "password": "", "starttls": False, "tls": False}
    if not url:
        return found
    try:
        parts = urlsplit(url)
        good = parts.scheme in _PORTS and bool(parts.hostname)
        port = parts.port or _PORTS.get(parts.scheme, 25)
    except ValueError:
        good = False
    if not good:
        raise BadEnvironment("EMAIL_URL: expected smtp://user:password@host:587 or smtps://host")
    return found | {
        "backend": backend + "smtp.EmailBackend",
        "folder": None,
        "host": parts.hostname,
        "port": port,
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "starttls": parts.scheme == "smtp" and parts.hostname not in _LOCAL,
        "tls": parts.scheme == "smtps",
    }
