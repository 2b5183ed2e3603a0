"""Formwright: from a workload to a qualified kernel."""
