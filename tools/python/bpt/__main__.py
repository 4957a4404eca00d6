"""python -m bpt: the program `bpt` of this package, with its options and exit status."""
import os
import subprocess
import sys

from ._library import Error, program


def main() -> None:
    try:
        path = program()
        if os.name == "posix":
            os.execv(path, ["bpt", *sys.argv[1:]])
        sys.exit(subprocess.call([path, *sys.argv[1:]]))
    except (Error, OSError) as problem:
        sys.exit(f"bpt: {problem}")


if __name__ == "__main__":
    main()
