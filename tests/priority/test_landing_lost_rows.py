"""Rows that the database has lost, as one whose standby took over before it had received them: the
lander that works on them writes them again.
"""

import pytest
from solders.keypair import Keypair

from priority.models import Attempt, Bundle, Submission
from tests.localnet.wallets import on_a_nonce
from tests.localnet_process import Localnet
from tests.patience import wait
from tests.priority.landing import accept, lander, reached, row, transfer_of, upstream
from tests.priority.odd_nodes import odd_node
from tests.priority.submitted import stored
from tests.priority.test_landing_bundles import accept_bundle
from tests.priority.test_landing_trouble import answered

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_being_sent_is_written_again_and_lands(followed: Localnet, payer: Keypair) -> None:
    with lander(followed):
        odd = upstream("odd", url=followed.url, is_enabled=False)
        with odd_node(lambda body: (200, answered("taken"))) as node:
            other = upstream("taker", url=node.url)
            signature = accept(on_a_nonce(followed, payer))
            before = reached(signature, "sent")
            # As a sequence of an older database does, it gives the key to another one.
            Submission.objects.filter(pk=before.pk).delete()
            foreign = stored(number=7, id=before.pk)
            again = wait(lambda: row(signature), "it is written again")
            assert again.pk != foreign.pk and again.state == "sent"
            assert again.accepted_at == before.accepted_at and again.sent_at == before.sent_at
            wait(lambda: Attempt.objects.filter(submission=again).exists(), "its attempts follow")
            type(odd).objects.filter(pk=odd.pk).update(is_enabled=True)
            type(other).objects.filter(pk=other.pk).update(is_enabled=False)
            landed = reached(signature, "landed", commitment="confirmed")
    assert landed.pk == again.pk and landed.slot
    foreign.refresh_from_db()
    assert (foreign.state, foreign.slot, foreign.tries) == ("received", None, 0)
    assert not foreign.attempts.exists()


def test_a_bundle_is_written_again_whole(followed: Localnet, payer: Keypair) -> None:
    with lander(followed), odd_node(lambda body: (200, answered("taken"))) as node:
        upstream("taker", url=node.url)
        signatures = accept_bundle(*(transfer_of(followed, payer) for _ in range(3)))
        wait(lambda: all(map(row, signatures)), "it is stored")
        Bundle.objects.all().delete()
        Submission.objects.all().delete()
        wait(lambda: all(map(row, signatures)), "it is stored again")
    bundle = Bundle.objects.get()
    found = [row(each) for each in signatures]
    assert [each.bundle_index for each in found if each and each.bundle == bundle] == [0, 1, 2]
