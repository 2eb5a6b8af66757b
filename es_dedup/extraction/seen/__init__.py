"""What the choice of a main text sees of a document: kinds of blocks, hints of names, boxes, posts and comments by their form."""
