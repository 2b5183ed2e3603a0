"""The libraries to compare with, in an environment of their own beside ``.venv``."""

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-bench"


def go_on_with(packages: Sequence[str], script: str) -> None:
    """Run ``script`` again where ``packages``, NumPy and this package are installed.

    They are installed when they, or this package's own needs, are other than the last time.
    """
    python = VENV / "bin" / "python"
    if not python.exists():
        venv.create(VENV, with_pip=True)
    wanted = [*packages, (ROOT / "pyproject.toml").read_text(encoding="utf-8")]
    stamp = VENV / f".{Path(script).stem}-ready"
    asked = hashlib.sha256("\n".join(wanted).encode()).hexdigest()
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != asked:
        command = [str(python), "-m", "pip", "install", "--quiet", "-e", str(ROOT), *packages]
        subprocess.run(command, check=True)
        stamp.write_text(asked, encoding="utf-8")
    rest = [a for a in sys.argv[1:] if a != "--install-peers"]
    os.execv(python, [str(python), str(Path(script).resolve()), *rest])
