"""Running compiled kernels that are not trusted: sandboxed, guarded, timed by the parent's clock.

What each module is for:

- ``tensors``   what a kernel is called with: ``Tensor``, ``Case`` (inputs, expected, tolerance)
- ``outcome``   what came of a run: ``Ok`` or one of the failures, each with ``.message``
- ``sandbox``   ``Level``, ``Limits``; how the child is confined, and how far this machine allows it
- ``programs``  what runs in the child: ``Native`` (a library with our ABI) or ``Baseline``
- ``session``   one child and its shared-memory slots: write inputs, call, read outputs, check
- ``workload``  inputs that change in place between batches with a known effect on the output
- ``batches``   one batch: inputs changed, the clock, outputs judged; ``plan`` how long and how much
- ``timing``    ``measure_interleaved``: the protocol that candidates and baselines share
- ``peers``     what runs in the child of a baseline: NumPy, torch, oneDNN, ONNX Runtime
- ``statistics``  medians, bootstrap intervals, paired ratios

Validation, one call at a time::

    tensors = (
        Tensor("A", (m, k)), Tensor("B", (k, n), row_stride=n + 3), Tensor("C", (m, n), output=True)
    )
    with Session(Native(library, threads=1), tensors, (m, n, k), placement="end") as session:
        outcome = session.evaluate(Case((a, b), expected, tolerance))   # Ok() or a failure
        # or in steps, to judge the output by a contract:
        session.load((a, b))            # inputs into the slot, output poisoned (session.poison)
        outcome = session.call()        # runs it: Ok() or Crashed, Hung, OutOfBounds, Mutated, ...
        c = session.output()            # a copy of the output

``Session`` raises ``MeasureError`` (with ``.outcome``) when the child cannot start. After a
crash, a hang or a forbidden call ``session.alive`` is false: open another for the next case.

Timing::

    results = measure_interleaved(
        {"candidate": Native(library, threads=2), "numpy": Baseline("numpy", threads=2)},
        SymmetricWorkload(tensors, extents, cases, symmetries), seed=1, plan=Plan(rounds=15),
    )
    results["candidate"]            # Distribution (seconds; median, interval, samples) or a failure
    ratio(results["numpy"], results["candidate"])       # paired per round, with an interval

The clock, the inputs, the reference and the comparison stay in this process; the child sees only
inputs (read-only), poisoned outputs and the order of slots, at the moment when it has to run them.
"""
