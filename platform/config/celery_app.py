"""The Celery app and its beat: every clock of the service."""

import os
import warnings

from celery import Celery
from celery.signals import beat_init, setup_logging

from config.workers import kombu_acks, task_connections  # noqa: F401  (a repair; what they keep open)
from config.workers.celery_worker import Progress
from shared_state import heartbeats

# Celery warns of root because of pickle, which settings.CELERY_ACCEPT_CONTENT does not accept; in a
# container root is who we are.
warnings.filterwarnings("ignore", "You're running the worker with superuser privileges")

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("tidemark")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["consumer"].add(Progress)

# A pool process keeps its database connection as a web thread does, for CONN_MAX_AGE: Celery would
# close it before and after each task, and opening one costs more than most tasks (SCRAM).
app.conf.CELERY_DB_REUSE_MAX = 1_000_000

# Work that runs transactions has a worker of its own: nothing that a clock started waits for it.
app.conf.task_routes = {
    "rewind.tasks.audit_replays": {"queue": "simulations"},
    "rewind.tasks.run_simulation_job": {"queue": "simulations"},
}

# Each entry expires with its own period: after a pause of the workers one run makes up for all.
app.conf.beat_schedule = {
    "roll-up-usage": {
        "task": "access.tasks.roll_up_usage",
        "schedule": 60.0,
        "options": {"expires": 60.0},
    },
    "send-notifications": {
        "task": "alerts.tasks.tell_people",
        "schedule": 2.0,
        "options": {"expires": 2.0},
    },
    "watch-keys": {
        "task": "alerts.tasks.watch_keys",
        "schedule": 60.0,
        "options": {"expires": 60.0},
    },
    "forget-alerts": {
        "task": "alerts.tasks.forget_alerts",
        "schedule": 3_600.0,
        "options": {"expires": 3_600.0},
    },
    "forget-usage": {
        "task": "access.tasks.forget_usage",
        "schedule": 600.0,
        "options": {"expires": 600.0},
    },
    "classify-slots": {
        "task": "ingest.tasks.classify_slots",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "settle-fates": {
        "task": "ingest.tasks.settle_fates",
        "schedule": 3.0,
        "options": {"expires": 3.0},
    },
    "learn-stakes": {
        "task": "ingest.tasks.learn_stakes",
        "schedule": 15.0,
        "options": {"expires": 15.0},
    },
    "fill-gaps": {
        "task": "ingest.tasks.fill_gaps",
        "schedule": 10.0,
        "options": {"expires": 10.0},
    },
    "work-off-orders": {
        "task": "ingest.tasks.work_off_orders",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "apply-retention": {
        "task": "ingest.tasks.apply_retention",
        "schedule": 60.0,
        "options": {"expires": 60.0},
    },
    "forget-submissions": {
        "task": "priority.tasks.forget_submissions",
        "schedule": 300.0,
        "options": {"expires": 300.0},
    },
    "count-landings": {
        "task": "priority.tasks.count_landings",
        "schedule": 20.0,
        "options": {"expires": 20.0},
    },
    "audit-replays": {
        "task": "rewind.tasks.audit_replays",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "resume-simulation-jobs": {
        "task": "rewind.tasks.resume_simulation_jobs",
        "schedule": 15.0,
        "options": {"expires": 15.0},
    },
    "forget-replays": {
        "task": "rewind.tasks.forget_replays",
        "schedule": 3_600.0,
        "options": {"expires": 3_600.0},
    },
    "rotate-tip-batches": {
        "task": "tipping.tasks.rotate_tip_batches",
        "schedule": 1.0,
        "options": {"expires": 1.0},
    },
    "prepare-tip-batches": {
        "task": "tipping.tasks.prepare_tip_batches",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "count-tips": {
        "task": "tipping.tasks.count_tips",
        "schedule": 30.0,
        "options": {"expires": 30.0},
    },
    "sweep-tips": {
        "task": "priority.tasks.sweep_tips",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "watch-over-service": {
        "task": "operations.tasks.watch_over_service",
        "schedule": 15.0,
        "options": {"expires": 15.0},
    },
    "check-sign-in-provider": {
        "task": "operations.tasks.check_sign_in_provider",
        "schedule": 60.0,
        "options": {"expires": 60.0},
    },
    "check-audit-log": {
        "task": "staff.tasks.check_audit_log",
        "schedule": 300.0,
        "options": {"expires": 300.0},
    },
    "forget-management-responses": {
        "task": "management.tasks.forget_responses",
        "schedule": 3_600.0,
        "options": {"expires": 3_600.0},
    },
    "forget-sessions": {
        "task": "staff.tasks.forget_sessions",
        "schedule": 3_600.0,
        "options": {"expires": 3_600.0},
    },
    "seal-archive": {
        "task": "rewind.tasks.seal_archive",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "prove-archive": {
        "task": "rewind.tasks.prove_archive",
        "schedule": 2.0,
        "options": {"expires": 2.0},
    },
    "count-stakes": {
        "task": "rewind.tasks.count_stakes",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "scrub-archive": {
        "task": "rewind.tasks.scrub_archive",
        "schedule": 10.0,
        "options": {"expires": 10.0},
    },
    "scrub-ledger": {
        "task": "historical.tasks.scrub_ledger",
        "schedule": 10.0,
        "options": {"expires": 10.0},
    },
    "repair-ledger": {
        "task": "ingest.tasks.repair_ledger",
        "schedule": 300.0,
        "options": {"expires": 300.0},
    },
    "move-archive": {
        "task": "rewind.tasks.move_archive",
        "schedule": 10.0,
        "options": {"expires": 10.0},
    },
    "seal-ledger": {
        "task": "historical.tasks.seal_ledger",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "index-segments": {
        "task": "rewind.tasks.index_segments",
        "schedule": 300.0,
        "options": {"expires": 300.0},
    },
}


@beat_init.connect
def _beat_is_alive(**_: object) -> None:
    heartbeats.start("beat", by_progress=True)


@setup_logging.connect
def _log_as_django_does(**_: object) -> None:
    """A receiver here makes Celery leave logging alone: settings.LOGGING holds everywhere."""
