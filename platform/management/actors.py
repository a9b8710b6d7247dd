"""Who acts by the management API, as the audit log names them."""

from dataclasses import dataclass
from typing import ClassVar

from management.models import ManagementKey
from portal.models import Member


@dataclass(frozen=True, slots=True)
class Actor:
    """The holder of a management key: a member of a customer, or a program with a root key."""

    key: ManagementKey
    is_authenticated: ClassVar[bool] = True

    @property
    def member(self) -> Member | None:
        """The member whose token it is; None for a root key, which may act on everything."""
        return self.key.member

    @property
    def customer_id(self) -> int | None:
        return None if self.member is None else self.member.customer_id

    @property
    def pk(self) -> int | None:
        """The member's user, for the audit log."""
        return None if self.member is None else self.member.user_id

    def get_username(self) -> str:
        if self.member is None:
            return f"root key {self.key}"
        return f"{self.member} by token {self.key}"
