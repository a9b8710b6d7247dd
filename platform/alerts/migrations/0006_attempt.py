"""Try is called Attempt; its table keeps its name."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("alerts", "0005_last_problem")]

    operations = [
        migrations.AlterModelTable("Try", "alerts_try"),
        migrations.RenameModel("Try", "Attempt"),
    ]
