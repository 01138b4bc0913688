"""Vehicle files, their grammar and the recipes that build diagrams from them."""
