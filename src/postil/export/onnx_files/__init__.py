"""The files that are copied into the folder of an exported model. They run without Postil."""
