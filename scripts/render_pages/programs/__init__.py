"""One module for each family of programs; ``registry`` lists them."""
