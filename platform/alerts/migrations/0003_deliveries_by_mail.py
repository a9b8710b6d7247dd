from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0002_secrets_and_turns"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("mail_to", ""), _negated=True),
                fields=["mail_to", "-id"],
                name="deliveries_by_mail",
            ),
        ),
    ]
