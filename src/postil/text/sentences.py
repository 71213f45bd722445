def split_sentences(tokens): return [(0,len(tokens))]
