"""A run of problems that is killed at random moments and begun again until it ends.

    python benchmarks/interrupted.py --out DIR                 # the operator set that ships
    python benchmarks/interrupted.py --out DIR examples/gemv.toml --least 5 --most 20

Cache and population are in ``DIR`` and empty at first. After each SIGKILL the processes that the
run has left behind are told. Exit status 0: the run ended well, with records, and no process was
left two seconds after any kill.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def left(cache: str) -> list[str]:
    """Processes with that cache in their environment: of the run, and alive."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and cache.encode() in (folder / "environ").read_bytes():
                told = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found.append(f"{folder.name} {told.decode(errors='replace')[:100]}")
        except OSError:
            continue
    return found


def begun(files: list[str], out: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """The command, in a session of its own."""
    command = [str(Path(sys.executable).parent / "formwright"), "run", *files]
    with open(out / "log.txt", "ab") as log:
        return subprocess.Popen(
            [*command, "--out", str(out / "runs")],
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", help="all examples but the agent's, if none")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--least", type=float, default=50.0, help="seconds to the next kill")
    parser.add_argument("--most", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    agents = EXAMPLES / "attention.toml"
    files = given.problems or [str(p) for p in sorted(EXAMPLES.glob("*.toml")) if p != agents]
    out, draws = given.out.resolve(), random.Random(given.seed)
    out.mkdir(parents=True)
    mine = {"XDG_CACHE_HOME": str(out / "cache"), "XDG_DATA_HOME": str(out / "data")}
    started, kills, stray = time.monotonic(), 0, 0
    while True:
        run = begun(files, out, {**os.environ, **mine})
        try:
            status = run.wait(timeout=draws.uniform(given.least, given.most))
            break
        except subprocess.TimeoutExpired:
            os.kill(run.pid, signal.SIGKILL)
            run.wait()
        kills += 1
        time.sleep(2.0)
        behind = left(mine["XDG_CACHE_HOME"])
        stray += len(behind)
        print(f"{time.monotonic() - started:.0f} s: kill {kills}, left: {behind}", flush=True)
    records = len(list((out / "runs").rglob("record.json")))
    seconds = time.monotonic() - started
    print(f"ended with status {status} after {kills} kills and {seconds:.0f} s: {records} records")
    return 0 if status == 0 and records and not stray else 1


if __name__ == "__main__":
    sys.exit(main())
