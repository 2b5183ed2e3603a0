"""The configuration that ships is the one that the guide shows, and names what is there."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_ready_configuration() -> None:
    text = (ROOT / "examples" / "mcp.json").read_text()
    assert text in (ROOT / "docs" / "mcp.md").read_text()
    arguments = json.loads(text)["mcpServers"]["formwright"]["args"]
    assert arguments[0] == "mcp"
    assert (ROOT / arguments[arguments.index("--problem") + 1]).is_file()
