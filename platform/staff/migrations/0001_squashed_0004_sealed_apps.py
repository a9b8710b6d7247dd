import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    replaces = [("staff", "0004_sealed_apps")]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("otp_totp", "0003_add_timestamps"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("who", models.CharField(help_text="the user's name at the time", max_length=150)),
                ("address", models.GenericIPAddressField(blank=True, null=True)),
                ("request_id", models.CharField(blank=True, max_length=100)),
                (
                    "verb",
                    models.CharField(
                        help_text="added, changed, deleted, signed in, …", max_length=40
                    ),
                ),
                (
                    "subject_type",
                    models.CharField(blank=True, help_text="app.model", max_length=80),
                ),
                ("subject_id", models.CharField(blank=True, max_length=100)),
                ("subject", models.CharField(blank=True, max_length=300)),
                ("text", models.TextField(blank=True)),
                (
                    "changes",
                    models.JSONField(
                        default=dict, help_text="{field: [before, after]}; no secrets"
                    ),
                ),
                (
                    "digest",
                    models.BinaryField(
                        help_text="SHA-256 over the entry before and this one's content",
                        max_length=32,
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "audit entry",
                "verbose_name_plural": "audit log",
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(fields=["subject_type", "subject_id"], name="audit_by_subject"),
                    models.Index(fields=["user", "-id"], name="audit_by_user"),
                    models.Index(fields=["at"], name="audit_by_time"),
                    models.Index(fields=["verb", "-id"], name="audit_by_verb"),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditCheck",
            fields=[
                (
                    "id",
                    models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False),
                ),
                (
                    "entry_id",
                    models.BigIntegerField(
                        default=0, help_text="the last entry that was looked at"
                    ),
                ),
                ("digest", models.BinaryField(default=bytes, max_length=32)),
                ("looked_at", models.DateTimeField(null=True)),
                ("whole_at", models.DateTimeField(null=True)),
                ("whole_to", models.BigIntegerField(default=0)),
                ("problem", models.CharField(blank=True, max_length=300)),
                ("round_digest", models.BinaryField(default=bytes, max_length=32)),
                (
                    "round_id",
                    models.BigIntegerField(
                        default=0, help_text="where the round is; 0: none goes on"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="one_check_of_the_audit_log"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SignOut",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="sign_out",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("before", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="App",
            fields=[],
            options={
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("otp_totp.totpdevice",),
        ),
        migrations.RunSQL(
            """
            CREATE FUNCTION staff_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                RAISE EXCEPTION 'the audit log is append-only';
            END $$;
            CREATE TRIGGER audit_entries_stay BEFORE UPDATE OR DELETE ON staff_auditentry
            FOR EACH STATEMENT EXECUTE FUNCTION staff_audit_is_append_only();
            CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON staff_auditentry
            FOR EACH STATEMENT EXECUTE FUNCTION staff_audit_is_append_only();
            """,
            "DROP FUNCTION staff_audit_is_append_only() CASCADE;",
        ),
    ]
