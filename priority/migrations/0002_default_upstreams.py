"""The ways out of an installation that follows one chain; the admin edits them."""

from typing import Any

from django.db import migrations

UPSTREAMS = [
    {"name": "leaders", "kind": "leaders"},
    {"name": "node", "kind": "node"},
    {"name": "engine", "kind": "block_engine", "own_tip_lamports": 10_000},
]


def make_upstreams(apps: Any, schema_editor: Any) -> None:
    upstream = apps.get_model("priority", "Upstream")
    for each in UPSTREAMS:
        upstream.objects.get_or_create(name=each["name"], defaults=each)


class Migration(migrations.Migration):
    dependencies = [("priority", "0001_landing")]
    operations = [migrations.RunPython(make_upstreams, migrations.RunPython.noop)]
