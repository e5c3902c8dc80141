"""Databases in which exported queries are run."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest
from databases import DuckDB, PostgreSQL, SQLite


@pytest.fixture(scope="session")
def postgres():
    """A connection to a server of its own, which only listens to a socket in its folder."""
    programs = shutil.which("initdb") or max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=None)
    assert programs, "These tests need PostgreSQL: apt-get install postgresql"
    bin_folder = Path(programs).parent
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a socket's path may not be long
    user = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres")
        user = ["runuser", "-u", "postgres", "--"]

    def run(program, *arguments):
        command = [*user, bin_folder / program, "-D", folder / "data", *arguments]
        subprocess.run(command, check=True, cwd="/", stdout=subprocess.DEVNULL)

    run("initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-N")
    settings = f"-k {folder} -c listen_addresses='' -F"
    run("pg_ctl", "-o", settings, "-w", "-l", folder / "log", "start")
    try:
        with psycopg.connect(host=str(folder), user="postgres", dbname="postgres", autocommit=True) as connection:
            yield connection
    finally:
        run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(folder)


@pytest.fixture(params=["duckdb", "postgresql", "sqlite"])
def database(request):
    if request.param == "postgresql":
        return PostgreSQL(request.getfixturevalue("postgres"))
    return DuckDB() if request.param == "duckdb" else SQLite()
