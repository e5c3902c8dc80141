"""Speed of discriminant compared with other packages, on the same data and threads, at equal quality."""
