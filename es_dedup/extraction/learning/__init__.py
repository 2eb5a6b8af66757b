"""Training and evaluation of the block model: labels from gold text, odds of tokens, trees, cross-validation."""
