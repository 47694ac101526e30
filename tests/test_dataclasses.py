"""finapi.core.dataclasses does what the standard decorator does, and later."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import pytest

from finapi.core import dataclasses as own

STANDARD_AND_OURS = pytest.mark.parametrize("module", [dataclasses, own], ids=["standard", "ours"])


def classes(module: Any) -> tuple[Any, Any, Any]:
    """A frozen class, one below it, and one that can be changed: made by the module's decorator."""

    @module.dataclass(frozen=True, slots=True)
    class Point:
        """A point."""

        x: int
        put: int = 2
        hidden: str = module.field(default="h", repr=False, compare=False)
        seen: list[int] = module.field(default_factory=list)

        def total(self) -> int:
            """Of both."""
            return self.x + self.put

    @module.dataclass(frozen=True, slots=True)
    class Named(Point):
        """A point with a name."""

        name: str = "n"
        shouted: str = module.field(default="", init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "shouted", self.name.upper())

    @module.dataclass
    class Count:
        """A count."""

        number: int = 0

    return Point, Named, Count


@STANDARD_AND_OURS
def test_an_object_is_made_of_positions_names_and_defaults(module: Any) -> None:
    point, named, count = classes(module)
    assert repr(point(1)).endswith(".Point(x=1, put=2, seen=[])")
    assert point(1, put=4).total() == 5
    assert point(1).seen is not point(1).seen
    assert (named(1, name="a").shouted, count(3).number) == ("A", 3)
    for given, refused in (((), {}), ((1, 2, "h", [], 5), {}), ((1,), {"z": 1}), ((1,), {"x": 1})):
        with pytest.raises(TypeError):
            point(*given, **refused)
    assert point.__match_args__ == ("x", "put", "hidden", "seen")
    assert point.__doc__ == "A point."


@STANDARD_AND_OURS
def test_objects_of_one_class_are_alike_by_their_fields(module: Any) -> None:
    point, named, count = classes(module)
    assert point(1) == point(1, hidden="other") != point(2)
    assert point(1) != named(1)
    assert hash(point(1, seen=())) == hash(point(1, hidden="other", seen=()))
    assert count(1) == count(1)
    with pytest.raises(TypeError):
        hash(count(1))


@STANDARD_AND_OURS
def test_a_frozen_object_has_no_other_attribute_and_does_not_change(module: Any) -> None:
    point, named, count = classes(module)
    for one in (point(1), named(1)):
        for act in (partial(setattr, one, "x", 2), partial(delattr, one, "x")):
            with pytest.raises(dataclasses.FrozenInstanceError):
                act()
        assert not hasattr(one, "__dict__")
    changing = count()
    changing.number += 1
    assert changing.number == count.number + 1 == 1


@STANDARD_AND_OURS
def test_its_fields_are_known_to_both_libraries(module: Any) -> None:
    point, named, _ = classes(module)
    one = named(1, name="a")
    for library in (dataclasses, module):
        assert [each.name for each in library.fields(one)] == ["x", "put", "hidden", "seen", "name", "shouted"]
        assert [each.type for each in library.fields(point)] == ["int", "int", "str", "list[int]"]
        assert library.fields(point)[1].default == 2
        assert library.replace(one, x=7, name="b") == named(7, name="b")
        assert library.asdict(point(1)) == {"x": 1, "put": 2, "hidden": "h", "seen": []}
        assert library.astuple(point(1)) == (1, 2, "h", [])
        assert (library.is_dataclass(point), library.is_dataclass(one), library.is_dataclass(3)) == (True, True, False)
        with pytest.raises(TypeError):
            library.replace(one, z=7)


def test_init_is_compiled_with_the_first_object_of_a_class_or_of_one_below() -> None:
    point, named, _ = classes(own)
    late = point.__init__
    named(1)
    assert point.__init__ is late
    point(1)
    assert point.__init__ is not late
    assert point.__init__.__code__.co_varnames == ("self", "x", "put", "hidden", "seen")
