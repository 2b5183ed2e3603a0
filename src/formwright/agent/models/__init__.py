"""Proposers behind HTTP servers of language models."""
