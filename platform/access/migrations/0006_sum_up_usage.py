from django.db import migrations

# access.counted_calls.FREE, as it was when the sums began.
FREE = """
    'key_required', 'key_malformed', 'key_unknown', 'key_revoked', 'key_expired', 'key_suspended',
    'address_not_allowed', 'scope_missing', 'method_not_allowed', 'tier_too_low', 'rate_limited',
    'batch_above_limit', 'monthly_quota_reached', 'host_unknown', 'path_not_served',
    'http_method_not_allowed', 'body_too_large', 'body_unreadable', 'content_type_unsupported',
    'internal_error'
"""

# Calls that are being rolled up wait for the sums: they come into both tables, or into neither.
SUM_UP = f"""
    SET LOCAL statement_timeout = 0;
    SET LOCAL lock_timeout = 0;
    LOCK TABLE access_usageminute IN SHARE MODE;
    INSERT INTO access_usageday (key_id, method, status, day, calls, microseconds)
    SELECT key_id, method, status, (minute AT TIME ZONE 'UTC')::date,
           sum(calls), sum(microseconds)
    FROM access_usageminute GROUP BY 1, 2, 3, 4;
    INSERT INTO access_usagehour (method, status, hour, calls, microseconds)
    SELECT method, status, date_trunc('hour', minute, 'UTC'), sum(calls), sum(microseconds)
    FROM access_usageminute GROUP BY 1, 2, 3;
    INSERT INTO access_keyhour (key_id, hour, calls, ok)
    SELECT key_id, date_trunc('hour', minute, 'UTC'), sum(calls),
           coalesce(sum(calls) FILTER (WHERE status = 'ok'), 0)
    FROM access_usageminute WHERE minute > now() - interval '3 days' GROUP BY 1, 2;
    INSERT INTO access_keyday (key_id, day, calls, ok, counted)
    SELECT key_id, day, sum(calls),
           coalesce(sum(calls) FILTER (WHERE status = 'ok'), 0),
           coalesce(sum(calls) FILTER (WHERE status NOT IN ({FREE})), 0)
    FROM access_usageday GROUP BY 1, 2;
"""

EMPTY = "TRUNCATE access_usageday, access_usagehour, access_keyhour, access_keyday"


class Migration(migrations.Migration):
    """The sums of what was counted before there were any."""

    dependencies = [
        ("access", "0005_usage_by_key_and_minute"),
    ]

    operations = [migrations.RunSQL(SUM_UP, EMPTY)]
