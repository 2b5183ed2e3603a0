"""The child process of one call: reads what is asked, says how it goes, answers, ends.

Standard input brings one pickled :class:`Asked` and then stays open: its end means that the server
is gone, and this process ends with all that it started. Standard output is taken for the protocol
(a line of JSON each: ``stage``, ``faults``, ``crash`` or ``answer``); prints of libraries go to the
log instead.
"""

import json
import os
import pickle
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from formwright.base.diagnostics import InputError
from formwright.mcp.asked import LENGTH, Asked
from formwright.mcp.limits import LIMITS, Limit
from formwright.mcp.processes import kill_descendants
from formwright.mcp.telling import faults_of, without
from formwright.mcp.work import work_of


def main() -> None:
    """Never returns before the answer is written; ends the process with status 0 then."""
    wire = os.dup(1)
    os.dup2(2, 1)
    asked = _asked()
    threading.Thread(target=_end_with_server, daemon=True).start()
    _confine(LIMITS[asked.kind])
    folder = asked.folder
    answer = _answer(asked, lambda text: _say(wire, {"stage": without(text, folder)}))
    _say(wire, answer)
    os._exit(0)  # solvers' threads and finalizers have nothing to add


def _asked() -> Asked:
    (length,) = LENGTH.unpack(_read(LENGTH.size))
    # From the server alone: nobody else holds the other end of this pipe.
    asked: Asked = pickle.loads(_read(length))
    return asked


def _read(count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = os.read(0, count - len(data))
        if not chunk:
            os._exit(1)
        data += chunk
    return data


def _end_with_server() -> None:
    while os.read(0, 1):
        pass
    kill_descendants(os.getpid())
    os.kill(os.getpid(), signal.SIGKILL)


def _confine(limit: Limit) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limit.address_space:
        most = limit.mebibytes << 21  # twice what may be held: threads reserve stacks
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _answer(asked: Asked, say: Callable[[str], None]) -> dict[str, Any]:
    try:
        return {"answer": work_of(asked.kind)(asked, say)}
    except InputError as error:
        return {"faults": faults_of(error, asked.folder)}
    except MemoryError:
        return {"crash": "out of memory", "memory": True}
    except Exception as error:  # the boundary of the process: the log has the rest
        traceback.print_exc(file=sys.stderr)
        return {"crash": f"{type(error).__name__}: {error}"[:500]}


def _say(wire: int, message: dict[str, Any]) -> None:
    data = (json.dumps(message) + "\n").encode()
    try:
        while data:
            data = data[os.write(wire, data) :]
    except BrokenPipeError:
        os._exit(1)


if __name__ == "__main__":
    main()
