"""Tiers get a share of the landers' work; the first ones' doubles from tier to tier."""

import django.core.validators
from django.db import migrations, models

WEIGHTS = {"ultra": 2, "elite": 4, "epic": 8}


def weigh(apps, schema_editor):
    Tier = apps.get_model("access", "Tier")
    for name, weight in WEIGHTS.items():
        Tier.objects.filter(name=name).update(landing_weight=weight)


class Migration(migrations.Migration):
    dependencies = [("access", "0006_sum_up_usage")]
    operations = [
        migrations.AddField(
            model_name="tier",
            name="landing_weight",
            field=models.PositiveSmallIntegerField(
                default=1,
                help_text="share of the landers' work while submissions wait: with 4, four of this"
                " tier are sent for one of a tier with 1",
                validators=[
                    django.core.validators.MinValueValidator(1),
                    django.core.validators.MaxValueValidator(100),
                ],
            ),
        ),
        migrations.RunPython(weigh, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="tier",
            constraint=models.CheckConstraint(
                condition=models.Q(("landing_weight__gte", 1), ("landing_weight__lte", 100)),
                name="tier_landing_weight_is_1_to_100",
            ),
        ),
    ]
