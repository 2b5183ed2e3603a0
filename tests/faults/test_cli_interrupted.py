"""Ctrl-C while commands are being loaded ends like any other: a line, status 130, no traceback."""

import subprocess
import sys

import pytest

LOADING = """
import sys
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from formwright.cli.start import main
sys.argv[1:] = ["show", "direct_gemm"]
main()
"""


@pytest.mark.parametrize("name", ["typer", "formwright.cli.output", "formwright.flow.showing"])
def test_ctrl_c_while_loading(name: str) -> None:
    code = LOADING.format(name=name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "interrupted; the same command goes on from here\n"
    assert done.stdout == ""
