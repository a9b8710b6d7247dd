"""Which secret signs this installation's backups."""

from pathlib import Path

from django.conf import settings

from config.backup.seals import BadBackup, signing_key


def own_backup_key() -> bytes:
    """From the file of BACKUP_KEY_FILE, else from SECRET_KEY. Raises BadBackup."""
    if settings.BACKUP_KEY_FILE:
        return read_backup_key(Path(settings.BACKUP_KEY_FILE))
    return signing_key(settings.SECRET_KEY)


def read_backup_key(path: Path) -> bytes:
    """The key from the secret in a file. Raises BadBackup; no error shows the secret."""
    try:
        secret = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise BadBackup(f"{path} cannot be read as a key: {reason}") from None
    if len(secret) < 16:
        raise BadBackup(f"{path} holds no key: expected at least 16 characters")
    return signing_key(secret)
