"""Docstrings for the site: names that the source marks up for another tool are names here too."""

import re
from typing import Any

import griffe

ROLE = re.compile(r":\w+:`~?([^`]+)`")


class Roles(griffe.Extension):
    """``:class:`Request``` becomes `Request`."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(r"`\1`", obj.docstring.value)
