"""How the models in this repository were made: data in, a model file out, one command each."""
