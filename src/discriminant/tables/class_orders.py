"""Names of ordered classes, from which an order is proposed; it is never applied without being asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

#: Scales from the lowest to the highest level; names of one position are alternatives, separated by "|".
SCALES: Final = (
    "none|absent, minimal|very slight, slight|very mild, mild|light, moderate|medium, severe|serious|heavy, very severe"
    "|critical, fatal",
    "very low, low, medium low, medium|moderate|average|normal, medium high, high, very high",
    "very small|xs, small|s, medium|m, large|l, very large|xl, xxl",
    "strongly disagree, disagree, somewhat disagree|slightly disagree, neutral|neither agree nor disagree|undecided, "
    "somewhat agree|slightly agree, agree, strongly agree",
    "very dissatisfied, dissatisfied, neutral|neither satisfied nor dissatisfied, satisfied, very satisfied",
    "never, rarely|seldom, sometimes|occasionally, often|frequently, usually, always",
    "never, monthly, weekly, daily",
    "very poor|very bad, poor|bad, fair|average|ok, good, very good, excellent",
    "very unlikely, unlikely, neutral, likely, very likely",
    "unacceptable, insufficient|fail, sufficient|pass, satisfactory, good, very good|merit, excellent|distinction",
    "beginner|novice, intermediate, advanced, expert",
    "primary, secondary, tertiary",
    "stage 0, stage i|stage 1, stage ii|stage 2, stage iii|stage 3, stage iv|stage 4",
    "i, ii, iii, iv, v",
    "first, second, third, fourth, fifth",
)


def proposed_order(classes: Sequence[Any]) -> list[Any] | None:
    """The classes in the order of a known scale; None if they are not on one, or are fewer than three.

    >>> proposed_order(["High", "Low", "Medium"])
    ['Low', 'Medium', 'High']
    >>> proposed_order(["cat", "dog", "fish"]) is None
    True
    """
    named = {" ".join(str(label).casefold().replace("_", " ").replace("-", " ").split()): label for label in classes}
    if len(classes) < 3 or len(named) < len(classes):
        return None
    for scale in SCALES:
        position = {name.strip(): place for place, names in enumerate(scale.split(",")) for name in names.split("|")}
        places = [position.get(name) for name in named]
        if None not in places and len(set(places)) == len(places):
            return [named[name] for name in sorted(named, key=lambda name: position[name])]
    return None
