# ruff: noqa: F403 - the type checker takes every public name
"""Inner loops, compiled where a compiler was there when Postil was installed, else in NumPy: the same results.

The environment variable POSTIL_KERNELS chooses: ``auto`` (the default) takes the compiled ones if they are there,
``plain`` takes NumPy, ``compiled`` insists. ``in_use()`` tells which they are. Modules are imported when one of their
names is first used. Readers and writers of bytes have no twin: without a compiler the general readers and writers do
their work.
"""

import typing

from postil import lazy
from postil.kernels import choice

# Kernels by the chapter of their twins: with a compiler they come from compiled_x instead of plain_x.
_KERNELS = {
    "chain": "viterbi ranked_paths chain_messages chain_moments",
    "layers": "windows windows_back first_maxima normalise_rows normalise_rows_back activate sum_of_squares "
    "sums_of_occurrences adam_step adagrad_step settle_rows sum_windows spread_windows",
    "pretraining": "brown_merges merge_rows ranking_shard skipgram_shard",
    "segmentation": "split_sentences tokenise_text",
    "sparse": "attribute_scores attribute_sums attribute_counts",
    "text": "character_offsets string_slots word_features",
    "trees": "binary_shape leaf_cells_up cells_up cells_down leaf_cells_down "
    "quadratic_forms quadratic_forms_back quadratic_weights sums_of_pairs",
}
# Names that both share, and kernels that exist only with a compiler.
_OTHERS = {
    ".checking": "ACTIVATIONS",
    ".choice": "IN_USE KernelsInUse in_use",
    ".compiled_chain": "chain_answers",
    ".compiled_items": "CrfFile item_bytes items_of",
    ".compiled_sparse": "descent_pass online_pass",
    ".compiled_text": "line_cells token_cells write_records write_rows",
    ".compiled_trees": "bilinear_forms chosen_products composed_phrases",
    ".plain_chain": "ChainAnswers Question",
    ".plain_layers": "AdamMemory AdamSettings Noise Totals",
    ".plain_pretraining": "Bigrams RankingLayers RankingRates RankingText RowChanges ShardChanges ShardRoom "
    "SkipgramText",
    ".plain_records": "Records",
    ".plain_segmentation": "ChunkCache SentencePatterns TokenisedText TokenPatterns",
    ".plain_sparse": "Attributes AttributeTokens PairWeights attribute_tokens observed_features padded_labels",
    ".plain_text": "Columns StringTable TokenCells WordColumn WordRules",
    ".plain_trees": "TreeCells",
    ".training": "AdamKernel AdamUpdate Crew SpellingShape TableShape TaggerBatch TaggerKernel TaggerShape adam_kernel "
    "tagger_kernel",
}

if typing.TYPE_CHECKING:
    from postil.kernels.checking import *
    from postil.kernels.choice import *
    from postil.kernels.compiled_chain import chain_answers as chain_answers
    from postil.kernels.compiled_items import *
    from postil.kernels.compiled_sparse import descent_pass as descent_pass
    from postil.kernels.compiled_sparse import online_pass as online_pass
    from postil.kernels.compiled_text import line_cells as line_cells
    from postil.kernels.compiled_text import token_cells as token_cells
    from postil.kernels.compiled_text import write_records as write_records
    from postil.kernels.compiled_text import write_rows as write_rows
    from postil.kernels.compiled_trees import bilinear_forms as bilinear_forms
    from postil.kernels.compiled_trees import chosen_products as chosen_products
    from postil.kernels.compiled_trees import composed_phrases as composed_phrases
    from postil.kernels.plain_chain import *
    from postil.kernels.plain_layers import *
    from postil.kernels.plain_pretraining import *
    from postil.kernels.plain_records import *
    from postil.kernels.plain_segmentation import *
    from postil.kernels.plain_sparse import *
    from postil.kernels.plain_text import *
    from postil.kernels.plain_trees import *
    from postil.kernels.training import *
else:
    _modules = {f".{choice.PREFIX}_{chapter}": names.split() for chapter, names in _KERNELS.items()}
    for _module, _names in _OTHERS.items():
        _modules[_module] = [*_modules.get(_module, ()), *_names.split()]
    __all__ = [name for names in _modules.values() for name in names]
    __getattr__, __dir__ = lazy.exports(__name__, _modules)
