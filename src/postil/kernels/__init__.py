"""Inner loops, compiled where a compiler was there when Postil was installed, else in NumPy: the same results.

The environment variable POSTIL_KERNELS chooses: ``auto`` (the default) takes the compiled ones if they are there,
``plain`` takes NumPy, ``compiled`` insists. A new kernel is a prototype in kernels.h, its C beside it, its twin in
plain_x.py, its wrapper in compiled_x.py, and its name here, twice: for the type checker and for `twins`. Modules are
imported when one of their names is first used. Readers and writers of bytes have no twin here: without a compiler the
general readers and writers do their work.
"""

import typing

from postil import lazy
from postil.kernels import choice

if typing.TYPE_CHECKING:
    from postil.kernels.checking import ACTIVATIONS
    from postil.kernels.choice import IN_USE
    from postil.kernels.compiled_columns import line_cells, token_cells, write_rows
    from postil.kernels.compiled_records import write_records
    from postil.kernels.plain import chain_messages, chain_moments, ranked_paths, viterbi
    from postil.kernels.plain_answers import Answers, Question, chain_answers
    from postil.kernels.plain_brown import Bigrams, brown_merges
    from postil.kernels.plain_characters import character_offsets, lower_case
    from postil.kernels.plain_columns import Columns, TokenCells, Words, number_words
    from postil.kernels.plain_layers import (
        AdamMemory,
        AdamSettings,
        Noise,
        Totals,
        activate,
        adagrad_step,
        adam_step,
        first_maxima,
        normalise_rows,
        normalise_rows_back,
        settle_rows,
        sum_of_squares,
        sums_of_occurrences,
        windows,
        windows_back,
    )
    from postil.kernels.plain_phrases import composed_phrases
    from postil.kernels.plain_quadratic import (
        bilinear_forms,
        chosen_products,
        quadratic_forms,
        quadratic_forms_back,
        quadratic_weights,
        sums_of_pairs,
    )
    from postil.kernels.plain_ranking import (
        RankingChanges,
        RankingLayers,
        RankingRates,
        RankingText,
        ranking_shard,
    )
    from postil.kernels.plain_records import Records
    from postil.kernels.plain_sentences import SentencePatterns, split_sentences
    from postil.kernels.plain_skipgram import (
        RowChanges,
        ShardRoom,
        SkipgramChanges,
        SkipgramText,
        merge_rows,
        skipgram_shard,
    )
    from postil.kernels.plain_sparse import (
        Attributes,
        AttributeTokens,
        PairWeights,
        attribute_counts,
        attribute_scores,
        attribute_sums,
        attribute_tokens,
        observed_features,
        padded_labels,
    )
    from postil.kernels.plain_tokens import ChunkCache, TokenisedText, TokenPatterns, tokenise_text
    from postil.kernels.plain_training import (
        AdamKernel,
        AdamUpdate,
        ComingRows,
        Crew,
        Joined,
        SpellingShape,
        TaggerBatch,
        TaggerKernel,
        TaggerShape,
        adam_kernel,
        new_crew,
        tagger_kernel,
    )
    from postil.kernels.plain_trees import (
        TreeCells,
        binary_shape,
        cells_down,
        cells_up,
        leaf_cells_down,
        leaf_cells_up,
    )
    from postil.kernels.plain_windows import (
        add_bias,
        multiply_rows,
        normalise_windows,
        spread_windows,
        sum_windows,
    )
    from postil.kernels.plain_words import StringTable, WordColumn, WordRules, word_features
else:
    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            ".checking": ["ACTIVATIONS"],
            ".choice": ["IN_USE"],
            ".compiled_columns": [
                "line_cells",
                "token_cells",
                "write_rows",
            ],  # only with a compiler
            ".compiled_records": ["write_records"],
            ".plain_answers": ["Answers", "Question"],
            ".plain_brown": ["Bigrams"],
            ".plain_columns": ["Columns", "TokenCells", "Words"],
            ".plain_layers": ["AdamMemory", "AdamSettings", "Noise", "Totals"],
            ".plain_ranking": ["RankingChanges", "RankingLayers", "RankingRates", "RankingText"],
            ".plain_records": ["Records"],
            ".plain_sentences": ["SentencePatterns"],
            ".plain_skipgram": ["RowChanges", "ShardRoom", "SkipgramChanges", "SkipgramText"],
            ".plain_sparse": ["Attributes", "AttributeTokens", "PairWeights", "padded_labels"],
            ".plain_tokens": ["ChunkCache", "TokenisedText", "TokenPatterns"],
            ".plain_training": [
                *["AdamKernel", "AdamUpdate", "ComingRows", "Crew", "Joined"],
                *["SpellingShape", "TaggerBatch", "TaggerKernel", "TaggerShape"],
            ],
            ".plain_trees": ["TreeCells"],
            ".plain_words": ["StringTable", "WordColumn", "WordRules"],
            **choice.twins(
                {
                    ".plain": ["viterbi", "ranked_paths", "chain_messages", "chain_moments"],
                    ".plain_answers": ["chain_answers"],
                    ".plain_windows": [
                        "sum_windows",
                        "spread_windows",
                        "multiply_rows",
                        "normalise_windows",
                        "add_bias",
                    ],
                    ".plain_layers": [
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
                        "settle_rows",
                    ],
                    ".plain_trees": ["binary_shape", "leaf_cells_up", "cells_up", "cells_down", "leaf_cells_down"],
                    ".plain_columns": ["number_words"],
                    ".plain_phrases": ["composed_phrases"],
                    ".plain_quadratic": [
                        "bilinear_forms",
                        "chosen_products",
                        "quadratic_forms",
                        "quadratic_forms_back",
                        "quadratic_weights",
                        "sums_of_pairs",
                    ],
                    ".plain_tokens": ["tokenise_text"],
                    ".plain_sentences": ["split_sentences"],
                    ".plain_characters": ["character_offsets", "lower_case"],
                    ".plain_skipgram": ["merge_rows", "skipgram_shard"],
                    ".plain_ranking": ["ranking_shard"],
                    ".plain_brown": ["brown_merges"],
                    ".plain_training": ["tagger_kernel", "adam_kernel", "new_crew"],
                    ".plain_words": ["word_features"],
                    ".plain_sparse": [
                        "attribute_scores",
                        "attribute_sums",
                        "attribute_counts",
                        "attribute_tokens",
                        "observed_features",
                    ],
                }
            ),
        },
    )

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
    "composed_phrases",
    "bilinear_forms",
    "chosen_products",
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
    "SpellingShape",
    "TaggerBatch",
    "TaggerKernel",
    "TaggerShape",
    "AdamUpdate",
    "ComingRows",
    "Crew",
    "Joined",
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
