"""Forged proofs of slots: each made from a document that holds, by a forger who knows all that is
public, stakes too, and can sign with keys of their own, not with the voters'. Rows in which voters
signed say so.
"""

import json
import struct
from dataclasses import replace
from typing import Any, NamedTuple

from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.transaction import Transaction

from chain.encodings import b64decode, b64encode
from chain.transactions import Config, Header, Lookup, encode_wire
from chain.transactions import Instruction as Part
from tests.chain.forging import (
    FORGERS,
    INVENTED,
    LEFT_OUT,
    ONE,
    all_edited,
    edited,
    entry,
    forged,
    named_as_voters,
    own_hash,
    rehashed,
    signed_again,
    voted,
    wire_of,
    with_lattice_bit,
)
from tests.chain.proofs import (
    ACCOUNTS,
    VOTE,
    VOTERS,
    chain,
    electorate,
    text,
    tower_sync,
    vote,
    vote_transaction,
)

MADE_UP = [Pubkey.from_bytes(bytes([number]) * 32) for number in range(151, 155)]
MEMO = bytes(Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"))
U64_MAX = 2**64 - 1
OTHER = str(Hash(bytes([8]) * 32))
FORK = b64encode(struct.pack("<Q", 1))

LONG = chain([5, 6, 7, 9, 10])
QUIET = [{**each, "votes": []} for each in LONG]
FORKED = chain([5, 6, 7, 9, 10], fork_at=5)
# An invented bank above the chain.
ON_TOP = rehashed(LONG[-1], slot=11, parentSlot=10, parentBankHash=LONG[-1]["bankHash"], votes=[])
MINE = electorate(firstSlot=0, lastSlot=31)
ANY_SLOTS = electorate()
LAMPORTS = {account: each["lamports"] for account, each in MINE["stakes"].items()}
OWN = own_hash(ONE)
TOWER = tower_sync([4, 5], OWN)

LANDED = (
    "not shown here: whether the votes' transactions landed and succeeded: their signatures count"
)


class Forgery(NamedTuple):
    """`document` is JSON or bytes; `stakes` the file that the reader gives, by default a true one
    with voters and the epoch's slots. `says` is what the check says of what it cannot know.
    """

    name: str
    document: Any
    stakes: Any = MINE
    says: str = ""


def made_up(bank: Any, total: int, stake: int = 100) -> dict[str, Any]:
    """Votes of accounts that the forger made."""
    data = tower_sync([4, 5], own_hash(bank))
    votes = [
        entry(
            vote_transaction(account, key, data),
            0,
            votePubkey=str(account),
            authorizedVoter=str(key.pubkey()),
            stake=stake,
        )
        for account, key in zip(MADE_UP, FORGERS, strict=True)
    ]
    return {**bank, "votes": votes, "totalStake": total}


def not_its_signer() -> dict[str, Any]:
    """The real voters are accounts of the instruction, and do not sign."""
    votes = []
    for number, key in enumerate(FORGERS):
        metas = [
            AccountMeta(ACCOUNTS[number], False, True),
            AccountMeta(key.pubkey(), True, False),
            AccountMeta(VOTERS[number].pubkey(), False, False),
        ]
        data = tower_sync([4, 5], own_hash(INVENTED))
        message = [Instruction(VOTE, data, metas)]
        signed = Transaction.new_signed_with_payer(
            message, key.pubkey(), [key], Hash(bytes([7]) * 32)
        )
        votes.append(entry(signed, number))
    return {**INVENTED, "votes": votes}


def outside_the_instruction() -> list[dict[str, Any]]:
    """The real voters sign the transaction as its payers; another key the vote in it."""
    return [
        entry(
            vote_transaction(ACCOUNTS[number], key, TOWER, payer=VOTERS[number]),
            number,
        )
        for number, key in enumerate(FORGERS)
    ]


def two_instructions() -> list[dict[str, Any]]:
    """The real voter votes for another bank; beside it the forger, for this one."""
    votes = []
    for number, key in enumerate(FORGERS):
        voter = VOTERS[number]
        parts = [
            Instruction(
                VOTE,
                data,
                [AccountMeta(ACCOUNTS[number], False, True), AccountMeta(who, True, False)],
            )
            for data, who in (
                (tower_sync([4, 5], bytes([8]) * 32), voter.pubkey()),
                (TOWER, key.pubkey()),
            )
        ]
        signed = Transaction.new_signed_with_payer(
            parts, voter.pubkey(), [voter, key], Hash(bytes([7]) * 32)
        )
        votes.append(entry(signed, number))
    return votes


def by_program(program: bytes) -> dict[str, Any]:
    """The voters signed the same data for another program."""
    votes = []
    for number in range(4):
        wire = wire_of(number)
        keys = [program if key == bytes(VOTE) else key for key in wire.account_keys]
        votes.append(signed_again(replace(wire, account_keys=keys), number))
    return {**ONE, "votes": votes}


def in_a_table(index: int) -> dict[str, Any]:
    """The voters signed a version 0 transaction whose vote account (0) or program (1) comes from a
    lookup table.
    """
    votes = []
    for number in range(4):
        wire = wire_of(number)
        ((program, accounts, data),) = wire.instructions
        loaded = accounts[0] if index == 0 else program
        last = len(wire.account_keys) - 1
        keys = [key for at, key in enumerate(wire.account_keys) if at != loaded]
        order = [last if at == loaded else at - (at > loaded) for at in range(last + 1)]
        changed = replace(
            wire,
            version=0,
            header=Header(1, 0, 0),
            account_keys=keys,
            instructions=[Part(order[program], bytes(order[at] for at in accounts), data)],
            lookups=[Lookup(bytes([77]) * 32, bytes([3]), b"")],
        )
        votes.append(signed_again(changed, number))
    return {**ONE, "votes": votes}


def renumbered(number: int, slot: int, documents: Any = QUIET) -> list[dict[str, Any]]:
    """One slot of a chain has another number, and the next one's parent with it."""
    made = [*documents[:-1], LONG[-1]]
    made[number] = {**made[number], "slot": slot}
    made[number + 1] = {**made[number + 1], "parentSlot": slot}
    return made


def with_whole_tower(documents: Any) -> list[dict[str, Any]]:
    """The last one's votes name all slots of the true chain."""
    own = own_hash(LONG[-1])
    slots = [each["slot"] for each in LONG]
    votes = [vote(at, 10, own, data=tower_sync([4, *slots], own)) for at in range(4)]
    return [*documents[:-1], {**documents[-1], "votes": votes}]


COMPACT = tower_sync([4, 5], OWN, kind=12)
PLAIN = struct.pack("<IQ2Q", 2, 2, 4, 5) + OWN + b"\0"
STATE = struct.pack("<IQQIQI", 8, 2, 4, 2, 5, 1) + b"\0" + OWN + b"\0"

SIGNERS = [
    Forgery("invented bank, voter left out", forged(INVENTED, authorizedVoter=LEFT_OUT)),
    Forgery("invented bank, voter null", forged(INVENTED, authorizedVoter=None)),
    Forgery("invented bank, voter the forger's own", named_as_voters(forged(INVENTED))),
    Forgery("invented bank, vote signed by another key than the voter", forged(INVENTED)),
    Forgery("invented bank, the voter in the instruction without a signature", not_its_signer()),
    Forgery("invented bank, genuine votes", {**INVENTED, "votes": ONE["votes"]}),
    Forgery(
        "signatures of genuine votes on votes for an invented bank",
        {
            **INVENTED,
            "votes": [
                {
                    **vote(number, 5, own_hash(INVENTED)),
                    "signature": ONE["votes"][number]["signature"],
                    "transaction": b64encode(
                        b64decode(ONE["votes"][number]["transaction"]).replace(
                            OWN, own_hash(INVENTED)
                        )
                    ),
                }
                for number in range(4)
            ],
        },
    ),
    Forgery(
        "voters signed the transaction, another key the vote in it",
        {**ONE, "votes": outside_the_instruction()},
    ),
    Forgery(
        "voters signed the transaction, another key the vote in it, voter left out",
        all_edited({**ONE, "votes": outside_the_instruction()}, authorizedVoter=LEFT_OUT),
    ),
    Forgery(
        "two votes in one transaction, the voter's for another bank",
        {**ONE, "votes": two_instructions()},
    ),
    Forgery(
        "two votes in one transaction, the voter's for another bank, voter left out",
        all_edited({**ONE, "votes": two_instructions()}, authorizedVoter=LEFT_OUT),
    ),
    Forgery(
        "voters of two accounts swapped",
        edited(
            1,
            edited(0, authorizedVoter=str(VOTERS[1].pubkey())),
            authorizedVoter=str(VOTERS[0].pubkey()),
        ),
    ),
    Forgery(
        "signature of zeros",
        edited(
            0,
            signature="1" * 64,
            transaction=b64encode(
                b"\1" + bytes(64) + b64decode(ONE["votes"][0]["transaction"])[65:]
            ),
        ),
    ),
    Forgery("signature that is not the transaction's", edited(0, signature="1" * 64)),
    Forgery("genuine votes, voter left out", all_edited(authorizedVoter=LEFT_OUT)),
    Forgery("genuine votes, other voter named", named_as_voters(ONE)),
    Forgery(
        "vote account named that the transaction does not have",
        edited(0, votePubkey=str(MADE_UP[0])),
    ),
    Forgery(
        "vote accounts of two votes swapped",
        edited(1, edited(0, votePubkey=str(ACCOUNTS[1])), votePubkey=str(ACCOUNTS[0])),
    ),
]

STAKE = [
    Forgery("made-up accounts, all of the stake", made_up(INVENTED, 400)),
    Forgery("made-up accounts beside the real stake", made_up(INVENTED, 500)),
    Forgery("made-up accounts, lowered total", made_up(INVENTED, 100, 25)),
    Forgery(
        "made-up accounts beside a minority's votes",
        {
            **ONE,
            "votes": [ONE["votes"][3], *made_up(ONE, 0, 20)["votes"]],
        },
    ),
    Forgery(
        "a minority's votes, lowered total", {**ONE, "votes": ONE["votes"][3:], "totalStake": 14}
    ),
    Forgery(
        "a minority's votes, raised stake", edited(0, {**ONE, "votes": ONE["votes"][3:]}, stake=90)
    ),
    Forgery(
        "a minority's votes, total left out", {**ONE, "votes": ONE["votes"][3:], "totalStake": None}
    ),
    Forgery("two thirds and no more", {**ONE, "votes": ONE["votes"][1:3], "totalStake": 75}),
    Forgery("zero stakes", all_edited({**ONE, "totalStake": 0}, stake=0)),
    Forgery("total of zero", {**ONE, "totalStake": 0}),
    Forgery(
        "one vote with the largest stake",
        edited(0, {**ONE, "votes": ONE["votes"][3:], "totalStake": U64_MAX}, stake=U64_MAX),
    ),
    Forgery(
        "stakes that overflow a u64 together",
        all_edited({**ONE, "totalStake": 100}, stake=2**62 + 25),
    ),
    Forgery("stake above a u64", edited(0, stake=2**64 + 40)),
    Forgery("stake of many digits", edited(0, stake=10**400)),
    Forgery("negative stake", edited(0, stake=-40)),
    Forgery("stake as text", edited(0, stake="40")),
    Forgery("stake as a fraction", edited(0, stake=40.5)),
    Forgery("one vote twice", {**ONE, "votes": [*ONE["votes"][:2], ONE["votes"][0]]}),
    Forgery(
        "two votes of one account",
        {
            **ONE,
            "votes": [
                ONE["votes"][3],
                entry(vote_transaction(ACCOUNTS[3], VOTERS[3], tower_sync([3, 4, 5], OWN)), 3),
            ],
        },
    ),
    Forgery("no votes", {**ONE, "votes": []}),
    Forgery("votes left out", {key: each for key, each in ONE.items() if key != "votes"}),
    Forgery(
        "no votes, and the word that it is proven",
        {**INVENTED, "state": "proven", "votedThrough": 5},
    ),
]

INSTRUCTIONS = [
    Forgery("voters signed Vote, retired", voted(PLAIN)),
    Forgery("voters signed VoteSwitch, retired", voted(b"\6" + PLAIN[1:] + bytes(32))),
    Forgery("voters signed UpdateVoteState, retired", voted(STATE)),
    Forgery("voters signed UpdateVoteStateSwitch, retired", voted(b"\x09" + STATE[1:] + bytes(32))),
    Forgery("voters signed CompactUpdateVoteState, retired", voted(COMPACT)),
    Forgery(
        "voters signed CompactUpdateVoteStateSwitch, retired",
        voted(b"\x0d" + COMPACT[1:] + bytes(32)),
    ),
    Forgery("voters signed TowerSync without its end", voted(TOWER[:-1])),
    Forgery("voters signed TowerSync without slots", voted(tower_sync([], OWN))),
    Forgery("voters signed TowerSync that ends at another slot", voted(tower_sync([5, 6], OWN))),
    Forgery(
        "voters signed TowerSync whose slots overflow",
        voted(struct.pack("<IQ", 14, 5) + b"\x01" + b"\xff" * 9 + b"\x01\x01" + OWN + bytes(33)),
    ),
    Forgery("voters signed an instruction of an unknown number", voted(b"\x63" + TOWER[1:])),
    Forgery("voters signed the data for another program", by_program(MEMO)),
    Forgery("vote account in a lookup table", in_a_table(0)),
    Forgery("vote program in a lookup table", in_a_table(1)),
    Forgery(
        "version 1 made of a legacy vote, not signed again",
        {
            **ONE,
            "votes": [
                entry(encode_wire(replace(wire_of(number), version=1, config=Config())), number)
                for number in range(4)
            ],
        },
    ),
    Forgery(
        "another blockhash in the votes' transactions",
        {
            **ONE,
            "votes": [
                entry(encode_wire(replace(wire_of(number), recent_blockhash=bytes(32))), number)
                for number in range(4)
            ],
        },
    ),
    Forgery(
        "bytes behind a vote's transaction",
        edited(0, transaction=b64encode(b64decode(ONE["votes"][0]["transaction"]) + b"\0")),
    ),
    Forgery(
        "a vote's transaction cut",
        edited(0, transaction=b64encode(b64decode(ONE["votes"][0]["transaction"])[:-1])),
    ),
]

SLOTS = [
    Forgery("votes for the same slot of another fork", {**FORKED[0], "votes": ONE["votes"]}),
    Forgery("votes for a later slot, without the chain", {**QUIET[0], "votes": LONG[3]["votes"]}),
    Forgery("votes for an earlier slot", {**QUIET[3], "votes": LONG[0]["votes"]}),
    Forgery(
        "no votes, and those for a later slot said to settle it", {**QUIET[0], "votedThrough": 9}
    ),
    Forgery("voters signed, and the transactions failed", ONE, says=LANDED),
    Forgery("votes said to be in the slot's own block", all_edited(slot=5)),
    Forgery("votes said to be in a far block", all_edited(slot=U64_MAX), says=LANDED),
    Forgery("slot renumbered", {**ONE, "slot": 6, "parentSlot": 5}),
    Forgery("slot renumbered, voters signed the true one", all_edited({**ONE, "slot": 6}, slot=9)),
    Forgery(
        "slot renumbered, signed by the forger, voter left out",
        forged({**ONE, "slot": 6, "parentSlot": 5}, authorizedVoter=LEFT_OUT),
    ),
    Forgery("parent renumbered to a slot below its own", {**ONE, "parentSlot": 3}),
    Forgery(
        "parent renumbered, its number in no vote",
        {
            **ONE,
            "parentSlot": 3,
            "votes": [vote(number, 5, OWN, data=tower_sync([5], OWN)) for number in range(4)],
        },
        says="trusted: that slot 3 is the parent of slot 5: no hash covers it",
    ),
    Forgery("parent renumbered to the slot", {**ONE, "parentSlot": 5}),
    Forgery("parent above the slot", {**ONE, "parentSlot": 6}),
    Forgery("parent's bank hash changed", {**ONE, "parentBankHash": OTHER}),
    Forgery("slot above a u64", {**ONE, "slot": 2**64}),
    Forgery("slot of many digits", {**ONE, "slot": 10**400}),
    Forgery("epoch changed", {**ONE, "epoch": 7}),
    Forgery("epoch changed, the reader's file without slots", {**ONE, "epoch": 7}, ANY_SLOTS),
    Forgery("epoch left out", {**ONE, "epoch": None}),
]

CHAINS = [
    Forgery("documents reordered", [LONG[1], LONG[0], *LONG[2:]]),
    Forgery("documents newest first", LONG[::-1]),
    Forgery("a hole", [LONG[0], *LONG[2:]]),
    Forgery("a hole, its parent renumbered", [LONG[0], {**LONG[2], "parentSlot": 5}, *LONG[3:]]),
    Forgery(
        "a hole, parent and its bank hash changed",
        [
            LONG[0],
            {**LONG[2], "parentSlot": 5, "parentBankHash": LONG[0]["bankHash"]},
            *LONG[3:],
        ],
    ),
    Forgery("one document twice", [LONG[0], LONG[0], *LONG[1:]]),
    Forgery("two chains joined", [FORKED[0], *LONG[1:]]),
    Forgery("an invented bank below", [{**INVENTED, "votes": []}, *LONG[1:]]),
    Forgery(
        "an invented bank on top, without votes",
        [
            *LONG,
            ON_TOP,
        ],
    ),
    Forgery(
        "an invented bank on top, voter the forger's own",
        [
            *LONG,
            named_as_voters(forged(ON_TOP)),
        ],
    ),
    Forgery(
        "votes moved to another document",
        [*QUIET[:3], {**QUIET[3], "votes": LONG[4]["votes"]}, QUIET[4]],
    ),
    Forgery(
        "a slot without votes renumbered",
        renumbered(2, 8),
        says="trusted: the number of slots 5, 6, 8: no hash and no vote covers it",
    ),
    Forgery(
        "a slot without votes renumbered, votes above name its number",
        with_whole_tower(renumbered(2, 8)),
    ),
    Forgery("a slot with votes renumbered", renumbered(2, 8, LONG)),
    Forgery("no document", []),
    Forgery(
        "documents within a document reordered",
        {**QUIET[0], "chain": [LONG[2], LONG[1], *LONG[3:]]},
    ),
]

PARTS = [
    Forgery("lattice hash, one bit", {**ONE, "accountsLatticeHash": with_lattice_bit(ONE)}),
    Forgery(
        "lattice hash and checksum of another slot",
        {
            **ONE,
            "accountsLatticeHash": LONG[1]["accountsLatticeHash"],
            "accountsLatticeChecksum": LONG[1]["accountsLatticeChecksum"],
        },
    ),
    Forgery(
        "lattice hash too short",
        {**ONE, "accountsLatticeHash": b64encode(b64decode(ONE["accountsLatticeHash"])[:-2])},
    ),
    Forgery("checksum swapped", {**ONE, "accountsLatticeChecksum": OTHER}),
    Forgery("signatureCount", {**ONE, "signatureCount": ONE["signatureCount"] + 1}),
    Forgery("signatureCount above a u64", {**ONE, "signatureCount": 2**64}),
    Forgery("blockhash", {**ONE, "blockhash": OTHER}),
    Forgery("bankHash", {**ONE, "bankHash": OTHER}),
    Forgery("hardForkData added", {**ONE, "hardForkData": FORK}),
    Forgery(
        "hardForkData added, and hashed",
        {**rehashed(ONE, hardForkData=FORK), "votes": ONE["votes"]},
    ),
    Forgery("hardForkData left out", {**FORKED[0], "hardForkData": None}),
]

FILES = [
    Forgery("stakes of another epoch", ONE, electorate(1)),
    Forgery("stakes of other slots", ONE, electorate(1, firstSlot=32, lastSlot=63)),
    Forgery(
        "stakes of another epoch with the slot's", ONE, electorate(1, firstSlot=0, lastSlot=31)
    ),
    Forgery(
        "stakes without voters", named_as_voters(forged(INVENTED)), electorate(stakes=LAMPORTS)
    ),
    Forgery(
        "stakes as getVoteAccounts has them",
        named_as_voters(forged(INVENTED)),
        {
            "current": [
                {"votePubkey": account, "activatedStake": lamports}
                for account, lamports in LAMPORTS.items()
            ],
            "delinquent": [],
        },
    ),
    Forgery(
        "stakes that mostly have no voter",
        ONE,
        electorate(stakes={**LAMPORTS, str(ACCOUNTS[3]): MINE["stakes"][str(ACCOUNTS[3])]}),
    ),
    Forgery("stakes of zero", ONE, electorate(stakes=dict.fromkeys(LAMPORTS, 0))),
    Forgery("stakes that overflow a u64", ONE, electorate(stakes=dict.fromkeys(LAMPORTS, 2**63))),
    Forgery("no stakes", ONE, {}),
    Forgery("a proof as stakes", ONE, ONE),
]

FORMS = [
    Forgery("bytes behind the JSON", text(ONE) + b"{}"),
    Forgery("a byte order mark", b"\xef\xbb\xbf" + text(ONE)),
    Forgery("UTF-16", json.dumps(ONE).encode("utf-16")),
    Forgery("deep nesting", b"[" * 100_000),
    Forgery("other fields", {**ONE, "verdict": "proven", "share": 1.0}),
    Forgery("an error in place of a result", {"jsonrpc": "2.0", "id": 1, "error": {"code": 1}}),
]

FORGERIES = [*SIGNERS, *STAKE, *INSTRUCTIONS, *SLOTS, *CHAINS, *PARTS, *FILES, *FORMS]
