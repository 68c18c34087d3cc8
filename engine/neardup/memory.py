"""How much memory this process has for itself: file pages that it merely maps do not count."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def private_bytes() -> int:
    try:
        status = Path("/proc/self/status").read_bytes()
        return int(status.split(b"RssAnon:", 1)[1].split(None, 1)[0]) * 1024
    except (OSError, IndexError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
