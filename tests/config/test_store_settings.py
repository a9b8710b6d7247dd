"""ARCHIVE_STORE and its options: what is refused at the start, and that no secret is shown."""

import pytest

from config.environment import store_env
from config.environment.env import BadEnvironment

_SECRET = "hunter2hunter2"


def options(monkeypatch, text, store="s3://bucket/prefix"):
    monkeypatch.setenv("X_OPTIONS", text)
    return store_env.options("X_OPTIONS", store)


@pytest.mark.parametrize(
    "url", ["s3://bucket/prefix", "gs://bucket", "az://container/a/b", "file:///srv/cold"]
)
def test_an_address_is_taken_without_its_last_slash(monkeypatch, url):
    monkeypatch.setenv("X_STORE", url + "/")
    assert store_env.address("X_STORE") == url


@pytest.mark.parametrize(
    "url",
    [
        "bucket",
        "https://host/path",
        "s3:///prefix",
        "file://host/folder",
        "file:///",
        f"s3://user:{_SECRET}@bucket/p",
        f"s3://bucket/p?key={_SECRET}",
        "s3://[bucket",
        "file:///srv/../etc",
    ],
)
def test_another_address_is_refused_without_its_text(monkeypatch, url):
    monkeypatch.setenv("X_STORE", url)
    with pytest.raises(BadEnvironment, match=r"^X_STORE: ") as caught:
        store_env.address("X_STORE")
    assert _SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        f"endpoint=http://127.0.0.1:9000, secret_access_key={_SECRET}, allow_http=true",
        '{"endpoint": "http://127.0.0.1:9000", "allow_http": true,'
        f' "secret_access_key": "{_SECRET}"}}',
    ],
)
def test_both_forms_of_options_say_the_same(monkeypatch, text):
    found = options(monkeypatch, text)
    assert found.for_client() == {"allow_http": "true"}
    assert found.for_store() == {
        "endpoint": "http://127.0.0.1:9000",
        "secret_access_key": _SECRET,
    }
    assert _SECRET not in f"{found} {found!r} {[found]}"


@pytest.mark.parametrize(
    ("text", "store"),
    [
        (f"acces_key={_SECRET}", "s3://b"),
        (f"secret_access_key={_SECRET}", "gs://b"),
        (f"secret_access_key={_SECRET}", ""),
        (f"region=x,{_SECRET}", "s3://b"),
        (f"{_SECRET} and more=1", "s3://b"),
        (f'{{"secret_access_key": "{_SECRET}"', "s3://b"),
        (f'{{"secret_access_key": ["{_SECRET}"]}}', "s3://b"),
        (f"endpoint=https://user:{_SECRET}@host", "s3://b"),
        ("endpoint=http://host:9000", "s3://b"),
        ("base_url=http://host:9000", "gs://b"),
        ("allow_http=true", "file:///srv"),
        (f"region=a,region={_SECRET}", "s3://bucket"),
    ],
)
def test_other_options_are_refused_without_their_values(monkeypatch, text, store):
    with pytest.raises(BadEnvironment, match=r"^X_OPTIONS: ") as caught:
        options(monkeypatch, text, store)
    assert _SECRET not in str(caught.value)
