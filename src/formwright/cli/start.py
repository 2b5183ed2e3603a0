"""The way in: Ctrl-C ends without a traceback also while commands are still being loaded."""

import sys

INTERRUPTED = 130
"""As :data:`formwright.cli.output.INTERRUPTED`, which takes some loading to be read."""


def main() -> None:
    """Runs a command and turns its outcome into an exit status."""
    try:
        from formwright.cli.main import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", file=sys.stderr)
        sys.exit(INTERRUPTED)
