"""Plain names for the models of counts; their tables keep their names."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("priority", "0007_lost_by_key"),
    ]

    operations = [
        migrations.AlterModelTable(name="landingtally", table="priority_landingtally"),
        migrations.AlterModelTable(name="landingkeytally", table="priority_landingkeytally"),
        migrations.RenameModel(old_name="LandingTally", new_name="LandingCount"),
        migrations.RenameModel(old_name="LandingKeyTally", new_name="LandingKeyCount"),
        migrations.RenameIndex(
            model_name="landingcount",
            old_name="landing_tallies_by_step",
            new_name="landing_counts_by_step",
        ),
        migrations.AlterField(
            model_name="attempt",
            name="number",
            field=models.PositiveIntegerField(help_text="its number within the submission, from 1"),
        ),
        migrations.AlterField(
            model_name="upstream",
            name="url",
            field=models.CharField(
                blank=True,
                help_text="of the node that reports the leaders, of the node, or of the block"
                " engine; empty: those of the followed chain (the block engine: localnet's)",
                max_length=500,
                verbose_name="URL",
            ),
        ),
    ]
