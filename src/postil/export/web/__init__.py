"""A model for browsers and Node: the C runtime as WebAssembly, the exported model, and the JavaScript around them.

build        `make wasm` compiles the runtime, and with trainer.c the training step; exports need no compiler
writing      a model file to a page, one ES module, or the files of an npm package
runtime.mjs  strings in, tokens with labels and probabilities out: the same file in all three
try.js       the page to try a model
trainer      the page that trains: training.mjs, records.mjs, trainer.js
"""

from postil.export.web.writing import Written, as_exported, write

__all__ = ["write", "as_exported", "Written"]
