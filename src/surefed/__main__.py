"""`python -m surefed` is the command `surefed`."""

from surefed.cli import main

if __name__ == "__main__":
    main()
