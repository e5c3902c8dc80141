"""Pictures of models and of how good they are, as plotly figures. They draw; the numbers come from below.

A figure's module, and plotly, are imported when the figure is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
