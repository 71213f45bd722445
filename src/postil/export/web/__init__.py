"""A model for browsers and Node: the C runtime as WebAssembly, the exported model, and the JavaScript around them.

build        compiles the runtime and glue.c to postil.wasm and postil-simd.wasm (`make wasm`); exports need no compiler
writing      a model file to a page, one ES module, or the files of an npm package
runtime.mjs  strings in, tokens with labels and probabilities out: the same file in all three
try.js       the page to try a model
"""

from postil.export.web.writing import Written, as_exported, write

__all__ = ["write", "as_exported", "Written"]
