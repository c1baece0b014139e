"""Finds what carries a fleet's tag and belongs to nothing, tells what it costs, and frees it when asked to."""
