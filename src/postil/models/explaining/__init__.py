"""Why a model answers what it answers: contributions of words, features and phrases."""
