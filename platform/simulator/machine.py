"""Machine: one VM of one feature set, reused for many transactions."""

from collections.abc import Callable, Iterable

from solders.account import Account
from solders.compute_budget import ComputeBudget
from solders.litesvm import FeatureSet
from solders.pubkey import Pubkey
from solders.solders import LiteSVM
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata, SimulatedTransactionInfo

from chain import addresses
from chain.units import SLOTS_PER_EPOCH
from simulator.errors import BadSysvar, EngineFault
from simulator.features import Rules
from simulator.programs import LoadedPrograms, not_executable

Result = SimulatedTransactionInfo | FailedTransactionMetadata
Load = Callable[[Pubkey], Account | None]

# Those that programs read without naming them, through the VM's own cache.
CACHED_SYSVARS = (
    addresses.CLOCK,
    addresses.RENT,
    addresses.EPOCH_SCHEDULE,
    addresses.EPOCH_REWARDS,
    addresses.SLOT_HASHES,
    addresses.STAKE_HISTORY,
    addresses.LAST_RESTART_SLOT,
    addresses.RECENT_BLOCKHASHES,
)
# Those that programs must name.
_NAMED_SYSVARS = frozenset({addresses.SLOT_HISTORY, addresses.FEES})
GONE = Account(0, b"", addresses.SYSTEM, False, 0)
LOG_BYTES = 10_000


class Machine:
    """A reused VM: programs stay loaded, all other accounts are removed after a transaction."""

    def __init__(self, features: FeatureSet, rules: Rules) -> None:
        self.rules = rules
        self.vm = bare_vm(features)
        self.programs = LoadedPrograms(self.vm)
        own = self.vm.get_program_accounts(addresses.NATIVE_LOADER)
        own += self.vm.get_program_accounts(addresses.SYSVAR_OWNER)
        self._own = dict(own)
        self._sysvars: dict[Pubkey, Account] = {}
        self._named_sysvars: dict[Pubkey, Account] = {}
        self._staged: list[Pubkey] = []
        self._limits: tuple[int, int] | None = None
        self.rent_minimum = self.vm.minimum_balance_for_rent_exemption

    def own(self, key: Pubkey) -> Account | None:
        """The engine's own account of a builtin or a sysvar, used if the caller has none."""
        return self._sysvars.get(key) or self._own.get(key)

    def set_sysvars(self, load: Load, slot: int) -> None:
        """Sets the caller's sysvars, or defaults; a default clock is set to the slot."""
        for key in CACHED_SYSVARS:
            account = load(key)
            if account is None or account.lamports == 0:
                account = _clock(slot) if key == addresses.CLOCK else self._own[key]
            self._set_sysvar(self._sysvars, key, account)

    def stage(
        self, keys: Iterable[Pubkey], accounts: Iterable[Account | None], load: Load, slot: int
    ) -> None:
        """Puts the accounts into the VM, with the code of those that are programs."""
        vm, programs, own = self.vm, self.programs, self._own
        for key, account in zip(keys, accounts, strict=True):
            if key in own:
                if key in _NAMED_SYSVARS:
                    self._set_sysvar(self._named_sysvars, key, account or own[key])
            elif account is None:
                programs.forget(key)
                vm.set_account(key, GONE)
            elif not (
                account.owner in programs.loaders
                and programs.ensure_loaded(key, account, load, slot)
            ):
                self._put(key, account)

    def unstage(self) -> None:
        """Removes the accounts that `stage` put in; programs and their code stay."""
        vm, programs = self.vm, self.programs
        for key in self._staged:
            if not programs.is_code(key):
                vm.set_account(key, GONE)
        self._staged.clear()

    def run(self, transaction: VersionedTransaction, *, whole_logs: bool = False) -> Result:
        """The VM's result; EngineFault if it panics, after which the machine must be dropped.
        `whole_logs` are not cut.
        """
        if whole_logs:
            self.vm.set_log_bytes_limit(None)
        try:
            return self.vm.simulate_transaction(transaction)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as panic:  # a panic of native code is not an Exception
            raise EngineFault(f"the engine panicked: {panic}") from None
        finally:
            if whole_logs:
                self.vm.set_log_bytes_limit(LOG_BYTES)

    def set_limits(self, units: int, heap: int) -> None:
        """Sets the limits of all further transactions, overriding their own."""
        if self._limits == (units, heap):
            return
        self._limits = units, heap
        budget = ComputeBudget(self.rules.deeper_calls)
        budget.compute_unit_limit = units
        budget.heap_size = heap
        self.vm.set_compute_budget(budget)

    def _set_sysvar(self, current: dict[Pubkey, Account], key: Pubkey, account: Account) -> None:
        before = current.get(key)
        if before is account or before == account:
            return
        try:
            self.vm.set_account(key, account)
        except Exception as fault:  # the wheel does not export its class
            raise BadSysvar(key, str(fault)) from None
        current[key] = account

    def _put(self, key: Pubkey, account: Account) -> None:
        # The VM requires loadable code of accounts with the flag.
        if account.executable and account.owner != addresses.NATIVE_LOADER:
            account = not_executable(account)
        self.programs.forget(key)
        self.vm.set_account(key, account)
        self._staged.append(key)


def bare_vm(features: FeatureSet) -> LiteSVM:
    """A VM with only builtins and default sysvars. The order of the calls matters."""
    vm = LiteSVM.default()
    vm.set_feature_set(features)
    vm.set_builtins()
    vm.set_sysvars()
    vm.set_precompiles()
    vm.set_transaction_history(0)
    vm.set_log_bytes_limit(LOG_BYTES)
    return vm


def _clock(slot: int) -> Account:
    epoch = slot // SLOTS_PER_EPOCH
    numbers = (slot, 0, epoch, epoch + 1, 0)
    data = b"".join(number.to_bytes(8, "little") for number in numbers)
    return Account(1, data, addresses.SYSVAR_OWNER, False, 0)
