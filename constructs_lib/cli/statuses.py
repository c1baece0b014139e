"""Exit statuses."""

FINE = 0
FOUND = 1
"""Something was found, or nothing fits."""
UNUSABLE = 2
"""The input cannot be used."""
NOT_WRITTEN = 74
"""The answer could not be written; the number is that of ``sysexits.h``."""
INTERRUPTED = 130
READER_GONE = 141
