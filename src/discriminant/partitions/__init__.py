"""Rows that are read anew in every pass: files larger than memory, and tables that lie on other machines."""
