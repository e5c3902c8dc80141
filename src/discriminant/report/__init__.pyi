"""The public names of reports."""

from .table_report import TableReport, write_report

__all__ = ["TableReport", "write_report"]
