"""The application layer: open a table, code it, fit, compare, evaluate, predict, explain, store and report.

The command line and the studio call these functions and render what they return.
"""
