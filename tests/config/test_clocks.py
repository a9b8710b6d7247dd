"""The beat: every clock names a task that a worker knows."""

from config.celery_app import app


def test_every_clock_names_a_task_that_exists() -> None:
    app.loader.import_default_modules()
    named = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert named
    assert named <= app.tasks.keys()


def test_a_long_task_is_never_given_to_a_second_worker() -> None:
    waited = app.conf.broker_transport_options["visibility_timeout"]
    assert waited > app.conf.task_time_limit
