"""Raises a group to what its queue needs, or to what another group lacks, and never lowers it."""
