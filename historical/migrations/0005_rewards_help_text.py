"""The help text of a block's rewards."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("historical", "0004_gaps_that_cannot_be_had")]

    operations = [
        migrations.AlterField(
            "block",
            "rewards",
            models.BinaryField(help_text="JSON array; null if the source has none", null=True),
        )
    ]
