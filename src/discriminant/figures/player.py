"""Figures that move: frames with a play button and a slider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import house

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_MILLISECONDS = 350


@dataclass(frozen=True)
class Moment:
    """One frame: what some traces look like then, the words above the plot, and the mark on the slider."""

    traces: list[dict[str, Any]]
    words: str
    mark: str


def animate(made: Figure, moments: Sequence[Moment], moving: list[int]) -> None:
    """Give a figure a play button and a slider; ``moving`` are the numbers of the traces that change."""
    import plotly.graph_objects as go

    made.frames = [
        go.Frame(
            data=moment.traces,
            traces=moving,
            name=str(i),
            layout={"title": {"subtitle": {"text": "<br>".join(house.subtitle_lines(moment.words))}}},
        )
        for i, moment in enumerate(moments)
    ]
    timing = {"frame": {"duration": _MILLISECONDS, "redraw": True}, "transition": {"duration": 0}}
    at_once = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    made.update_layout(
        updatemenus=[
            {
                "type": "buttons",
                "direction": "left",
                "showactive": False,
                "x": 0,
                "y": 0,
                "xanchor": "left",
                "yanchor": "top",
                "pad": {"t": 80},
                "buttons": [
                    {"label": "play", "method": "animate", "args": [None, {**timing, "fromcurrent": True}]},
                    {"label": "pause", "method": "animate", "args": [[None], at_once]},
                ],
            }
        ],
        sliders=[
            {
                "x": 0.2,
                "len": 0.8,
                "pad": {"t": 62},
                "currentvalue": {"visible": False},
                "steps": [
                    {"label": moment.mark, "method": "animate", "args": [[str(i)], at_once]}
                    for i, moment in enumerate(moments)
                ],
            }
        ],
    )
    made.update_layout(margin={**made.layout.margin.to_plotly_json(), "b": 145}, height=made.layout.height + 85)
