"""Evaluators that judge a design apart from the cost model that chose it."""
