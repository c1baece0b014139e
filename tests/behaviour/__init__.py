"""Behaviour field cases, run on a small simulator that is fed from the synthesized template."""
