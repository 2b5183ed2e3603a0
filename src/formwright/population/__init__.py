"""Templates that were proposed, with what is known of each: proofs, facts, counterexamples."""
