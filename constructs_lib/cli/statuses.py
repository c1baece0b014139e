"""Exit statuses."""

FINE = 0
FOUND = 1
"""Something was found, or nothing fits."""
UNUSABLE = 2
"""The input cannot be used."""
INTERRUPTED = 130
READER_GONE = 141
