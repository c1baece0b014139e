"""Batch jobs on FPGAs: each names the design that it needs."""
