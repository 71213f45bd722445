"""Only what pyproject.toml cannot say: the compiled kernels, optional. Everything else stands there."""

import runpy

from setuptools import setup

try:
    extensions = [runpy.run_path("src/postil/kernels/build.py")["extension"]()]
except ImportError:  # no cffi: NumPy does the work
    extensions = []

setup(ext_modules=extensions, options={"bdist_wheel": {"py_limited_api": "cp311"}} if extensions else {})
