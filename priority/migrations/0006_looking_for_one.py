from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Landers go on writing while the indexes are built.
    atomic = False

    dependencies = [
        ("priority", "0005_landing_tallies"),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("request_id", ""), _negated=True),
                fields=["request_id"],
                name="submissions_by_request",
            ),
        ),
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("tip_address__isnull", False)),
                fields=["tip_address"],
                name="submissions_by_tip_address",
            ),
        ),
    ]
