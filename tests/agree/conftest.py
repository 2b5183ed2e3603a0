"""Strategies of this folder are imported by their plain names, from here and from elsewhere."""

import sys
from pathlib import Path

FOLDER = str(Path(__file__).parent)
if FOLDER not in sys.path:
    sys.path.append(FOLDER)
