"""ARCHIVE_CLUSTER where there is no cluster: refused at the start, and nothing shown without it."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from config.environment.databases import database_of
from config.running.cluster import require_cluster
from config.running.engine import UnfitDatabase
from tests.cluster import citus_is_used

pytestmark = pytest.mark.skipif(citus_is_used(), reason="the suite's PostgreSQL is a cluster")


def test_a_database_without_the_extension_is_refused(db: None, settings: Any) -> None:
    require_cluster()
    settings.ARCHIVE_CLUSTER = "citus"
    with pytest.raises(UnfitDatabase, match="has no extension citus: "):
        require_cluster()


def test_a_migration_is_refused_there(db: None, settings: Any) -> None:
    settings.ARCHIVE_CLUSTER = "citus"
    with pytest.raises(UnfitDatabase):
        call_command("migrate", verbosity=0)


@pytest.mark.parametrize("command", ["cluster_status", "cluster_spread"])
def test_the_commands_say_what_is_missing(db: None, settings: Any, command: str) -> None:
    with pytest.raises(CommandError, match="ARCHIVE_CLUSTER"):
        call_command(command)
    settings.ARCHIVE_CLUSTER = "citus"
    with pytest.raises(CommandError, match="has no extension citus"):
        call_command(command)


def test_pg_dump_does_not_back_up_a_cluster(
    db: None, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ARCHIVE_CLUSTER = "citus"
    monkeypatch.setattr("config.management.commands.backup.is_embedded", lambda *_: False)
    with pytest.raises(CommandError, match="back up each node"):
        call_command("backup", str(tmp_path / "backup"))


def test_the_home_page_has_its_card_only_with_the_setting(admin_client: Any, settings: Any) -> None:
    assert b"Cluster" not in admin_client.get("/admin/").content
    settings.ARCHIVE_CLUSTER = "citus"
    page = admin_client.get("/admin/").content
    assert b"Cluster" in page and b"not all nodes respond" in page


def test_sessions_of_a_cluster_use_one_connection_to_a_node() -> None:
    url = "postgresql://tidemark@localhost/tidemark"
    single = database_of(url, statement_ms=1, lock_ms=1)["OPTIONS"]["options"]
    spread = database_of(url, statement_ms=1, lock_ms=1, cluster="citus")["OPTIONS"]["options"]
    assert "citus" not in single
    assert "-c citus.max_adaptive_executor_pool_size=1" in spread
    assert "-c citus.multi_shard_modify_mode=sequential" in spread
