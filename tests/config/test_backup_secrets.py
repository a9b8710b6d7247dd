"""What a reader of a backup learns: no secret in clear but those that are named here."""

import gzip
import json
import re
from base64 import b32encode, b64encode, urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import models
from django.test import Client
from django.utils import timezone

from config.backup.seals import BadBackup, check_seal, decrypted, encrypted, signing_key
from tests.config.test_backup import manage
from tests.databases import this_database

# Texts and bytes by whose names a secret may be meant, and what is stored in them. A new field of
# such a name has to be entered; one that holds a secret has to be digested or sealed as well, or
# docs/deployment.md has to say that it is in clear.
_SUSPECT = re.compile(
    r"secret|token|passw|seed|private|credential|session|sealed|signer|digest|nonce|code|auth"
    r"|(^|_)keys?$|(^|_)urls?$|(^|_)uri$|header|cookie|salt|pin$"
)
_DIGEST, _SEALED, _CLEAR, _ABSENT = "digest", "sealed", "in clear", "left out"
FIELDS = {
    "access.ApiKey.digest": _DIGEST,
    "alerts.Webhook.sealed_previous": _SEALED,
    "alerts.Webhook.sealed_secret": _SEALED,
    "alerts.Webhook.url": _CLEAR,
    "auth.User.password": _DIGEST,
    "management.KeptResponse.sealed": _SEALED,
    "management.ManagementKey.digest": _DIGEST,
    "otp_static.StaticToken.token": _DIGEST,
    "otp_totp.TOTPDevice.key": _SEALED,
    "priority.Upstream.url": _CLEAR,
    "sessions.Session.session_data": _ABSENT,
    "sessions.Session.session_key": _ABSENT,
}
# Fields of such a name without a secret: digests of public data, keys of the chain, and the like.
NO_SECRETS = {
    "auth.Permission.codename",
    "historical.SealedRange.keys",
    "management.KeptResponse.request_digest",
    "priority.Submission.nonce",
    "priority.Submission.nonce_signers",
    "rewind.ProgramBuild.code",
    "rewind.ProgramBuild.code_key",
    "rewind.ProgramBuild.digest",
    "rewind.ReplayBuild.code",
    "rewind.ReplayBuild.digest",
    "rewind.SealedSegment.digest",
    "staff.AuditCheck.digest",
    "staff.AuditCheck.round_digest",
    "staff.AuditEntry.digest",
}
_TEXTS = (models.CharField, models.TextField, models.BinaryField, models.JSONField)


def suspects() -> set[str]:
    return {
        f"{model._meta.app_label}.{model.__name__}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.local_fields
        if isinstance(field, _TEXTS) and _SUSPECT.search(field.name)
    }


def test_each_field_of_a_secrets_name_is_known() -> None:
    known = FIELDS.keys() | NO_SECRETS
    assert suspects() - known == set(), "enter it, and test_a_backup_has_no_secret_in_clear"
    assert known - suspects() == set(), "it is gone"


def spellings(secret: bytes) -> set[bytes]:
    """As what a secret may stand in a file."""
    return {
        secret,
        secret.hex().encode(),
        secret.hex().upper().encode(),
        b32encode(secret).rstrip(b"="),
        b64encode(secret).rstrip(b"="),
        urlsafe_b64encode(secret).rstrip(b"="),
    }


def contents(folder: Path) -> bytes:
    """All files, those of pg_dump decompressed."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return b"\n".join(
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in files
    )


@pytest.fixture
def planted(transactional_db: None, empty_redis: None, tmp_path: Path) -> dict[str, bytes]:
    """Every secret that there is, as its holder knows it, by the name of its field or file."""
    from access.models import Customer, Tier
    from access.services.keys import issue_key
    from alerts.services import webhooks
    from management.services import management_keys, repeats
    from portal.services import mails, members
    from portal.services.links import Purpose
    from priority.upstreams.models import Upstream
    from staff import second_factor
    from staff.models import App

    customer = Customer.objects.create(name="Ada")
    tier, _ = Tier.objects.get_or_create(name="backed up", defaults={"rank": 10})
    hook = webhooks.create(
        customer.pk, name="hook", url="https://hooks.example/services/url-with-a-secret"
    )
    before = webhooks.secret_of(hook)
    after = webhooks.rotate_secret(hook.pk, now=timezone.now())
    member = members.invite(customer, email="ada@ada.example", role="owner")
    invitation = mails.link_of(member.user, Purpose.INVITATION).rstrip("/").rpartition("/")[2]
    members.choose_password(member.user, "a password of the portal")
    device = App.new(member.user, confirmed=True)
    codes = second_factor.renew_recovery_codes(member.user)
    browser = Client()
    browser.force_login(member.user)
    Upstream.objects.create(
        name="engine-by-name", kind="block_engine", url="https://u:engine-pass@e.example"
    )
    now = timezone.now()
    root = management_keys.issue(name="robot", scopes=["keys:write"], created_by="grace", now=now)
    repeats.begin(root.key.pk, "once", b"a request", now=now)
    repeats.keep(root.key.pk, "once", repeats.Kept(201, {"secret": "shown-only-once"}, {}))
    run_dir = tmp_path / "made-in"
    run_dir.mkdir(mode=0o700)
    (run_dir / "credentials.json").write_text(json.dumps({"admin": {"password": "the-demo-login"}}))
    return {
        "access.ApiKey.digest": issue_key(customer, tier=tier, name="bot").secret.encode(),
        "alerts.Webhook.sealed_previous": before.encode(),
        "alerts.Webhook.sealed_secret": after.encode(),
        "alerts.Webhook.url": b"url-with-a-secret",
        "auth.User.password": b"a password of the portal",
        "management.KeptResponse.sealed": b"shown-only-once",
        "management.ManagementKey.digest": root.secret.encode(),
        "otp_static.StaticToken.token": codes[0].replace("-", "").encode(),
        "otp_totp.TOTPDevice.key": device.bin_key,
        "priority.Upstream.url": b"engine-pass",
        "sessions.Session.session_data": browser.session["_auth_user_hash"].encode(),
        "sessions.Session.session_key": str(browser.session.session_key).encode(),
        "a link": invitation.encode(),
        "credentials.json": b"the-demo-login",
    }


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "backup-key"
    path.write_text("a secret that is in no backup\n")
    return path


@pytest.fixture
def made(tmp_path: Path, planted: dict[str, bytes], key_file: Path) -> Iterator[Path]:
    """The folder of a backup whose key is in no backup."""
    folder = tmp_path / "backup"
    given = {"DATABASE_URL": this_database(), "BACKUP_KEY_FILE": str(key_file)}
    done = manage(tmp_path / "made-in", "backup", str(folder), **given)
    assert done.returncode == 0, done.stderr
    yield folder


def test_a_backup_has_no_secret_in_clear(
    tmp_path: Path, planted: dict[str, bytes], made: Path, key_file: Path
) -> None:
    assert planted.keys() >= FIELDS.keys()
    run_dir = tmp_path / "made-in"
    kept = {name: (run_dir / name).read_bytes().strip() for name in ("secret_key", "tip_seed")}
    secrets = planted | kept | {"the seed": bytes.fromhex(kept["tip_seed"].decode())}
    everything = contents(made)
    found = {
        name for name, secret in secrets.items() if any(s in everything for s in spellings(secret))
    }
    assert found == {name for name, how in FIELDS.items() if how == _CLEAR}
    assert b"ada@ada.example" in everything, "the rows are there"

    # With the key alone, all is there again; sessions begin anew.
    new = tmp_path / "new"
    empty = manage(new, "restore", str(made), "--unsigned")
    assert empty.returncode != 0 and "is encrypted: it needs the backup's key" in empty.stderr
    done = manage(new, "restore", str(made), "--key-file", str(key_file))
    assert done.returncode == 0, done.stderr
    for name in ("secret_key", "tip_seed", "credentials.json"):
        assert (new / name).read_bytes() == (run_dir / name).read_bytes(), name


def test_a_key_that_is_in_the_backup_hides_nothing_and_pretends_nothing(
    tmp_path: Path, planted: dict[str, bytes]
) -> None:
    run_dir, folder = tmp_path / "made-in", tmp_path / "backup"
    done = manage(run_dir, "backup", str(folder), DATABASE_URL=this_database())
    assert done.returncode == 0, done.stderr
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["encrypted"] == []
    for name in ("secret_key", "tip_seed", "credentials.json"):
        assert (folder / name).read_bytes() == (run_dir / name).read_bytes()


def test_what_is_encrypted_is_read_by_its_key_and_under_its_name_alone() -> None:
    key, other = signing_key("a secret of this installation"), signing_key("another secret")
    hidden = encrypted(b"00" * 32, "tip_seed", key)
    assert decrypted(hidden, "tip_seed", key) == b"00" * 32
    assert encrypted(b"00" * 32, "tip_seed", key) != hidden
    wrong: list[tuple[bytes, str, Any]] = [
        (hidden, "tip_seed", other),
        (hidden, "secret_key", key),
        (hidden, "tip_seed", None),
        (hidden[:-1], "tip_seed", key),
        (hidden[:5], "tip_seed", key),
        (b"", "tip_seed", key),
        (bytes([hidden[0] ^ 1]) + hidden[1:], "tip_seed", key),
        (hidden + b"0", "tip_seed", key),
    ]
    for content, name, with_key in wrong:
        with pytest.raises(BadBackup, match="is encrypted"):
            decrypted(content, name, with_key)


def test_the_manifest_says_what_is_encrypted(made: Path, key_file: Path) -> None:
    """Signed: nobody can have a plain file of theirs taken for an encrypted one."""
    manifest = check_seal(made, signing_key(key_file.read_text()))
    assert set(manifest["encrypted"]) == {"secret_key", "tip_seed", "credentials.json"}
    text = (made / "manifest.json").read_text().replace('"tip_seed",', "", 1)
    (made / "manifest.json").write_text(text)
    with pytest.raises(BadBackup):
        check_seal(made, signing_key(key_file.read_text()))
