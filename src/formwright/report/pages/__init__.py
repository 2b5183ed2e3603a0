"""Makers of pages: from the files of a run, an artifact, a proof or a study to a ``Page``."""
