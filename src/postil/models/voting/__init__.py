"""Rules that vote for entities, how reliable they are, and what their votes add to the scores of a tagger."""
