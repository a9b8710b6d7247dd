from django.db import migrations, models

# access.counted_calls, as it was when the sums got their kinds.
FAILED = """
    'archive_damaged', 'archive_store_unavailable', 'chain_not_followed', 'database_full',
    'database_unavailable', 'engine_fault', 'fates_unavailable', 'head_moved',
    'internal_error', 'interrupted', 'landing_behind', 'landing_stalled', 'missed_some',
    'overloaded', 'queue_full', 'queue_unavailable', 'redis_full', 'redis_unavailable',
    'remote_history_damaged', 'remote_history_unavailable', 'request_failed',
    'sealed_data_damaged', 'simulation_lost', 'simulation_timeout', 'sockets_unavailable',
    'stream_unavailable', 'tip_addresses_unread', 'unavailable', 'upstream_answer_unreadable',
    'upstream_busy', 'upstream_timeout', 'upstream_unreachable', 'upstreams_unread'
"""
REFUSED = """
    'address_not_allowed', 'batch_above_limit', 'body_too_large', 'body_unreadable',
    'content_type_unsupported', 'handshake_invalid', 'handshake_malformed', 'head_too_large',
    'host_required', 'host_unknown', 'http_method_not_allowed', 'key_expired',
    'key_malformed', 'key_required', 'key_revoked', 'key_suspended', 'key_unknown',
    'message_timed_out', 'method_not_allowed', 'monthly_bytes_reached',
    'monthly_quota_reached', 'no_upstream_node', 'notifications_above_limit',
    'path_not_served', 'quota_exceeded', 'rate_limited', 'remote_history_busy',
    'request_malformed', 'request_timed_out', 'scope_missing', 'service_stops',
    'subscription_limit_reached', 'tier_too_low', 'too_many_at_once', 'too_many_connections',
    'too_many_jobs', 'too_many_sockets', 'too_many_streams', 'too_slow', 'unauthorized'
"""

_SUMS = f"""
    coalesce(sum(calls) FILTER (
        WHERE method NOT LIKE '%Notification' AND status NOT IN ({FAILED}, {REFUSED})), 0) AS counted,
    coalesce(sum(calls) FILTER (
        WHERE method NOT LIKE '%Notification' AND status IN ({REFUSED})), 0) AS refused,
    coalesce(sum(calls) FILTER (
        WHERE method NOT LIKE '%Notification' AND status IN ({FAILED})), 0) AS failed
"""
_SET = "counted = found.counted, refused = found.refused, failed = found.failed"

# Calls that are being rolled up wait, so that none is left out of a sum.
SORT = f"""
    SET LOCAL statement_timeout = 0;
    SET LOCAL lock_timeout = 0;
    LOCK TABLE access_usageminute IN SHARE MODE;
    UPDATE access_keyday AS sums SET {_SET} FROM (
        SELECT key_id, day, {_SUMS} FROM access_usageday GROUP BY 1, 2
    ) AS found
    WHERE found.day = sums.day AND coalesce(found.key_id, 0) = coalesce(sums.key_id, 0);
    UPDATE access_keyhour AS sums SET {_SET} FROM (
        SELECT key_id, date_trunc('hour', minute, 'UTC') AS hour, {_SUMS}
        FROM access_usageminute WHERE minute > now() - interval '4 days' GROUP BY 1, 2
    ) AS found
    WHERE found.hour = sums.hour AND coalesce(found.key_id, 0) = coalesce(sums.key_id, 0);
"""


class Migration(migrations.Migration):
    """Sums of keys by the kind of call; failures of the service leave the count of their month."""

    dependencies = [
        ("access", "0010_find_indexes"),
    ]

    operations = [
        migrations.AddField(
            model_name="keyday",
            name="refused",
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="keyday",
            name="failed",
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="keyhour",
            name="counted",
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="keyhour",
            name="refused",
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="keyhour",
            name="failed",
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.RunSQL(SORT, migrations.RunSQL.noop),
    ]
