"""The outcome as a page for people."""

from constructs_lib.compliance.formats.page.document import as_html

__all__ = ["as_html"]
