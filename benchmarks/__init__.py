"""Our times against the rivals': the same data, the same threads, one run, at equal quality."""
