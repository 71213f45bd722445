"""Models for places without Python: C, web pages, ONNX."""
