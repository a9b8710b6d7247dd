from django.db import migrations, models

import priority.submissions


class Migration(migrations.Migration):
    dependencies = [
        ("access", "0003_simulation_jobs"),
        ("priority", "0002_default_upstreams"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="bundle",
            index=models.Index(
                condition=models.Q(("settled_at__isnull", True)),
                fields=["id"],
                name="bundles_unsettled",
            ),
        ),
        migrations.AddIndex(
            model_name="submission",
            index=models.Index(
                condition=models.Q(
                    ("is_nonced", True),
                    (
                        "state__in",
                        [
                            priority.submissions.State["EXPIRED"],
                            priority.submissions.State["REFUSED"],
                        ],
                    ),
                ),
                fields=["id"],
                name="submissions_given_up",
            ),
        ),
    ]
