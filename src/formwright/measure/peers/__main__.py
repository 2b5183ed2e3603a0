"""``python -I -m formwright.measure.peers DESCRIPTION SOCKET INPUTS OUTPUTS``."""

import json
import socket
import sys

from formwright.measure.peers import with_numpy, with_onednn, with_onnxruntime, with_torch
from formwright.measure.peers.protocol import (
    HELLO,
    NOT_OFFERED,
    READY,
    REFUSED,
    answer,
    read_task,
    serve,
)
from formwright.measure.peers.task import NotOfferedError, Task, Way, choose

FAULTS = (RuntimeError, ValueError, TypeError, NotImplementedError, AttributeError)
"""What the libraries raise for what they do not support."""


def ways(name: str, task: Task) -> list[Way]:
    """The ways in which a library does the task. Raises ``NotOfferedError``, ``ImportError``."""
    match name:
        case "numpy":
            return with_numpy.ways(task)
        case "torch":
            return with_torch.ways(task)
        case "onednn":
            return with_onednn.ways(task)
        case "onnxruntime":
            return with_onnxruntime.ways(task)
        case _:
            raise NotOfferedError(f"no baseline {name}")


def main() -> None:
    description = sys.argv[1]
    descriptor, *files = (int(number) for number in sys.argv[2:5])
    name = json.loads(description)["peer"]
    channel = socket.socket(fileno=descriptor)
    answer(channel, HELLO)
    try:
        task = read_task(description, channel.recv(1 << 18), (files[0], files[1]))
        chosen = choose(task, ways(name, task), (NotOfferedError, *FAULTS))
    except NotOfferedError as error:
        answer(channel, REFUSED, f"{name}: {error}", NOT_OFFERED)
        return
    except (ImportError, OSError, *FAULTS) as error:
        answer(channel, REFUSED, f"{name}: {error}")
        return
    answer(channel, READY, chosen.name)
    try:
        serve(channel, task, chosen, with_torch.to_numpy)
    except FAULTS as error:
        answer(channel, REFUSED, f"{name}: {error}")


if __name__ == "__main__":
    main()
