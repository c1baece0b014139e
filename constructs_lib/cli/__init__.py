"""The command ``accel-fleet``: which machines, what fits on them, whether an account can run a template, what it would
do with a trace of work, and whether it uses accelerators responsibly.

Each document (``--json``) is one JSON object with ``schema``, for example ``accel-fleet/recommend/1``, and the fields
of the ``document()`` of what answers; the number grows when a field is taken away or changes its meaning.

Exit status: 0 fine, 1 something was found or nothing fits, 2 the input cannot be used (or there are no credentials), 74
the output cannot be written, 130 interrupted, 141 whoever read the output has gone.
"""

from constructs_lib.cli.command import main

__all__ = ["main"]
