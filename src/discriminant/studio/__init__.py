"""The studio, in the browser: pages read what is clicked, call the library and show what it gives."""

from .server import serve

__all__ = ["serve"]
