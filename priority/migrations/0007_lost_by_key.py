import priority.submissions
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0003_simulation_jobs"),
        ("priority", "0006_looking_for_one"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="landingkeytally",
            index=models.Index(
                condition=models.Q(
                    (
                        "state__in",
                        [
                            priority.submissions.State["FAILED"],
                            priority.submissions.State["EXPIRED"],
                            priority.submissions.State["REFUSED"],
                        ],
                    )
                ),
                fields=["seconds", "start", "key", "count"],
                name="landing_keys_lost",
            ),
        ),
    ]
