"""``python -m benchmarks.rule_tables FOLDER``: tables whose classes follow from combinations of levels.

The attributes are those of well-known tables of this kind (the MONK's problems, car evaluation, nursery, tic-tac-toe
endgames); rows and classes are computed here. Tables named ``noisy_`` have 5 % of their classes replaced at random.
``benchmarks.quality`` reads the folder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

Array = np.ndarray[Any, Any]

NOISE: Final = 0.05
_LINES: Final = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def _every_row(sizes: list[int]) -> Array:
    return np.array(list(product(*(range(size) for size in sizes))))


def _monk(rule: Callable[[Array], Array]) -> pd.DataFrame:
    rows = _every_row([3, 3, 2, 3, 4, 2]) + 1
    return _frame(rows, rule(rows.T))


def monk1() -> pd.DataFrame:
    """Two attributes are equal, or a third has its first level."""
    return _monk(lambda a: (a[0] == a[1]) | (a[4] == 1))


def monk2() -> pd.DataFrame:
    """Exactly two of six attributes have their first level."""
    return _monk(lambda a: (a == 1).sum(axis=0) == 2)


def monk3() -> pd.DataFrame:
    """Combinations of the levels of three attributes."""
    return _monk(lambda a: ((a[4] == 3) & (a[3] == 1)) | ((a[4] != 4) & (a[1] != 3)))


def three_of_nine() -> pd.DataFrame:
    """Exactly three of nine binary attributes are set."""
    rows = _every_row([2] * 9)
    return _frame(rows, rows.sum(axis=1) == 3)


def majority_or_pair() -> pd.DataFrame:
    """At least six of nine binary attributes are set, or the first two differ and the last two are equal."""
    rows = _every_row([2] * 9)
    differ = (rows[:, 0] != rows[:, 1]) & (rows[:, 7] == rows[:, 8])
    return _frame(rows, (rows.sum(axis=1) >= 6) | differ)


def car() -> pd.DataFrame:
    """Four classes by thresholds of costs and comfort, with levels that exclude the better classes."""
    rows = _every_row([4, 4, 4, 3, 3, 3])
    buying, maintenance, doors, persons, boot, safety = rows.T
    cost = np.maximum(buying, maintenance) + (buying + maintenance > 4)
    comfort = np.minimum(persons, boot + (doors > 1))
    value = np.where(cost >= 4, 0, np.where(cost == 3, 1, 2)) + comfort + (safety == 2)
    grade = np.digitize(value, [2, 4, 5])
    return _frame(rows, np.where((safety == 0) | (persons == 0), 0, grade))


def nursery() -> pd.DataFrame:
    """Four classes by a hierarchy of employment, structure and finances, and health."""
    rows = _every_row([3, 5, 4, 4, 3, 2, 3, 3])[::4]
    parents, nurse, form, children, housing, finance, social, health = rows.T
    employment = parents + (nurse > 1) + (nurse > 3)
    family = np.where((form > 2) | (children > 2), 2, np.maximum(form, children) > 0)
    home = np.maximum(housing, family + finance)
    grade = 1 + (employment + home + (social == 2) > 3) + (health == 1) * (employment > 1)
    return _frame(rows, np.where(health == 2, 0, grade))


def tic_tac_toe() -> pd.DataFrame:
    """All boards at the end of the game; the class is whether the first player has won."""
    found = sorted(set(_endings((0,) * 9, 1)))
    boards = np.array(found)
    return _frame(np.array(["empty", "x", "o"])[boards], [_has_won(board, 1) for board in found])


def _has_won(board: tuple[int, ...], player: int) -> bool:
    return any(all(board[cell] == player for cell in line) for line in _LINES)


def _endings(board: tuple[int, ...], player: int) -> Iterator[tuple[int, ...]]:
    if _has_won(board, 3 - player) or 0 not in board:
        yield board
        return
    for cell in range(9):
        if board[cell] == 0:
            yield from _endings((*board[:cell], player, *board[cell + 1 :]), 3 - player)


def _frame(rows: Array, classes: Any) -> pd.DataFrame:
    """Most attributes are integers, as such tables are often stored."""
    columns = {f"a{j + 1}": column for j, column in enumerate(rows.T)}
    return pd.DataFrame({**columns, "target": [f"c{int(own)}" for own in classes]})


def noisy(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with some classes replaced by others of the table, at random."""
    rng = np.random.default_rng(0)
    changed = rng.random(len(frame)) < NOISE
    drawn = rng.choice(frame["target"].unique(), len(frame))
    return frame.assign(target=np.where(changed, drawn, frame["target"]))


TABLES: Final = (monk1, monk2, monk3, three_of_nine, majority_or_pair, car, nursery, tic_tac_toe)


def main() -> int:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in TABLES:
        frame = make().sample(frac=1, random_state=0)
        frame.to_csv(folder / f"{make.__name__}.csv", index=False)
        noisy(frame).to_csv(folder / f"noisy_{make.__name__}.csv", index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
