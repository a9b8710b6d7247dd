"""The secrets of authenticator apps are encrypted (staff.models.App)."""

from base64 import b64decode, b64encode
from binascii import hexlify, unhexlify
from typing import Any

from django.db import migrations

from staff import sealing

_PURPOSE = "authenticator apps"


def _seal(apps: Any, _schema_editor: Any) -> None:
    for device in apps.get_model("otp_totp", "TOTPDevice").objects.all():
        sealed = sealing.seal(unhexlify(device.key), purpose=_PURPOSE)
        device.key = b64encode(sealed).decode()
        device.save(update_fields=["key"])


def _unseal(apps: Any, _schema_editor: Any) -> None:
    for device in apps.get_model("otp_totp", "TOTPDevice").objects.all():
        device.key = hexlify(sealing.unseal(b64decode(device.key), purpose=_PURPOSE)).decode()
        device.save(update_fields=["key"])


class Migration(migrations.Migration):
    dependencies = [
        ("otp_totp", "0003_add_timestamps"),
        ("staff", "0003_rounds_of_checks"),
    ]

    operations = [
        migrations.CreateModel(
            name="App",
            fields=[],
            options={
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("otp_totp.totpdevice",),
        ),
        migrations.RunPython(_seal, _unseal),
    ]
