"""Raises a group to what its queue needs, and never lowers it."""
