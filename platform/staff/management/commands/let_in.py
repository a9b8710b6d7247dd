"""let_in: a way in for somebody of the staff who has none left."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from staff import audit, invitations, second_factor, sessions
from staff.roles import Role, give_role


class Command(BaseCommand):
    help = (
        "Prints a link with which a person chooses a password for the admin, once. For whoever"
        " nobody else can let in: the only administrator without a password or a phone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument(
            "--reset-second-factor",
            action="store_true",
            help="their app and recovery codes are void, and every session ends",
        )
        parser.add_argument(
            "--administrator", action="store_true", help="make them an administrator, and active"
        )

    @transaction.atomic
    def handle(self, *_: Any, username: str, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None and not options["administrator"]:
            raise CommandError(f"Nobody is called {username!r}; --administrator makes a new one")
        if user is None:
            user = User(username=username, is_staff=True)
            user.set_unusable_password()
            user.save()
            audit.record(None, "added", user)
        if not user.is_staff:
            raise CommandError(f"{username!r} is a customer's portal user, and stays one")
        if options["administrator"]:
            user.is_active = True
            user.save(update_fields=["is_active"])
            give_role(user, Role.ADMINISTRATOR, by=None)
            audit.record(None, "made an administrator", user)
        if options["reset_second_factor"]:
            second_factor.remove(user)
            sessions.sign_out_everywhere(user, timezone.now())
            audit.record(None, "reset the second factor", user)
        if not user.is_active:
            raise CommandError(f"{username!r} is deactivated; --administrator activates")
        link = invitations.link_for(user)
        audit.record(None, "made a password link", user)
        self.stdout.write(f"Good once, for {invitations.days()} days:\n{link}")
