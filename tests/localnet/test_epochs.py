"""An epoch's end: the clock, the schedule and the stake history go on."""

import base64

from solders.stake_history import StakeHistory

from chain import addresses
from tests.localnet_process import running_localnet


def test_an_epoch_ends() -> None:
    with running_localnet(LOCALNET_EPOCH_SLOTS=32, LOCALNET_SLOT_MS=15) as localnet:
        newest = localnet.wait_for_slot(70)
        info = localnet.call("getEpochInfo")
        assert info["epoch"] == info["absoluteSlot"] // 32 >= 2
        assert info["slotIndex"] == info["absoluteSlot"] % 32
        first = next(slot for slot in range(32, newest) if localnet.call("getBlocks", slot, slot))
        written = {each["pubkey"] for each in localnet.call("getAccountWrites", first)}
        assert str(addresses.STAKE_HISTORY) in written
        later = {each["pubkey"] for each in localnet.call("getAccountWrites", first + 1)}
        assert str(addresses.STAKE_HISTORY) not in later
        shown = localnet.call(
            "getAccountInfo", str(addresses.STAKE_HISTORY), {"encoding": "base64"}
        )
        history = StakeHistory.from_bytes(base64.b64decode(shown["value"]["data"][0]))
        activated = localnet.call("getVoteAccounts")["current"]
        assert history.get(1).effective == sum(each["activatedStake"] for each in activated)
        assert localnet.call("getInflationReward", [activated[0]["votePubkey"]]) == [None]
        assert localnet.call("getInflationReward", [], {"epoch": 0}) == []
        error = localnet.answer("getInflationReward", [], {"epoch": 40})["error"]
        assert error == {"code": -32004, "message": f"Block not available for slot {41 * 32}"}
