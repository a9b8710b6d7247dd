"""The ladder that an installation begins with; the admin edits it."""

from typing import Any

from django.db import migrations

LADDER = [(900, 300), (3600, 600), (86_400, 3600), (172_800, 3600)]
DEFAULT = 3600


def make_ladder(apps: Any, schema_editor: Any) -> None:
    ttl_class = apps.get_model("tipping", "TtlClass")
    for ttl_seconds, window_seconds in LADDER:
        ttl_class.objects.get_or_create(
            ttl_seconds=ttl_seconds,
            defaults={"window_seconds": window_seconds, "is_default": ttl_seconds == DEFAULT},
        )


class Migration(migrations.Migration):
    dependencies = [("tipping", "0001_initial")]
    operations = [migrations.RunPython(make_ladder, migrations.RunPython.noop)]
