"""Vehicle files, their grammar, and the templates that build diagrams from them."""
