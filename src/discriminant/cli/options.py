"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="The table: CSV and other delimited text (also gzip, bzip2, zstd), Parquet, Arrow, Feather or SVMlight; "
        "- is standard input.",
    ),
]
ModelPath = Annotated[str, typer.Argument(metavar="MODEL", help="A model file written by discriminant fit.")]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COLUMN", help="The column of classes (SVMlight has none: leave it out)."),
]
Weights = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="A column of row weights: 3 counts like three such rows.")
]
Groups = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="A column of groups (patients, sites): their rows are held out together."),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out; may be repeated.")]
Types = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=KIND", help="What a column is: number, category or boolean; may be repeated."),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="POLICY",
        help="Missing values: 'indicator' (the mean, and a column that marks them), 'drop' (leave the rows out) or "
        "'refuse'.",
    ),
]
Rare = Annotated[
    int,
    typer.Option(
        metavar="ROWS",
        help="Levels with fewer rows count as (other), and columns that differ in fewer rows are left out; at most a "
        "twentieth of the rows. 1 keeps all.",
    ),
]
MaxLevels = Annotated[
    int, typer.Option(metavar="N", help="A category keeps its N most frequent levels; others count as (other).")
]
Delimiter = Annotated[str | None, typer.Option(metavar="CHAR", help="What separates values, if not found out rightly.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns.", show_default=False),
]
Encoding = Annotated[str | None, typer.Option(metavar="NAME", help="How the text is encoded, for example latin-1.")]
Decimal = Annotated[str | None, typer.Option(metavar="CHAR", help="The decimal sign, point or comma.")]
Ragged = Annotated[
    str, typer.Option(metavar="POLICY", help="Lines with another number of values: 'refuse', or 'skip' and count them.")
]
Absent = Annotated[
    str,
    typer.Option(metavar="POLICY", help="Columns of the training that are not there: 'refuse', or take as 'missing'."),
]
Costs = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A table of costs: true classes in the first column, what is decided in the header, costs in the cells.",
    ),
]
Report = Annotated[str | None, typer.Option(metavar="FILE", help="Also write a report to read in a browser (.html).")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="The result as JSON, for machines.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]
