"""Inner loops, compiled where a compiler was there when Postil was installed, else in NumPy: the same results.

The environment variable POSTIL_KERNELS chooses: ``auto`` (the default) takes the compiled ones if they are there,
``plain`` takes NumPy, ``compiled`` insists. A new kernel is a prototype in kernels.h, its C beside it, its twin in
plain_x.py, its wrapper in compiled_x.py, and a line here.
"""

from postil.kernels import (
    plain,
    plain_answers,
    plain_brown,
    plain_characters,
    plain_columns,
    plain_layers,
    plain_quadratic,
    plain_ranking,
    plain_records,
    plain_sentences,
    plain_skipgram,
    plain_sparse,
    plain_tokens,
    plain_training,
    plain_trees,
    plain_windows,
    plain_words,
)
from postil.kernels.checking import ACTIVATIONS
from postil.kernels.choice import IN_USE
from postil.kernels.choice import chosen as _chosen
from postil.kernels.plain_answers import Answers, Question
from postil.kernels.plain_brown import Bigrams
from postil.kernels.plain_columns import Columns, TokenCells, Words
from postil.kernels.plain_layers import AdamMemory, AdamSettings, Noise, Totals
from postil.kernels.plain_ranking import RankingChanges, RankingLayers, RankingRates, RankingText
from postil.kernels.plain_records import Records
from postil.kernels.plain_sentences import SentencePatterns
from postil.kernels.plain_skipgram import RowChanges, ShardRoom, SkipgramChanges, SkipgramText
from postil.kernels.plain_sparse import Attributes, AttributeTokens, PairWeights, padded_labels
from postil.kernels.plain_tokens import ChunkCache, TokenisedText, TokenPatterns
from postil.kernels.plain_training import AdamKernel, AdamUpdate, Crew, TaggerBatch, TaggerKernel, TaggerShape
from postil.kernels.plain_trees import TreeCells
from postil.kernels.plain_words import StringTable, WordColumn, WordRules

__all__ = [
    "ACTIVATIONS",
    "IN_USE",
    "AdamMemory",
    "AdamSettings",
    "Noise",
    "Totals",
    "Answers",
    "Question",
    "chain_answers",
    "chain_messages",
    "chain_moments",
    "viterbi",
    "ranked_paths",
    "add_bias",
    "multiply_rows",
    "normalise_windows",
    "spread_windows",
    "sum_windows",
    "windows",
    "windows_back",
    "first_maxima",
    "normalise_rows",
    "normalise_rows_back",
    "activate",
    "sum_of_squares",
    "sums_of_occurrences",
    "adam_step",
    "adagrad_step",
    "binary_shape",
    "cells_up",
    "cells_down",
    "leaf_cells_up",
    "leaf_cells_down",
    "TreeCells",
    "quadratic_forms",
    "quadratic_forms_back",
    "quadratic_weights",
    "sums_of_pairs",
    "settle_rows",
    "TokenCells",
    "Columns",
    "Words",
    "token_cells",
    "line_cells",
    "number_words",
    "write_rows",
    "Records",
    "write_records",
    "TokenPatterns",
    "ChunkCache",
    "TokenisedText",
    "tokenise_text",
    "SentencePatterns",
    "split_sentences",
    "character_offsets",
    "lower_case",
    "RowChanges",
    "ShardRoom",
    "SkipgramChanges",
    "SkipgramText",
    "merge_rows",
    "skipgram_shard",
    "RankingChanges",
    "RankingLayers",
    "RankingRates",
    "RankingText",
    "ranking_shard",
    "Bigrams",
    "brown_merges",
    "TaggerBatch",
    "TaggerKernel",
    "TaggerShape",
    "AdamUpdate",
    "Crew",
    "new_crew",
    "tagger_kernel",
    "AdamKernel",
    "adam_kernel",
    "StringTable",
    "WordColumn",
    "WordRules",
    "word_features",
    "Attributes",
    "AttributeTokens",
    "PairWeights",
    "attribute_scores",
    "attribute_sums",
    "padded_labels",
    "attribute_counts",
    "attribute_tokens",
    "observed_features",
]

viterbi = _chosen(plain.viterbi)
ranked_paths = _chosen(plain.ranked_paths)
chain_answers = _chosen(plain_answers.chain_answers)
chain_messages = _chosen(plain.chain_messages)
chain_moments = _chosen(plain.chain_moments)
sum_windows = _chosen(plain_windows.sum_windows)
spread_windows = _chosen(plain_windows.spread_windows)
multiply_rows = _chosen(plain_windows.multiply_rows)
normalise_windows = _chosen(plain_windows.normalise_windows)
add_bias = _chosen(plain_windows.add_bias)
windows = _chosen(plain_layers.windows)
windows_back = _chosen(plain_layers.windows_back)
first_maxima = _chosen(plain_layers.first_maxima)
normalise_rows = _chosen(plain_layers.normalise_rows)
normalise_rows_back = _chosen(plain_layers.normalise_rows_back)
activate = _chosen(plain_layers.activate)
sum_of_squares = _chosen(plain_layers.sum_of_squares)
sums_of_occurrences = _chosen(plain_layers.sums_of_occurrences)
adam_step = _chosen(plain_layers.adam_step)
adagrad_step = _chosen(plain_layers.adagrad_step)
settle_rows = _chosen(plain_layers.settle_rows)
binary_shape = _chosen(plain_trees.binary_shape)
leaf_cells_up = _chosen(plain_trees.leaf_cells_up)
cells_up = _chosen(plain_trees.cells_up)
cells_down = _chosen(plain_trees.cells_down)
leaf_cells_down = _chosen(plain_trees.leaf_cells_down)
token_cells = _chosen(plain_columns.token_cells)
line_cells = _chosen(plain_columns.line_cells)
number_words = _chosen(plain_columns.number_words)
write_rows = _chosen(plain_columns.write_rows)
write_records = _chosen(plain_records.write_records)
quadratic_forms = _chosen(plain_quadratic.quadratic_forms)
quadratic_forms_back = _chosen(plain_quadratic.quadratic_forms_back)
quadratic_weights = _chosen(plain_quadratic.quadratic_weights)
sums_of_pairs = _chosen(plain_quadratic.sums_of_pairs)
tokenise_text = _chosen(plain_tokens.tokenise_text)
split_sentences = _chosen(plain_sentences.split_sentences)
character_offsets = _chosen(plain_characters.character_offsets)
lower_case = _chosen(plain_characters.lower_case)
merge_rows = _chosen(plain_skipgram.merge_rows)
skipgram_shard = _chosen(plain_skipgram.skipgram_shard)
ranking_shard = _chosen(plain_ranking.ranking_shard)
brown_merges = _chosen(plain_brown.brown_merges)
tagger_kernel = _chosen(plain_training.tagger_kernel)
adam_kernel = _chosen(plain_training.adam_kernel)
new_crew = _chosen(plain_training.new_crew)
word_features = _chosen(plain_words.word_features)
attribute_scores = _chosen(plain_sparse.attribute_scores)
attribute_sums = _chosen(plain_sparse.attribute_sums)
attribute_counts = _chosen(plain_sparse.attribute_counts)
attribute_tokens = _chosen(plain_sparse.attribute_tokens)
observed_features = _chosen(plain_sparse.observed_features)
