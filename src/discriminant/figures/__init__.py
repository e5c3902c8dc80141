"""Pictures of models and of how good they are, as plotly figures. They draw; the numbers come from below.

A figure's module, and plotly, are imported when the figure is first used.
"""

from ..dependencies import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
