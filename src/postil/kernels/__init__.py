# ruff: noqa: F403 - the type checker takes every public name
"""Inner loops, compiled where a compiler was there when Postil was installed, else in NumPy: the same results.

The environment variable POSTIL_KERNELS chooses: ``auto`` (the default) takes the compiled ones if they are there,
``plain`` takes NumPy, ``compiled`` insists. Modules are imported when one of their names is first used. Readers and
writers of bytes have no twin: without a compiler the general readers and writers do their work.
"""

import typing

from postil import lazy
from postil.kernels import choice

# Kernels by the module of their twins: with a compiler they come from compiled_x instead of plain_x.
_KERNELS = {
    "plain": "viterbi ranked_paths chain_messages chain_moments",
    "plain_answers": "chain_answers",
    "plain_brown": "brown_merges",
    "plain_characters": "character_offsets lower_case",
    "plain_columns": "number_words",
    "plain_layers": "windows windows_back first_maxima normalise_rows normalise_rows_back activate sum_of_squares "
    "sums_of_occurrences adam_step adagrad_step settle_rows",
    "plain_phrases": "composed_phrases",
    "plain_quadratic": "bilinear_forms chosen_products quadratic_forms quadratic_forms_back quadratic_weights "
    "sums_of_pairs",
    "plain_ranking": "ranking_shard",
    "plain_sentences": "split_sentences",
    "plain_skipgram": "merge_rows skipgram_shard",
    "plain_sparse": "attribute_scores attribute_sums attribute_counts attribute_tokens observed_features",
    "plain_tokens": "tokenise_text",
    "plain_training": "tagger_kernel adam_kernel new_crew",
    "plain_trees": "binary_shape leaf_cells_up cells_up cells_down leaf_cells_down",
    "plain_windows": "sum_windows spread_windows multiply_rows normalise_windows add_bias",
    "plain_words": "word_features",
}
# What both share, and what exists only with a compiler.
_OTHERS = {
    ".checking": "ACTIVATIONS",
    ".choice": "IN_USE",
    ".compiled_columns": "line_cells token_cells write_rows",
    ".compiled_records": "write_records",
    ".plain_answers": "Answers Question",
    ".plain_brown": "Bigrams",
    ".plain_columns": "Columns TokenCells Words",
    ".plain_layers": "AdamMemory AdamSettings Noise Totals",
    ".plain_ranking": "RankingChanges RankingLayers RankingRates RankingText",
    ".plain_records": "Records",
    ".plain_sentences": "SentencePatterns",
    ".plain_skipgram": "RowChanges ShardRoom SkipgramChanges SkipgramText",
    ".plain_sparse": "Attributes AttributeTokens PairWeights padded_labels",
    ".plain_tokens": "ChunkCache TokenisedText TokenPatterns",
    ".plain_training": "AdamKernel AdamUpdate ComingRows Crew Joined SpellingShape TaggerBatch TaggerKernel "
    "TaggerShape",
    ".plain_trees": "TreeCells",
    ".plain_words": "StringTable WordColumn WordRules",
}

if typing.TYPE_CHECKING:
    from postil.kernels.checking import *
    from postil.kernels.choice import *
    from postil.kernels.compiled_columns import *
    from postil.kernels.compiled_records import *
    from postil.kernels.plain import *
    from postil.kernels.plain_answers import *
    from postil.kernels.plain_brown import *
    from postil.kernels.plain_characters import *
    from postil.kernels.plain_columns import *
    from postil.kernels.plain_layers import *
    from postil.kernels.plain_phrases import *
    from postil.kernels.plain_quadratic import *
    from postil.kernels.plain_ranking import *
    from postil.kernels.plain_records import *
    from postil.kernels.plain_sentences import *
    from postil.kernels.plain_skipgram import *
    from postil.kernels.plain_sparse import *
    from postil.kernels.plain_tokens import *
    from postil.kernels.plain_training import *
    from postil.kernels.plain_trees import *
    from postil.kernels.plain_windows import *
    from postil.kernels.plain_words import *
else:
    _modules = {f"postil.kernels.{choice.twin(module)}": names.split() for module, names in _KERNELS.items()}
    _modules.update({module: names.split() for module, names in _OTHERS.items()})
    __all__ = [name for names in _modules.values() for name in names]
    __getattr__, __dir__ = lazy.exports(__name__, _modules)
