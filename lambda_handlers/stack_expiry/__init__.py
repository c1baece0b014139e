"""Ends a development stack when its time is over."""
