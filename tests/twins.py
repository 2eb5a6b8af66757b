"""What the plain implementations in ``tests/reference`` say, in the terms of es_dedup, of which they import nothing."""

from typing import Final

from es_dedup.model import Relation

RELATIONS: Final = {
    "undecided": Relation.DIFFERENT,
    "different": Relation.DIFFERENT,
    "duplicate": Relation.DUPLICATE,
    "left_in_right": Relation.CONTAINED,
    "right_in_left": Relation.CONTAINS,
}
