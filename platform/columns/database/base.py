"""The backend's connection (Django looks for `DatabaseWrapper` here)."""

from typing import Any

from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper, OperationalError
from django.utils.functional import cached_property
from psycopg.errors import ReadOnlySqlTransaction

from columns import hung_server
from columns.clusters import COMMIT_FENCE
from columns.generations import Change, Generation


class _Errors(DatabaseErrorWrapper):
    """A server that is read-only is away for writers, as one whose disk is full: an
    OperationalError, where Django passes on an InternalError.
    """

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, ReadOnlySqlTransaction):
            raise OperationalError(*error.args).with_traceback(traceback) from error
        super().__exit__(kind, error, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    """Moves the generations that a transaction changes at its commit (columns.generations), and
    commits alone what lies on several nodes (columns.clusters). Statements do not wait for a server
    that hangs (columns.hung_server).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.changed: set[Generation] = set()
        self.commits_alone = False

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        hung_server.require_answers()
        raw = super().get_new_connection(conn_params)
        hung_server.watch(raw, conn_params)
        return raw

    @cached_property
    def wrap_database_errors(self) -> DatabaseErrorWrapper:
        return _Errors(self)

    def commit(self) -> None:
        self.validate_no_atomic_block()
        if self.commits_alone:
            self.commits_alone = False
            with self.wrap_database_errors:
                self.connection.execute(COMMIT_FENCE)
        changed, self.changed = self.changed, set()
        if not changed:
            super().commit()
            return
        with Change(changed):
            super().commit()

    def rollback(self) -> None:
        super().rollback()
        self._forget_changes()

    def close(self) -> None:
        super().close()
        self._forget_changes()

    def _forget_changes(self) -> None:
        self.changed.clear()
        self.commits_alone = False
