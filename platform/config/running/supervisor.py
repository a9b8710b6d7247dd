"""Runs the Procfile: starts its processes, prints their lines, starts the fallen again."""

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import psutil

from config.output.json_lines import PROCESS
from config.output.log_output import LogOutput
from config.output.printing import JsonPrinter, LinePrinter, Printer
from config.running.nice_values import set_nice_value
from config.running.procfile import commands_of
from config.running.watchdog import DEFAULT_PATIENCE, HUNG_SECONDS, Patience, Watched, watched
from embedded.probing import Prober
from embedded.processes import dies_with_parent, end, reap_others, status_of
from embedded.run_state import LATELY_SECONDS, ProgramState, RunStateFile
from embedded.servers import FAILURES, Server, Servers, keep_short_name

# Every process that we start has this variable with the run directory, as do its children. With it
# the next run finds processes that a killed one left behind; a recorded pid may be reused by then.
MARK = "TIDEMARK_SUPERVISED"

# A look at everything; what ends or writes is noticed at once. While something starts, more often.
_TICK_SECONDS = 0.5
_STARTING_TICK_SECONDS = 0.1
_PUBLISH_SECONDS = 1.0
# Within this time a process ends by itself, or it is killed: tasks come back, requests are short.
_PATIENCE_SECONDS = 6.0
_LONGEST_PAUSE_SECONDS = 30.0
# After so long a process was healthy, and a fall is a new story.
_SETTLED_SECONDS = 60.0
_LONGEST_LINE = 65_536
# Loading takes each program seconds of a core: as many load at once as there are cores, in the
# Procfile's order, and no longer than this without a report.
_LOADING_AT_ONCE = os.cpu_count() or 1
_LOADING_SECONDS = 10.0


@dataclass(slots=True)
class Program:
    """One line of the Procfile, and how it fares."""

    name: str
    command: str
    watched: Watched
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    falls: int = 0
    starts: int = 0
    started: float = 0.0  # Unix seconds
    start_at: float = 0.0
    restarted: deque[float] = field(default_factory=lambda: deque(maxlen=99))  # Unix seconds
    pending: bytes = b""


@dataclass(slots=True)
class Supervisor:
    """What `supervise` keeps track of."""

    root: Path
    environment: Mapping[str, str]
    servers: Servers
    programs: list[Program]
    printer: Printer
    prober: Prober
    state: RunStateFile
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    stop_asked: int = 0
    published: tuple[float, object] = (0.0, None)
    servers_rest_until: float = 0.0


def end_the_left_behind(run_dir: Path) -> int:
    """Ends what a killed supervisor of this run directory left running; how many there were."""
    mark, mine = str(run_dir.absolute()), os.getpid()
    left = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid != mine and process.environ().get(MARK) == mark:
                left.append(process)
    end(left, signal.SIGTERM, patience=_PATIENCE_SECONDS)
    return len(left)


def supervise(
    procfile: Path,
    *,
    environment: Mapping[str, str],
    servers: Servers,
    on_tick: Callable[[], None],
    left_out: Set[str] = frozenset(),
    expected: Set[str] = frozenset(),
    in_json: bool = False,
    patience: Patience = DEFAULT_PATIENCE,
) -> None:
    """Runs every process of the Procfile but those `left_out` until SIGINT, SIGTERM or SIGHUP, then
    ends them. A process that dies is started again after a pause that doubles with each fall; one
    that hangs is killed: those `expected` to report progress from their start on, others from when
    they first did. `on_tick` is called a few times a second. `in_json` every line is an object, and
    names its process itself. The caller stops the servers.
    """
    commands = commands_of(procfile)
    keep_short_name(servers.run_dir)
    programs = [
        Program(
            name,
            command,
            watched(servers.run_dir, number, is_expected=name in expected, patience=patience),
        )
        for number, (name, command) in enumerate(commands.items())
        if name not in left_out
    ]
    output = sys.stdout = LogOutput.of(sys.stdout)
    printer = JsonPrinter(output) if in_json else LinePrinter(output, [*commands, _OURSELVES])
    environment = {**environment, MARK: str(servers.run_dir.absolute())}
    supervisor = Supervisor(
        procfile.parent,
        environment,
        servers,
        programs,
        printer,
        prober=Prober(servers),
        state=RunStateFile(servers.run_dir),
    )

    def ask_to_stop(_signum: int, _frame: FrameType | None) -> None:
        supervisor.stop_asked += 1

    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, ask_to_stop)
    woken = _wake_by_signals(supervisor.selector)
    supervisor.prober.start()
    try:
        # Where the reader of our output is gone (make run | head), all stops in order.
        while not supervisor.stop_asked and not output.has_left:
            _start_what_is_due(supervisor)
            _tend_servers(supervisor)
            on_tick()
            starts = any(not each.watched.has_notified for each in programs)
            _relay(supervisor, _STARTING_TICK_SECONDS if starts else _TICK_SECONDS)
            _end_what_hangs(supervisor)
            _notice_falls(supervisor)
            _reap(supervisor)
            _publish(supervisor)
        _say(supervisor, "stopping")
    finally:
        supervisor.prober.stop()
        supervisor.state.remove()
        _stop_all(supervisor)
        for program in programs:
            program.watched.close()
        signal.set_wakeup_fd(-1)
        woken.close()
        output.finish()


def _wake_by_signals(selector: selectors.BaseSelector) -> socket.socket:
    """A signal, of a child's end too, ends a wait of the selector."""
    woken, wakes = socket.socketpair()
    for each in (woken, wakes):
        each.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.detach(), warn_on_full_buffer=False)
    selector.register(woken, selectors.EVENT_READ)
    return woken


_OURSELVES = "run"


def _say(supervisor: Supervisor, text: str, name: str = _OURSELVES) -> None:
    supervisor.printer.write(text, name)


def _start_what_is_due(supervisor: Supervisor) -> None:
    now = time.monotonic()
    for program in supervisor.programs:
        is_due = program.process is None and program.start_at <= now
        loading = sum(_is_loading(each, now) for each in supervisor.programs)
        if is_due and loading < _LOADING_AT_ONCE:
            program.watched.begin()
            program.process = _started(supervisor, program)
            program.started_at, program.started = now, time.time()
            if program.starts:
                program.restarted.append(program.started)
            program.starts += 1
            assert program.process.stdout is not None
            os.set_blocking(program.process.stdout.fileno(), False)
            supervisor.selector.register(program.process.stdout, selectors.EVENT_READ, program)
        # To load takes seconds of a core: with a tenth of the others' share, on a busy machine, a
        # program would be killed before it has loaded, and again.
        if program.process is not None and not program.watched.is_silent:
            set_nice_value(program.name, program.process.pid)


def _is_loading(program: Program, now: float) -> bool:
    is_new = now - program.started_at < _LOADING_SECONDS
    return program.process is not None and program.watched.is_silent and is_new


def _started(supervisor: Supervisor, program: Program) -> subprocess.Popen[bytes]:
    own = {**program.watched.environment, PROCESS: program.name}
    environment = {**supervisor.environment, **own}
    # exec, so that our signals reach the program and not a shell around it.
    return subprocess.Popen(
        ["/bin/sh", "-c", f"exec {program.command}"],
        cwd=supervisor.root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=dies_with_parent(signal.SIGTERM),
    )


def _relay(supervisor: Supervisor, seconds: float) -> None:
    """Prints what the processes wrote, line by line; waits up to `seconds` for something."""
    for key, _events in supervisor.selector.select(seconds):
        program: Program | None = key.data
        try:
            data = os.read(key.fd, _LONGEST_LINE)
        except BlockingIOError:
            continue
        if program is None:
            continue  # a signal, whose handler has run
        if not data:
            supervisor.selector.unregister(key.fileobj)
        *lines, program.pending = (program.pending + data).split(b"\n")
        if program.pending and (not data or len(program.pending) >= _LONGEST_LINE):
            lines.append(program.pending)
            program.pending = b""
        for line in lines:
            if line.strip():
                _say(supervisor, line.decode("utf-8", "replace"), program.name)


def _end_what_hangs(supervisor: Supervisor) -> None:
    for program in supervisor.programs:
        program.watched.look()
        process = program.process
        if process is None or process.poll() is not None or not program.watched.is_hung():
            continue
        silence = program.watched.silence
        _say(
            supervisor,
            f"{program.name} makes no progress for {silence:.0f} s"
            f" (process {process.pid}, {status_of(process.pid)}): killed",
        )
        _kill_group(process)
        program.watched.silence = 0.0  # one that waits for its disk dies later


def _publish(supervisor: Supervisor) -> None:
    lately = time.time() - LATELY_SECONDS
    programs = [
        each.watched.state_of(
            each.name,
            None if each.process is None else each.process.pid,
            since=each.started,
            restarts=max(0, each.starts - 1),
            restarts_lately=sum(at > lately for at in each.restarted),
        )
        for each in supervisor.programs
    ]
    servers = [_server_state(supervisor.prober, each) for each in supervisor.servers.running]
    now = time.monotonic()
    known = [(each.pid, each.state, each.restarts) for each in (*programs, *servers)]
    published_at, published = supervisor.published
    if known != published or now - published_at >= _PUBLISH_SECONDS:
        supervisor.published = now, known
        supervisor.state.write(programs, servers)


def _server_state(prober: Prober, server: Server) -> ProgramState:
    silence = prober.silent_seconds(server)
    state = "hung" if silence >= HUNG_SECONDS else "running"
    return ProgramState(server.name, server.process.pid, state, round(silence, 1), 0.0, 0)


def _notice_falls(supervisor: Supervisor) -> None:
    for program in supervisor.programs:
        process = program.process
        if process is None or (status := process.poll()) is None:
            continue
        _forget(supervisor, program)
        now = time.monotonic()
        program.falls = 1 if now - program.started_at > _SETTLED_SECONDS else program.falls + 1
        pause = min(_LONGEST_PAUSE_SECONDS, 2.0 ** (program.falls - 1))
        program.start_at = now + pause
        _say(supervisor, f"{program.name} ended ({_how(status)}); starts again in {pause:.0f} s")


def _reap(supervisor: Supervisor) -> None:
    """Waits for what programs left to us, as the first process of a container."""
    known = {each.process.pid for each in supervisor.programs if each.process is not None}
    known |= {each.process.pid for each in supervisor.servers.running}
    reap_others(known)


def _forget(supervisor: Supervisor, program: Program) -> None:
    """Ends what is left of a dead process's group and prints what it still had to say."""
    process = program.process
    assert process is not None and process.stdout is not None
    _kill_group(process)
    # A child that left the group may hold the pipe open for ever: read what is there, no more.
    _relay(supervisor, 0.0)
    with contextlib.suppress(KeyError):
        supervisor.selector.unregister(process.stdout)
    process.stdout.close()
    program.process, program.pending = None, b""


def _tend_servers(supervisor: Supervisor) -> None:
    if time.monotonic() < supervisor.servers_rest_until:
        return
    try:
        keep_short_name(supervisor.servers.run_dir)
        for server in supervisor.servers.running:
            _end_hung_server(supervisor, server)
            status = server.process.poll()
            if status is not None:
                _say(supervisor, f"{server.name} ended ({_how(status)}); starts again now")
                server.process = server.start()
    except FAILURES as failure:
        # A full disk may be emptied: the service waits for its servers, it does not give up.
        _say(supervisor, f"{failure}; tries again in {_LONGEST_PAUSE_SECONDS:.0f} s")
        supervisor.servers_rest_until = time.monotonic() + _LONGEST_PAUSE_SECONDS


def _end_hung_server(supervisor: Supervisor, server: Server) -> None:
    prober, process = supervisor.prober, server.process
    for pid in prober.stopped_children(server):
        _say(supervisor, f"process {pid} of {server.name} is stopped: killed")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if process.poll() is None and prober.is_hung(server):
        silence = prober.silent_seconds(server)
        _say(
            supervisor,
            f"{server.name} does not answer for {silence:.0f} s"
            f" (process {process.pid}, {status_of(process.pid)}): killed",
        )
        process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_PATIENCE_SECONDS)


def _stop_all(supervisor: Supervisor) -> None:
    running = [(p, p.process) for p in supervisor.programs if p.process is not None]
    for _program, process in running:
        # The main process alone: it knows how to end its children.
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline and supervisor.stop_asked < 2:
        if all(process.poll() is not None for _program, process in running):
            break
        _relay(supervisor, 0.05)
    for program, process in running:
        if process.poll() is None:
            _say(supervisor, f"{program.name} did not end in time: killed")
        _kill_group(process)
        process.wait()
        _forget(supervisor, program)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # Its group lives as long as one member does, and its number is not given away before.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _how(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
