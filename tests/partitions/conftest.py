"""Clusters for tests: each is started once in a process of tests."""

import sys

import pytest


@pytest.fixture(scope="session")
def client():
    """Two processes of Dask."""
    import distributed  # slow to load

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="session")
def session(tmp_path_factory):
    """Spark with two executors, which are processes of their own."""
    from pyspark import sql  # slow to load

    folder = str(tmp_path_factory.mktemp("spark"))
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": folder,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": folder}.items():
            patch.setenv(name, value)
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        builder = sql.SparkSession.builder.master("local-cluster[2,1,1024]").appName("tests")
        session = builder.config(map=settings).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
