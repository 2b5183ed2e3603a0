"""Winners timed afresh against the baselines: plain data for the record."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from formwright.base.digest import digest_file
from formwright.contract.contract import Contract
from formwright.contract.inputs import inputs, kinds, sliced_axes, slices
from formwright.contract.operators import operator
from formwright.contract.reference import expected
from formwright.measure.machine import Frequency, frequency
from formwright.measure.outcome import Failure, Remembered
from formwright.measure.plan import Plan
from formwright.measure.programs import Baseline, Native, Program
from formwright.measure.session import default_cores
from formwright.measure.statistics import Distribution, ratio, tail_ratio, verdict
from formwright.measure.tensors import Array, Case, Tensor
from formwright.measure.timing import measure_interleaved
from formwright.measure.workload import SymmetricWorkload
from formwright.qualify.novel import remembered

CASES = 2
"""Inputs whose reference is worked out; slots take them in turn and change them exactly."""
LARGE_BYTES = 64 << 20
"""Inputs beyond this are drawn once: what tells slots apart are the changes."""
REFERENCE_FLOPS = 1 << 30
"""A larger reference is worked out for some slices of the output's first axis instead."""
LEAST_SLICES = 4
"""They lie elsewhere in each batch: leaving out a twentieth shows within some 20 batches."""

AGAIN = 2
"""Timings anew, of all programs, where calls on new inputs took too long: other work that comes
up between the two slows the later one, a kernel that answers from memory is slow each time."""
SEEDS = 1_000_003
"""Between the seeds of those timings."""

TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8"}
"""What NumPy calls the element types of a contract."""


def operator_workload(
    contract: Contract, extents: Mapping[str, int], seed: int
) -> SymmetricWorkload:
    """Contiguous tensors of ``contract`` at ``extents`` with references from ``seed``.

    The cases have the inputs in common that are packed ahead. Of large outputs a few slices,
    drawn from ``seed``, are held against the reference; the others must be numbers.
    """
    tensors = tuple(
        Tensor(o.name, contract.shape(o, extents), o.role == "output", TYPES[o.dtype])
        for o in contract.operands
    )
    ahead = tuple(i for i, o in enumerate(contract.inputs) if o.name in contract.ahead)
    large = sum(t.bytes for t in tensors if not t.output) > LARGE_BYTES
    cases: list[Case] = []
    for number in range(1 if large and _moves(contract, ahead) else CASES):
        arrays = list(inputs(contract, "normal", extents, seed + number))
        for index in ahead if cases else ():
            arrays[index] = cases[0].inputs[index]
        cases.append(_case(contract, extents, tuple(arrays), seed + number))
    sizes = tuple(extents[e.name] for e in contract.extents)
    symmetries = operator(contract.operator).symmetries(contract)
    return SymmetricWorkload(tensors, sizes, tuple(cases), symmetries, ahead)


def _moves(contract: Contract, ahead: tuple[int, ...]) -> bool:
    """Whether a symmetry moves the output by inputs that are not packed ahead."""
    found = operator(contract.operator).symmetries(contract)
    late = (s for s in found if not {i for i, _ in s.inputs} & set(ahead))
    return any(s.output_axis is not None for s in late)


def _case(
    contract: Contract,
    extents: Mapping[str, int],
    arrays: tuple[Array, ...],
    seed: int,
    kind: str = "normal",
) -> Case:
    shape = contract.shape(contract.output, extents)
    work = operator(contract.operator).work(contract, extents)
    count = max(LEAST_SLICES, int(shape[0] * REFERENCE_FLOPS / max(1, work.flops)))
    if count >= shape[0] or sliced_axes(contract) is None:
        want = expected(contract, kind, arrays)
        return Case(arrays, want.value, np.where(want.free, np.inf, want.bound))
    picked = np.sort(np.random.default_rng(seed).choice(shape[0], count, replace=False))
    want = expected(contract, kind, slices(contract, arrays, picked))
    value, bound = np.zeros(shape), np.full(shape, np.inf)
    value[picked], bound[picked] = want.value, np.where(want.free, np.inf, want.bound)
    return Case(arrays, value, bound)


def time_programs(
    programs: Mapping[str, Program],
    contract: Contract,
    extents: Mapping[str, int],
    *,
    seed: int,
    plan: Plan,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Medians, intervals and all samples by program name; a failure has its message instead.

    ``ratios`` gives the paired ratio of each other program's time to the first one's: above
    1, the first is faster; ``verdicts`` says what the interval says, and ``tails`` the same of
    p95 and p99 where the plan asks for them. ``library`` is the SHA-256 of the first one's
    library. Caches are as the contract says. What is inside the time of a call: the call and
    all that it allocates. Outside: loading, packing of what the contract names as ahead
    (``prepare_seconds``); inputs are in place, so that nothing is converted or moved.
    """
    first = next(iter(programs))
    ours = programs[first]
    library = digest_file(ours.library) if isinstance(ours, Native) else None
    plan = replace(plan, caches=contract.caches)
    programs = {n: _of(program, contract) for n, program in programs.items()}
    workload = operator_workload(contract, extents, seed)
    cores = default_cores(ours.threads)
    before = frequency(cores)
    for attempt in range(1 + AGAIN):
        results = measure_interleaved(
            programs, workload, seed=seed + attempt * SEEDS, plan=plan, progress=progress
        )
        usual = results[first]
        if isinstance(ours, Native) and isinstance(usual, Distribution):
            results[first] = _on_new_inputs(ours, contract, extents, workload, usual, seed, plan)
        if not isinstance(results[first], Remembered):
            break
    timed = {n: r for n, r in results.items() if isinstance(r, Distribution)}
    shown: dict[str, Any] = {
        "seed": seed,
        "timings": attempt + 1,
        "rounds": plan.rounds,
        "caches": plan.caches,
        "library": library,
        "frequency": [_shown(f) for f in (before, frequency(cores))],
        "queue_share": max((r.queue_share for r in timed.values()), default=0.0),
        "programs": {},
        "ratios": {},
        "verdicts": {},
        "tails": {},
    }
    for name, result in results.items():
        if isinstance(result, Distribution):
            shown["programs"][name] = asdict(result)
        else:
            shown["programs"][name] = {"failure": result.message}
    for name, result in timed.items() if first in timed else ():
        if name == first:
            continue
        interval = ratio(result, timed[first])
        shown["ratios"][name] = asdict(interval)
        shown["verdicts"][name] = verdict(interval, plan.margin)
        tail = tail_ratio(result, timed[first], plan.tail_limit)
        if tail is not None:
            shown["tails"][name] = asdict(tail)
    return shown


def _on_new_inputs(
    program: Native,
    contract: Contract,
    extents: Mapping[str, int],
    workload: SymmetricWorkload,
    usual: Distribution,
    seed: int,
    plan: Plan,
) -> Distribution | Failure:
    """``usual``, unless calls on inputs that are new in every cell say something else."""
    found = remembered(
        program,
        workload.tensors,
        workload.extents,
        usual,
        lambda kind, drawn: inputs(contract, kind, extents, drawn),
        lambda kind, arrays, drawn: _case(contract, extents, arrays, drawn, kind),
        kinds(contract),
        ahead=workload.ahead,
        seed=seed,
        sandbox=plan.sandbox,
    )
    return usual if found is None else found


def notes(timing: Mapping[str, Any]) -> tuple[str, ...]:
    """What a reader of a speed-up has to know beside it: no proof of one, tails, packing."""
    said = []
    if timing.get("timings", 1) > 1:
        said.append(f"timed {timing['timings']} times: calls on new inputs took too long before")
    for name, found in timing.get("verdicts", {}).items():
        interval = timing["ratios"][name]
        text = f"[{interval['low']:.3f}, {interval['high']:.3f}]"
        if found == "slower":
            said.append(f"slower than {name}: the interval is {text}")
        elif found != "faster":
            said.append(f"no improvement over {name} counts ({found}): the interval is {text}")
    for name, tail in timing.get("tails", {}).items():
        if tail["regression"]:
            longer = f"{1 / tail['p95']:.2f} times that of {name}"
            said.append(f"p95 is {longer}; the limit is {tail['limit']:.2f}")
    for name, program in timing["programs"].items():
        packing = program.get("prepare_seconds")
        if packing is not None:
            said.append(f"{name}: packing ahead {packing * 1e3:.3f} ms, outside the time of a call")
    return tuple(said)


def _of(program: Program, contract: Contract) -> Program:
    """A library is asked for the contract's operator."""
    if isinstance(program, Baseline):
        return replace(program, operator=contract.operator)
    return program


def _shown(found: Frequency | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)
