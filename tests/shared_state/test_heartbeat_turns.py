"""What several processes would do alike, one of them does."""

import pytest
from django.test import override_settings

from shared_state import heartbeats


@pytest.mark.usefixtures("empty_redis")
def test_of_those_that_ask_in_one_second_one_is_the_first() -> None:
    assert heartbeats.is_first("a")
    assert not heartbeats.is_first("a")
    assert heartbeats.is_first("b")


@pytest.mark.usefixtures("empty_redis")
def test_everybody_is_the_first_while_redis_is_away() -> None:
    with override_settings(REDIS_URL="unix:///nowhere.sock"):
        assert heartbeats.is_first("a")
        assert heartbeats.is_first("a")
