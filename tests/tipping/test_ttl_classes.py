"""TTL classes: the defaults, and their changes in the admin."""

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError

from tipping.errors import DefaultClassRequired
from tipping.models import TtlClass
from tipping.services import ttl_classes as services

LIST = "/admin/tipping/ttlclass/"


@pytest.fixture
def staff(client, db):
    client.force_login(User.objects.create_superuser("admin", password="x"))
    return client


def ttl_classes():
    return list(TtlClass.objects.values_list("ttl_seconds", "window_seconds", "is_default"))


def test_the_default_classes_exist(db):
    assert ttl_classes() == [
        (900, 300, False),
        (3600, 600, True),
        (86400, 3600, False),
        (172800, 3600, False),
    ]


def test_the_database_holds_one_default(db):
    with pytest.raises(IntegrityError, match="one_default_ttl_class"):
        TtlClass.objects.create(ttl_seconds=5, window_seconds=5, is_default=True)


def test_a_new_default_takes_the_old_ones_place(staff):
    form = {"ttl_seconds": 60, "window_seconds": 30, "batch_size": 64, "is_default": "on"}
    assert staff.post(f"{LIST}add/", form).status_code == 302
    assert TtlClass.objects.get(is_default=True).ttl_seconds == 60
    page = staff.get(LIST).content.decode()
    assert "2 d" in page


def test_there_is_always_a_default_class(staff):
    default = TtlClass.objects.get(is_default=True)
    form = {"ttl_seconds": default.ttl_seconds, "window_seconds": 600}
    page = staff.post(f"{LIST}{default.pk}/change/", form)
    assert page.status_code == 200
    assert "This is the default class" in page.content.decode()
    assert staff.post(f"{LIST}{default.pk}/delete/", {"post": "yes"}).status_code == 403
    with pytest.raises(DefaultClassRequired):
        services.delete_ttl_class(default)
    assert TtlClass.objects.filter(is_default=True).count() == 1


@pytest.mark.parametrize(
    "form",
    [
        {"ttl_seconds": 0, "window_seconds": 5},
        {"ttl_seconds": 5, "window_seconds": 0},
        {"ttl_seconds": 3600, "window_seconds": 5},
        {"ttl_seconds": "soon", "window_seconds": 5},
    ],
)
def test_an_invalid_class_is_refused_with_a_message(staff, form):
    before = ttl_classes()
    page = staff.post(f"{LIST}add/", form)
    assert page.status_code == 200
    assert "errorlist" in page.content.decode() or "text-red" in page.content.decode()
    assert ttl_classes() == before
