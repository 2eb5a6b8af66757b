"""Training of the block model that extracts main text: labels from gold text, odds of tokens, trees, figures."""
