"""A live page of runs and studies in progress, read from their journals; nothing is written."""
