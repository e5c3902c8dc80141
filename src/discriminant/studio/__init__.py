"""The studio, the web interface: its pages call the library and show the results."""

from .server import serve

__all__ = ["serve"]
