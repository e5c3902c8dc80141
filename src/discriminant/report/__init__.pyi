"""The reports, and where they are written."""

from .table_report import write_report

__all__ = ["write_report"]
