"""A chain whose texts did not change is proved again by looking: its theorem and its proofs.

The texts of the chain lead to its digest; under that, how its steps compose is kept, with the
digest of each step, whose proof is read on its own. No parser is loaded here.
"""

import json
from pathlib import Path
from typing import Any

from formwright.base.digest import digest
from formwright.base.files import write_text
from formwright.proof.chains import Assumed, ChainProof, Composition, StepProof
from formwright.proof.kept import (
    SCHEMA,
    kept_text,
    proof_path,
    read_proof,
    read_text_digest,
    text_path,
)
from formwright.proof.verdict import Proof


def chain_digest(name: str, contract: str, steps: list[str], assumed: list[list[str]]) -> str:
    """The content of a chain: its contract and the digests of its steps, in order."""
    return digest(["chain", name, contract, steps, assumed])


def read_chain(directory: Path, texts: list[str]) -> ChainProof | None:
    """The kept proof of a chain with these texts, its own first; ``None`` unless all is there."""
    known = read_text_digest(directory, _joined(texts))
    return None if known is None else read_kept(directory, known)


def read_kept(directory: Path, known: str) -> ChainProof | None:
    """The kept proof of the chain with the digest ``known``, with a proof of each of its steps."""
    composed = read_proof(directory, known)
    body = _body(proof_path(directory, known))
    if composed is None or body is None:
        return None
    try:
        steps = [(str(s["name"]), read_proof(directory, s["digest"])) for s in body["steps"]]
        assumed = tuple(Assumed(a["name"], a["text"], a["of"]) for a in body["assumptions"])
        composition = Composition(composed.obligations, str(body["theorem"]), assumed)
    except (KeyError, TypeError):
        return None
    if any(p is None for _, p in steps):
        return None
    return ChainProof(
        chain=composed.template,
        digest=known,
        verdict="proved",
        broken="",
        steps=tuple(StepProof(n, p) for n, p in steps),
        composition=composition,
        seconds=composed.seconds + sum(p.seconds for _, p in steps if p is not None),
        solver=composed.solver,
    )


def keep_chain(directory: Path, texts: list[str], proof: ChainProof) -> None:
    """Keeps a complete proof; anything but ``proved`` is not kept."""
    if proof.verdict != "proved":
        return
    obligations = proof.composition.obligations
    own = Proof(
        proof.chain,
        proof.digest,
        "proved",
        obligations,
        sum(o.seconds for o in obligations),
        proof.solver,
    )
    body = own.as_json() | {
        "theorem": proof.composition.theorem,
        "assumptions": [
            {"name": a.name, "text": a.text, "of": a.of} for a in proof.composition.assumptions
        ],
        "steps": [
            {"name": s.name, "digest": s.proof.digest} for s in proof.steps if s.proof is not None
        ],
    }
    path = proof_path(directory, proof.digest)
    write_text(path, kept_text({"schema": SCHEMA, "proof": body, "sha256": digest(body)}))
    text = _joined(texts)
    kept = {"schema": SCHEMA, "digest": proof.digest, "sha256": digest([text, proof.digest])}
    write_text(text_path(directory, text), kept_text(kept))


def _joined(texts: list[str]) -> str:
    return json.dumps(["chain", *texts])


def _body(path: Path) -> Any:
    """What ``read_proof`` has checked already."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))["proof"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
