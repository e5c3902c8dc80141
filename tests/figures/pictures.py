"""What tests of figures share: data, and the rules every figure keeps."""

import json

import numpy as np

from discriminant.figures import alt_text
from helpers import normal_classes

NAMES = np.array(["ash", "birch", "cedar"])


def trees(K=3, p=4, n=150, seed=0):
    """Rows of K classes with names."""
    X, y = normal_classes(n, p, K, seed)
    return X, NAMES[y]


def sound(figure):
    """The figure, after checking what holds of all: named axes, a title, and JSON that any reader accepts."""

    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    parsed = json.loads(figure.to_json(), parse_constant=refuse)
    assert parsed["layout"]["title"]["text"]
    drawn = parsed["layout"]["meta"]["alt"]
    assert drawn.endswith(".")
    assert drawn in alt_text(figure)
    assert parsed["layout"]["title"]["subtitle"]["text"] or "path" in parsed["layout"]["title"]["text"]
    drawn = {key: axis for key, axis in parsed["layout"].items() if key.startswith(("xaxis", "yaxis"))}
    assert any(axis.get("title", {}).get("text") for axis in drawn.values())
    assert parsed["layout"]["template"]["layout"]["paper_bgcolor"] == "white"
    return figure


def subtitle(figure):
    return figure.layout.title.subtitle.text.replace("<br>", " ").replace("\xa0", " ")


def named(figure, name):
    """The only trace whose name begins like this."""
    (found,) = [trace for trace in figure.data if (trace.name or "").startswith(name) and trace.showlegend is not False]
    return found


def legend(figure):
    return [trace.name for trace in figure.data if trace.name and trace.showlegend is not False]
