"""``make wasm``: the C runtime compiled to WebAssembly, with vector instructions and without.

Needs the package ``ziglang``, a C compiler with a C library for WebAssembly inside. The version that the extra ``wasm``
pins makes the bytes that are part of the package. An export needs no compiler.

    python packaging/wasm.py [FOLDER]
"""

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from postil.export.amalgamation import KERNELS, amalgamation, header

HERE = Path(__file__).resolve().parents[1] / "src" / "postil" / "export" / "web"
TRAINER = ("trainer.c", "training.c", "layers.c", "forward_backward.c", "windows.c", "characters.c")
"""What the page that trains has besides the runtime: kernels of the package, and what JavaScript calls of them."""
BUILDS: dict[str, Sequence[str]] = {
    "postil.wasm": (),
    "postil-simd.wasm": ("-msimd128",),
    "trainer.wasm": ("-msimd128", *TRAINER),
}
"""File -> what it needs of the machine, and which sources it has besides those of all."""
# As of the kernels (packaging/kernels/build.py): products and sums are not fused, sums are not reordered.
# Pages have memory for more words than small machines (unused memory costs nothing).
FLAGS = "-DPOSTIL_CACHED_BYTES=67108864 -std=c99 -O3 -ffp-contract=off -fno-math-errno -Wall -Wextra -Werror".split()
# No main function, no symbols.
LINKED = "-mexec-model=reactor -s -Wl,--gc-sections -Wl,-z,stack-size=1048576".split()


def compiled(folder: Path) -> None:
    """Write the files of `BUILDS` into a folder."""
    with tempfile.TemporaryDirectory() as sources:
        for name, text in (("postil.c", amalgamation()), ("postil.h", header())):
            (Path(sources) / name).write_text(text, encoding="utf-8")
        for path in (*HERE.glob("*.c"), *KERNELS.glob("*.[ch]")):
            (Path(sources) / path.name).write_bytes(path.read_bytes())
        for name, needs in BUILDS.items():
            compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-wasi"]
            # Relative paths: none of this machine's end up in the file.
            command = [*compiler, *FLAGS, *needs, *LINKED, "postil.c", "glue.c", "-o", str(folder.absolute() / name)]
            subprocess.run(command, cwd=sources, check=True)


def main() -> int:
    if importlib.util.find_spec("ziglang") is None:
        print("make wasm needs Zig: pip install 'postil[wasm]'", file=sys.stderr)
        return 1
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    compiled(folder)
    for name in BUILDS:
        print(f"{folder / name}: {(folder / name).stat().st_size / 1000:.0f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
