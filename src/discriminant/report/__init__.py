"""What was found, for somebody who was not there: one HTML file that needs nothing else."""

from .table_report import write_report

__all__ = ["write_report"]
