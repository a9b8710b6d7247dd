"""Channels of the live feed: one installation's are not another's on the same Redis."""

from livefeed.messages import channels


def test_each_database_of_a_redis_has_channels_of_its_own() -> None:
    urls = ["redis://h:1", "redis://h:1/2", "unix:///x.sock?db=3", "rediss://:secret@h:1/4"]
    found = [channels(url) for url in urls]
    assert len({each.asks for each in found}) == len({each.hello for each in found}) == len(urls)
    assert channels("redis://h:1/0") == found[0]
