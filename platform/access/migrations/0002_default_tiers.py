"""The tiers that an installation starts with; their limits are the administrator's to change."""

from django.db import migrations

# (name, rank, requests a second, bundles a second); a burst is one second's worth.
TIERS = [
    ("anonymous", 0, 5, None),
    ("basic", 10, 10, 5),
    ("ultra", 20, 50, 10),
    ("elite", 30, 200, 15),
    ("epic", 40, 500, 15),
]


def add(apps, schema_editor):
    Tier = apps.get_model("access", "Tier")
    for name, rank, requests, bundles in TIERS:
        Tier.objects.get_or_create(
            name=name,
            defaults={
                "rank": rank,
                "requests_per_second": requests,
                "requests_burst": requests,
                "bundles_per_second": bundles or 5,
                "bundles_burst": bundles or 5,
                "tip_fetches_per_second": 5,
                "tip_fetches_burst": 20,
            },
        )


class Migration(migrations.Migration):
    dependencies = [("access", "0001_initial")]
    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
