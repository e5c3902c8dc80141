"""Entry point of the command line: ``discriminant`` or ``python -m discriminant``."""

import sys

from .dependencies import dependency_error


def main() -> None:
    """Run the command given by the arguments of this process."""
    try:
        from .cli import main as run

        run()
    except Exception as error:
        cause = dependency_error(error)
        if cause is None:
            raise
        sys.exit(f"Error: {cause}")


if __name__ == "__main__":
    main()
