"""Releases the instances of one group that have been idle for the whole window, and those past a hard limit."""
