"""Postil inside other programs: columns of dataframes and files, pipelines. Each needs an extra."""
