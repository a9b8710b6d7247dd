"""The form of a key."""

from hypothesis import given
from hypothesis import strategies as st

from access import key_text


def test_a_new_key_is_well_formed_and_shows_only_its_ends() -> None:
    new = key_text.new_key()
    assert key_text.is_well_formed(new.secret)
    assert new.secret.startswith(new.shown_prefix) and new.secret.endswith(new.last_four)
    assert len(new.shown_prefix) + len(new.last_four) < len(new.secret) / 2
    assert new.digest == key_text.digest_of(new.secret) and len(new.digest) == 32


def test_keys_do_not_repeat() -> None:
    assert len({key_text.new_key().secret for _ in range(1000)}) == 1000


@given(st.integers(0, key_text.LENGTH - 1), st.sampled_from("0aZ_~ é"))
def test_one_wrong_character_is_noticed(position: int, character: str) -> None:
    secret = key_text.new_key().secret
    typo = secret[:position] + character + secret[position + 1 :]
    assert key_text.is_well_formed(typo) == (typo == secret)


@given(st.text(max_size=80))
def test_foreign_text_is_refused(text: str) -> None:
    assert not key_text.is_well_formed(text)
    assert len(key_text.digest_of(text)) == 32
