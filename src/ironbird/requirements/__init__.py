"""Requirements in signal temporal logic: thousands of flights judged at once, with margins and plain sentences.

`ironbird.conditions` reads a text, `robustness` judges a trace, `explain` describes the result, `library` has ready
requirements, `score` gives a graded safety score.
"""
