"""The report of a rehearsal as one page: no file, font or script from elsewhere, and the same bytes each time."""

from constructs_lib.rehearsal.page.document import page

__all__ = ["page"]
