"""What `pip install formwright` gives works: only a few modules need a package of an extra."""

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

NEED_AN_EXTRA = (
    "formwright.agent.models.served",
    "formwright.agent.models.wire",
    "formwright.flow.executor_ray",
    "formwright.mcp",
    "formwright.serve",
)
RUN_BY_ALEMBIC = "formwright.population.migrations"

IMPORTED = """
import sys
import tomllib
from importlib import import_module
from importlib.metadata import distribution, packages_distributions
from pkgutil import walk_packages
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as named

project = tomllib.loads(open(sys.argv[1]).read())["project"]
required, left = {"formwright"}, list(project["dependencies"])
while left:
    needed = Requirement(left.pop())
    here = needed.marker is None or needed.marker.evaluate({"extra": ""})
    if here and named(needed.name) not in required:
        required.add(named(needed.name))
        left += distribution(needed.name).requires or ()
hidden = {
    package
    for package, of in packages_distributions().items()
    if not required & {named(each) for each in of}
}
for module in list(sys.modules):
    if module.partition(".")[0] in hidden:
        del sys.modules[module]


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"{name} comes with no plain install", name=name)


sys.meta_path.insert(0, Hidden())
assert "httpx2" in hidden and "numpy" not in hidden, sorted(hidden)
optional = tuple(sys.argv[2:])
import formwright

imported = 0
for module in walk_packages(formwright.__path__, "formwright."):
    if not any(f"{module.name}.".startswith(f"{each}.") for each in optional):
        if not module.name.endswith("__main__"):
            import_module(module.name)
            imported += 1
print(imported)
"""


def test_all_that_needs_no_extra_imports_without_any() -> None:
    pytest.importorskip("httpx2", reason="needs an extra to hide")
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTED, str(PROJECT), RUN_BY_ALEMBIC, *NEED_AN_EXTRA],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert int(ran.stdout) > 300
