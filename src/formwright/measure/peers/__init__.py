"""The children that run an operator of a library that people use now, for comparison.

A package of its own, started as ``python -I -m formwright.measure.peers DESCRIPTION SOCKET INPUTS
OUTPUTS``: it speaks the protocol of ``native/worker.c`` so that peers are timed exactly as
candidates are, and holds no reference. ``task`` says what a peer is asked for, ``protocol`` how it
answers; each ``with_*`` gives the ways in which one library does an operator.

A library often has several ways (a product or a fused call, an output given or made). Each way is
tried on the first slot before anything is timed, and the fastest is the peer.
"""
