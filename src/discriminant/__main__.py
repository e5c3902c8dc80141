"""``python -m discriminant``, or ``discriminant``: the command line, where the packages it needs are at hand."""

import sys

from .dependencies import explained


def main() -> None:
    """Run the command that the arguments of this process ask for."""
    try:
        from .cli import main as run

        run()
    except Exception as error:
        told = explained(error)
        if told is None:
            raise
        sys.exit(f"Error: {told}")


if __name__ == "__main__":
    main()
