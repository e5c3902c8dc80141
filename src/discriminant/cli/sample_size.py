"""``discriminant sample-size``: the rows that a new model needs."""

from __future__ import annotations

from typing import Annotated

from ..errors import ParameterError
from . import options
from .options import command, option
from .output import show


@command
def sample_size(
    parameters: Annotated[
        int, option("N", "Candidate parameters without the intercept; each spline term and level counts.")
    ],
    share: Annotated[str, option("P[,Q,...]", "Outcome prevalence, or the proportions of all classes.")],
    auc: Annotated[str | None, option("X[,Y,...]", "Expected AUC; for several classes, of each pair.")] = None,
    r2: Annotated[
        float | None, option("X", "Expected Cox-Snell R2.  [default: from --auc, or Nagelkerke 0.15]")
    ] = None,
    shrinkage: Annotated[float, option("X", "Smallest acceptable shrinkage factor.")] = 0.9,
    margin: Annotated[
        float, option("X", "Half-width of the 95 % confidence interval of each class proportion.")
    ] = 0.05,
    json: options.Json = False,
) -> None:
    """Compute the sample size for developing a logistic model.

    The criteria are those of Riley et al. (2020) for two classes and of Pate et al. (2023) for several.

    Examples:
      discriminant sample-size --parameters 24 --share 0.174 --r2 0.288
      discriminant sample-size --parameters 10 --share 0.5,0.3,0.2 --auc 0.8,0.75,0.7
    """
    from ..validation.sample_size import sample_size as computed

    shares, aucs = _numbers("--share", share), None if auc is None else _numbers("--auc", auc)
    found = computed(
        parameters,
        shares if len(shares) > 1 else shares[0],
        r2,
        aucs if aucs is None or len(aucs) > 1 else aucs[0],
        shrinkage,
        margin,
    )
    show(found.to_dict(), lambda _: [str(found)], json)


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"{name} takes comma-separated numbers, got {text!r}.") from None
