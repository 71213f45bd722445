"""The feature dicts that a package makes for CRFsuite: ``python client_features.py usaddress < tokens.json``."""

import importlib
import json
import sys

package = importlib.import_module(sys.argv[1])
json.dump([package.tokens2features(tokens) for tokens in json.load(sys.stdin)], sys.stdout)
