"""Only what pyproject.toml cannot say: the compiled kernels, optional. Everything else stands there.

POSTIL_PURE=1 leaves them out: packaging/build_wheels.py compiles them for other platforms.
"""

import os
import runpy

from setuptools import setup

try:
    build = None if os.environ.get("POSTIL_PURE") else runpy.run_path("packaging/kernels/build.py")
except ImportError:  # no cffi: NumPy does the work
    build = None

if build is None:
    setup()
else:
    commands = {"build_ext": build["BuildLibraries"], "bdist_wheel": build["PlatformWheel"]}
    setup(ext_modules=build["extensions"](), cmdclass=commands)
