"""Jobs done by a Ray cluster: https://docs.ray.io. This module loads Ray.

Ray starts each attempt once (``max_retries=0``): an attempt whose worker, machine or answer is
lost is told of, and another one is made by us. Which machine an attempt may run on is asked of the
cluster where it is about the machine that measures; all others go wherever there is room.
"""

import logging
import os
import pickle
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import ray
import ray._private.utils as ray_utils
import ray._private.worker as ray_worker
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from formwright.base.diagnostics import fail
from formwright.base.files import put_folder, write_bytes
from formwright.flow.executor import Done, Hearer, Outcome
from formwright.flow.executor_here import unlike
from formwright.flow.executor_worker import (
    Answer,
    Files,
    Parcel,
    about,
    package_digest,
    unpack,
    work,
)
from formwright.flow.job_proving import keep_proved
from formwright.flow.jobs import Job, Prove, Qualify, deadline_of, files_of, place_of
from formwright.flow.machines import Machine

BENCH: Final = "formwright_bench"
"""A resource of Ray: nodes that have it measure, and no other does."""
MOST: Final = 3
"""Attempts at one job in a run."""
STORE_BYTES: Final = 128 << 20
"""Of a cluster of our own: what jobs send is small."""
STARTS: Final = 2
PROBE_SECONDS: Final = 120.0
"""A node that does not say what it is within this is passed over."""
POLL_SECONDS: Final = 1.0
REACH_SECONDS: Final = 10.0


@dataclass(slots=True)
class _Waiting:
    """One attempt that runs or waits in Ray's queue. ``node`` is where it must run, if anywhere."""

    key: str
    attempt: int
    node: str | None


@dataclass(slots=True)
class RayExecutor:
    """``address``: ``HOST:PORT`` of a cluster, ``local`` for one of our own, or empty for the one
    that runs here and else one of our own."""

    address: str = ""
    cores: int | None = None
    """Of a cluster of our own: jobs at once; as many as the machine has cores without."""
    _machines: dict[str, Machine] = field(default_factory=dict)
    _bench: str = ""
    _work: Any = None
    _about: Any = None

    def __post_init__(self) -> None:
        connect(self.address, self.cores)
        self._work = ray.remote(max_retries=0, num_cpus=1)(work)
        self._about = ray.remote(max_retries=0, num_cpus=0)(about)

    def close(self) -> None:
        """Leave the cluster; what still runs for us there is ended by it."""
        ray.shutdown()

    @property
    def spread(self) -> bool:
        return True

    def bench(self, like: Machine | None) -> Machine:
        alive = [n for n in ray.nodes() if n["Alive"]]
        nodes = _measuring(alive, ray.get_runtime_context().get_node_id())
        if self._bench in (n["NodeID"] for n in alive):
            nodes = [self._bench, *nodes]
        found = []
        for node in nodes:
            machine = self._probed(node)
            if machine is None:
                continue
            if like is None or machine.like(like):
                self._bench = node
                return machine
            found.append(machine)
        if like is not None:
            raise unlike(like, found)
        raise fail("no machine of the cluster can measure", hint=_MARK)

    def perform(
        self, jobs: Mapping[str, Job], folder: Path, bench: Machine, hearer: Hearer
    ) -> Iterator[tuple[str, Outcome]]:
        waiting: dict[Any, _Waiting] = {}

        def send(key: str, attempt: int, pinned: bool) -> None:
            job = jobs[key]
            node = None
            if pinned or place_of(job) in ("bench", "alone"):
                # What goes anywhere needs no machine like this one, only the code.
                self.bench(None if place_of(job) == "anywhere" else bench)
                node = self._bench
            waiting[self._sent(job, folder, bench, node)] = _Waiting(key, attempt, node)

        for key in jobs:
            send(key, 0, False)
        try:
            while waiting:
                ready, _ = ray.wait(list(waiting), timeout=POLL_SECONDS)
                for reference in ready:
                    one = waiting.pop(reference)
                    try:
                        answer: Answer = ray.get(reference)
                    except RayTaskError as error:
                        raise _broken(error) from None
                    except RayError as error:
                        again = one.attempt + 1 < MOST
                        hearer.lost(one.key, self._name(one.node), _why(error), again=again)
                        if not again:
                            given_up = _given_up(one.key, error)
                            if not isinstance(jobs[one.key], Prove):
                                raise given_up from None
                            # A text that ends each verifier must not end the run for the others.
                            yield one.key, given_up
                            continue
                        send(one.key, one.attempt + 1, one.node is not None)
                        continue
                    if answer.unfit:
                        if one.node is not None:
                            raise fail(f"{answer.machine.name} has {answer.unfit}", hint=_SAME)
                        # Nothing was done: the machine that measures has what the job needs.
                        hearer.say(f"{answer.machine.name} has {answer.unfit}: passed over")
                        send(one.key, one.attempt, True)
                        continue
                    yield one.key, _received(answer, jobs[one.key], folder)
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)

    def _sent(self, job: Job, folder: Path, bench: Machine, node: str | None) -> Any:
        parcel = Parcel(
            job=pickle.dumps(job),
            code=package_digest(),
            files=_read(files_of(job), folder),
            bench=bench,
            place=place_of(job),
            deadline=deadline_of(job),
        )
        where: Any = "SPREAD"
        if node is not None:
            where = NodeAffinitySchedulingStrategy(node, soft=False)
        return self._work.options(scheduling_strategy=where).remote(parcel)

    def _probed(self, node: str) -> Machine | None:
        """What a node is; ``None`` for one that does not answer or has other code."""
        if node not in self._machines:
            pinned = NodeAffinitySchedulingStrategy(node, soft=False)
            asked = self._about.options(scheduling_strategy=pinned).remote()
            try:
                code, machine = ray.get(asked, timeout=PROBE_SECONDS)
            except RayTaskError as error:
                raise _broken(error) from None
            except RayError:
                return None
            if code != package_digest():
                raise fail(f"{machine.name} has another version of formwright", hint=_SAME)
            self._machines[node] = machine
        return self._machines[node]

    def _name(self, node: str | None) -> str:
        known = None if node is None else self._machines.get(node)
        return "" if known is None else known.name


_MARK: Final = f"start Ray there with --resources '{{\"{BENCH}\": 1}}', or start this command there"
_SAME: Final = "install the same version on every machine of the cluster"


def connect(address: str, cores: int | None = None) -> None:
    """Join the cluster at ``address``, or start one of our own on this machine.

    Raises:
        InputError: there is no cluster at ``address``.
    """
    # Ray sends figures about its use to its makers unless it is told not to.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray of the future leaves these as they are, and says so at each start.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Losses are told by us. Ray writes pages of them to standard output, and has no setting for it.
    ray_worker.print_to_stdstream = _unheard
    # A cluster lists jobs with their command lines to all who reach it: ours may have a password.
    ray_utils.get_entrypoint_name = _entry
    quiet: dict[str, Any] = {
        "namespace": "formwright",
        "log_to_driver": False,
        "logging_level": logging.ERROR,
    }
    if address.startswith("ray://"):
        raise fail(
            f"{address}: jobs are sent by a member of the cluster, not by a client of it",
            hint="start this command on a machine of the cluster, with ray=HOST:PORT of its head",
        )
    if address not in ("", "local"):
        _reach(address)
    if address != "local":
        try:
            ray.init(address=address or "auto", **quiet)
            return
        except (ConnectionError, ValueError) as error:
            ray.shutdown()  # what was begun; an address that was never tried ends nobody's cluster
            if address:
                raise _unjoined(address, error) from None
        except (RuntimeError, RayError) as error:
            ray.shutdown()
            # There is one: of another version of Ray or Python, or with a token that we lack.
            raise _unjoined(address or "this machine", error) from None
    _started(cores, quiet)


def _started(cores: int | None, quiet: dict[str, Any]) -> None:
    """A cluster of our own. Ray gives its processes 30 s: on a busy machine a second try helps."""
    for tries in range(STARTS):
        try:
            ray.init(
                address="local",
                num_cpus=cores,
                include_dashboard=False,
                object_store_memory=STORE_BYTES,
                **quiet,
            )
            return
        except Exception as error:
            # Ray raises no class of its own here.
            ray.shutdown()
            if tries + 1 == STARTS:
                told = f"Ray does not start on this machine: {str(error).splitlines()[0]}"
                hint = "see /tmp/ray/session_latest/logs; a machine that has much to do is too slow"
                raise fail(told, hint=hint) from None


def _unheard(data: Any, ignore_prefix: bool) -> None: ...


def _entry() -> str:
    return "formwright"


def _reach(address: str) -> None:
    """Ray would try for minutes to reach an address where nothing is."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdigit():
        raise fail(f'"{address}" is no address of a cluster', hint="ray=HOST:PORT of its head")
    # Ray takes the name of this machine in the place of its loop.
    ours = [ray.util.get_node_ip_address()] if host in ("127.0.0.1", "localhost", "::1") else []
    why: Exception = OSError("nobody answers")
    for each in (host, *ours):
        try:
            socket.create_connection((each, int(port)), REACH_SECONDS).close()
            return
        except (OSError, OverflowError) as error:
            why = error
    raise _unjoined(address, why)


def _unjoined(where: str, error: Exception) -> Exception:
    why = (str(error) or type(error).__name__).splitlines()[0]
    return fail(
        f"no Ray cluster to join at {where}: {why}",
        hint="is it HOST:PORT of the head, with the same Ray and Python? One with a token needs"
        " RAY_AUTH_MODE=token here; --executor ray=local starts another",
    )


def _measuring(alive: list[dict[str, Any]], here: str) -> list[str]:
    """Nodes that may measure: those that are marked; without any, ``here``, where we are.

    One that has no core for jobs of Ray would keep a job waiting for ever.
    """
    marked = [n for n in alive if n["Resources"].get(BENCH, 0) >= 1]
    found = marked or [n for n in alive if n["NodeID"] == here]
    return sorted(n["NodeID"] for n in found if n["Resources"].get("CPU", 0) >= 1)


def _read(names: tuple[str, ...], folder: Path) -> Files:
    found = {}
    for name in names:
        path = folder / name
        if path.is_file():
            found[name] = (path.read_bytes(), path.stat().st_mode & 0o777)
    return found


def _received(answer: Answer, job: Job, folder: Path) -> Outcome:
    """The outcome, once the files that came with it are in ``folder``."""
    if answer.data is None:
        error: Exception = pickle.loads(answer.fault)
        return error
    root = folder.resolve()
    if any(root not in (folder / name).resolve().parents for name in answer.files):
        raise AssertionError("a job wrote a file that is not below its folder")
    files = dict(answer.files)
    if isinstance(job, Qualify):
        whole = [name for name in files if name.startswith(f"{job.folder}/")]
        _put_whole({name: files.pop(name) for name in whole}, job, folder)
    for name, (content, mode) in files.items():
        write_bytes(folder / name, content)
        (folder / name).chmod(mode)
    if isinstance(job, Prove):
        keep_proved(job, answer.data)
    return Done(answer.data, answer.machine, answer.began, answer.seconds)


def _put_whole(files: Files, job: Qualify, folder: Path) -> None:
    """An artifact takes the place of an older one at once: no reader sees parts of both."""
    if not files:
        return
    place = folder / job.folder
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    try:
        unpack({name.removeprefix(f"{job.folder}/"): f for name, f in files.items()}, beside)
        beside.chmod(0o755)
        put_folder(beside, place)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _why(error: Exception) -> str:
    """The kind of loss; Ray's own words are a page, with addresses of processes."""
    return type(error).__name__


def _broken(error: RayTaskError) -> Exception:
    """Of what is done around a job: there is no formwright, or a fault of ours."""
    cause: Exception = error.as_instanceof_cause()
    if "failed to import on the worker" in str(error):
        return fail("a machine of the cluster has no formwright like this one", hint=_SAME)
    return cause


def _given_up(key: str, error: Exception) -> Exception:
    return fail(
        f"{key} was lost {MOST} times, the last time by {_why(error)}",
        hint="look at the machines of the cluster (ray status); the same command goes on from here",
    )
