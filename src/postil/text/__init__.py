"""Characters to tokens and sentences: documents, readers, writers, tokeniser, label schemes."""

from postil.text.document import Document, Entity, Sentence

__all__ = ["Document", "Entity", "Sentence"]
