"""Many inputs in, answers out: bulk labelling, its worker processes, and the options that an answer depends on.

label           inputs of any size to bytes, in the order of the inputs
TaggingOptions  what is asked for; a command line, a server or a batch job builds it
Labeller        a model with its options: one passage in, its labelled bytes out
Labelled        a labelled passage
Summary         what ``label`` has seen
"""

from postil.tagging.bulk import Summary, label
from postil.tagging.fast_path import Labeller
from postil.tagging.options import Labelled, TaggingOptions

__all__ = ["Labelled", "Labeller", "Summary", "TaggingOptions", "label"]
