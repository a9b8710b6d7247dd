"""Gives a staff user access again, by a password link."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from staff import audit, invitations, second_factor
from staff.roles import Role, give_role


class Command(BaseCommand):
    help = (
        "Prints a link with which a staff user sets a password for the admin, once. For the only"
        " administrator who lost the password or the phone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument(
            "--reset-second-factor",
            action="store_true",
            help="void the app and recovery codes, and end every session",
        )
        parser.add_argument(
            "--administrator", action="store_true", help="make the user an active administrator"
        )

    @transaction.atomic
    def handle(self, *_: Any, username: str, **options: Any) -> None:
        user = User.objects.filter(username=username).first()
        if user is None and not options["administrator"]:
            raise CommandError(f"No user is called {username!r}; --administrator adds one")
        if user is None:
            user = User(username=username, is_staff=True)
            user.set_unusable_password()
            user.save()
            audit.record(None, "added", user)
        if not user.is_staff:
            raise CommandError(
                f"{username!r} is a customer's portal user and cannot join the staff"
            )
        if options["administrator"]:
            user.is_active = True
            user.save(update_fields=["is_active"])
            give_role(user, Role.ADMINISTRATOR, by=None)
            audit.record(None, "made an administrator", user)
        if options["reset_second_factor"]:
            second_factor.remove(user, timezone.now())
            audit.record(None, "reset the second factor", user)
        if not user.is_active:
            raise CommandError(f"{username!r} is deactivated; --administrator activates")
        link = invitations.link_for(user)
        audit.record(None, "made a password link", user)
        self.stdout.write(f"Valid once, for {invitations.days()} days:\n{link}")
