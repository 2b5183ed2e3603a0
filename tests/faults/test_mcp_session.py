"""A session of the SDK's own client over standard streams, from a wrong template to a kernel."""

import json
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp_clients import WRONG, Asker, problem_file, stdio

import formwright

TOOLS = {
    *("fw_problem_show", "fw_parse", "fw_prove", "fw_solve", "fw_check", "fw_build", "fw_measure"),
    *("fw_qualify", "fw_submit", "fw_population_search", "fw_population_show"),
    *("fw_counterexample", "fw_job_status", "fw_job_result", "fw_job_cancel"),
}


async def repaired(ask: Asker) -> str:
    """What an agent does: refuted, the counterexample read, the text repaired, proved."""
    shown = await ask("problem_show")
    assert shown["problems"][0]["formula"] == ["y[N] = sum(k < K) W[N,k] * x[k]"]
    assert "decisions: `T in {8, 16}`" in shown["language"]
    read = await ask("parse", template=WRONG)
    assert (read["name"], read["matches"], read["differences"]) == ("mine", True, [])
    refuted = await ask.finished(await ask("prove", template=WRONG))
    assert refuted["result"]["verdict"] == "refuted"
    (left,) = refuted["result"]["open"]
    met = await ask("counterexample", job_id=refuted["job"]["job_id"], number=1)
    assert met["shown"]["obligation"] == left["name"]
    assert met["shown"]["replayed"]
    # With no term at all y is not 0: the accumulator begins with something else.
    assert met["shown"]["values"]["K"] == 0
    assert "acc =" in met["shown"]["drawing"]
    text = WRONG.replace("acc[r,l] = 1\n", "acc[r,l] = 0\n")
    proved = await ask.finished(await ask("prove", template=text))
    assert proved["result"]["verdict"] == "proved"
    assert proved["result"]["obligations"] == {"proved": 35}
    return text


async def designed(ask: Asker, text: str) -> dict[str, int]:
    """Solved for the problem's workload and chip; the optimum checked."""
    solved = await ask.finished(await ask("solve", template=text))
    assert solved["result"]["status"] == "optimal"
    assert solved["result"]["evidence"] == "modelled"
    assignment = dict(solved["result"]["assignment"])
    checked = await ask("check", template=text, assignment=assignment)
    assert checked["holds"]
    assert checked["objective"] == solved["result"]["objective"]
    return assignment


@pytest.mark.slow
def test_from_a_wrong_template_to_a_design(tmp_path: Path) -> None:
    async def main() -> None:
        async with Client(stdio(tmp_path, "--problem", str(problem_file(tmp_path)))) as client:
            listed = (await client.list_tools()).tools
            assert {t.name for t in listed} == TOOLS
            assert all(t.output_schema for t in listed)
            ask = Asker(client)
            await designed(ask, await repaired(ask))

    anyio.run(main)


@pytest.mark.slow
def test_from_a_wrong_template_to_a_qualified_kernel(tmp_path: Path) -> None:
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async def main() -> None:
        async with Client(stdio(tmp_path, "--problem", str(problem_file(tmp_path)))) as client:
            ask = Asker(client)
            text = await repaired(ask)
            assignment = await designed(ask, text)
            worse = await ask("check", template=text, assignment={**assignment, "Rr": 8, "L": 64})
            assert (worse["holds"], worse["failed"]) == (False, ["R1"])
            built = await ask.finished(
                await ask("build", template=text, assignment=assignment, source=True)
            )
            assert (built["result"]["verdict"], built["result"]["evidence"]) == ("held", "tested")
            assert "fw_call" in built["result"]["source"]
            added = await ask.finished(await ask("submit", template=text, why="rows"))
            assert added["result"]["place"] == "admitted"
            found = await ask("population_search", problem="small")
            assert [hit["why"] for hit in found["hits"]] == ["covers the contract"]
            timed = await ask.finished(await ask("measure", template=text))
            assert timed["result"]["designs"][0]["seconds"]["median"] > 0
            assert timed["result"]["evidence"] == "measured"
            assert timed["result"]["kept"]
            known = await ask("population_show", template=added["result"]["digest"])
            assert known["facts"][0].startswith("seconds ")
            begun = await ask(
                "qualify", template=text, assignment=assignment, workload="two", wait_seconds=0
            )
            told = await client.call_tool(
                "fw_job_result",
                {"job_id": begun["job"]["job_id"], "wait_seconds": 50},
                progress_callback=hear,
            )
            assert told.structured_content is not None
            done = await ask.finished(told.structured_content)
            assert done["result"]["held"], done["result"]["reasons"]
            assert any("qualifying" in stage for stage in done["job"]["stages"])
            folder = tmp_path / "out" / done["result"]["artifact"]
            record = json.loads((folder / "record.json").read_text())
            assert record["schema"] == 2
            assert record["workload"]["extents"] == {"N": 7, "K": 33}
            assert record["evidence"]["template"]["verdict"] == "proved"
            assert formwright.load(folder) is not None

    anyio.run(main)
    assert heard
