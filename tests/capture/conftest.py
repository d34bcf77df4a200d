"""Every capture of zot and pi that there is, of four programs."""

from tests.capture.recorded import captures

__all__ = ["captures"]
