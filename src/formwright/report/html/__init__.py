"""A page as one HTML file: no network, no build step, nothing beside it.

``document`` puts the file together, ``blocks`` dispatches over the union of blocks, and each kind
of block has a module of its own. Style and script stand beside them and are put into the file.
"""

from formwright.report.html.document import html_of

__all__ = ["html_of"]
