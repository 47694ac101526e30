"""Data classes as the standard library has them, whose ``__init__`` is compiled with the first object of a class.

The standard decorator compiles six methods for each class as its module loads, a millisecond in all, and loads
``inspect``: a quarter of what a start took, which makes objects of few of them. Type checkers see the standard names,
and ``dataclasses.replace``, ``fields`` and ``asdict`` take these classes too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Field", "asdict", "astuple", "dataclass", "field", "fields", "is_dataclass", "replace"]

if TYPE_CHECKING:
    from dataclasses import Field, asdict, astuple, dataclass, field, fields, is_dataclass, replace
else:
    from collections.abc import Callable, Mapping
    from operator import attrgetter
    from types import MappingProxyType

    _NONE = object()  # in the place of a default
    _PLAN = "__planned_fields__"

    class PlannedField:
        """A field of a class: what it is by default, and which methods know of it."""

        __slots__ = ("compare", "default", "default_factory", "init", "metadata", "name", "repr", "type")

        def __init__(self, default: Any, default_factory: Any, metadata: Mapping[str, Any], **flags: bool) -> None:
            self.name = self.type = ""
            self.default, self.default_factory, self.metadata = default, default_factory, MappingProxyType(metadata)
            self.init, self.repr, self.compare = (flags.get(one, True) for one in ("init", "repr", "compare"))

    Field = PlannedField

    def field(*, default: Any = _NONE, default_factory: Any = _NONE, metadata: Any = None, **flags: bool) -> Any:
        """A field with more to it than a default; ``flags`` are ``init``, ``repr`` and ``compare``."""
        return PlannedField(default, default_factory, metadata or {}, **flags)

    def fields(one: Any) -> tuple[PlannedField, ...]:
        """The fields of a data class or of an object of one."""
        return tuple(getattr(one, _PLAN).values())

    def replace(one: Any, /, **changes: Any) -> Any:
        """An object of the same class with some other values."""
        same = {each.name: getattr(one, each.name) for each in fields(one) if each.init}
        return one.__class__(**{**same, **changes})

    def is_dataclass(one: Any) -> bool:
        """Whether it is a data class or an object of one."""
        return hasattr(one, _PLAN)

    def asdict(one: Any) -> dict[str, Any]:
        """Its fields as a dict, and so of all data classes below."""
        import dataclasses

        return dataclasses.asdict(one)

    def astuple(one: Any) -> tuple[Any, ...]:
        """Its fields as a tuple, and so of all data classes below."""
        import dataclasses

        return dataclasses.astuple(one)

    class _StandardFields:
        """``__dataclass_fields__``, by which the standard library knows a data class; made when it asks."""

        def __get__(self, one: Any, owner: type) -> dict[str, Any]:
            import dataclasses

            def standard(each: PlannedField) -> Any:
                given = {name: getattr(each, name) for name in ("default", "default_factory")}
                given = {name: value for name, value in given.items() if value is not _NONE}
                flags = {"init": each.init, "repr": each.repr, "compare": each.compare}
                return (each.name, each.type, dataclasses.field(**given, **flags, metadata=each.metadata))

            made = dataclasses.make_dataclass(owner.__name__, map(standard, fields(owner)), kw_only=True)
            return made.__dataclass_fields__

    def dataclass(cls: Any = None, /, *, eq: bool = True, repr: bool = True, frozen: bool = False, slots: bool = False):
        """Make a class of its annotations, as ``dataclasses.dataclass`` does."""
        if cls is None:
            return lambda cls: dataclass(cls, eq=eq, repr=repr, frozen=frozen, slots=slots)
        plan = dict(getattr(cls, _PLAN, {}))
        above = tuple(plan)
        own = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
        own |= {"__qualname__": cls.__qualname__, "__annotations__": cls.__annotations__}
        for name, kind in cls.__annotations__.items():
            given = own.pop(name, _NONE)
            plan[name] = each = given if isinstance(given, PlannedField) else PlannedField(given, _NONE, {})
            each.name, each.type = name, kind
            if not slots and each.default is not _NONE:
                own[name] = each.default
        made = {_PLAN: plan, "__dataclass_fields__": _STANDARD, "__match_args__": tuple(plan)}
        made["__init__"] = _init_when_called(plan, frozen, hasattr(cls, "__post_init__"))
        if repr:
            made["__repr__"] = _repr
        if eq:
            made |= _equality([each.name for each in plan.values() if each.compare], frozen)
        if frozen:
            made |= {"__setattr__": _refuse, "__delattr__": _refuse}
        if slots:
            made["__slots__"] = tuple(name for name in plan if name not in above)
        # What the class defines itself stays as it is.
        return type(cls)(cls.__name__, cls.__bases__, {**made, **own})

    def _init_when_called(plan: dict[str, PlannedField], frozen: bool, more: bool) -> Callable[..., None]:
        """An ``__init__`` that puts the compiled one in its place when it is first called."""

        def __init__(self: Any, *given: Any, **named: Any) -> None:
            cls = next(one for one in type(self).__mro__ if vars(one).get("__init__") is __init__)
            cls.__init__ = _init(plan, frozen, more)
            cls.__init__(self, *given, **named)

        return __init__

    def _init(plan: dict[str, PlannedField], frozen: bool, more: bool) -> Callable[..., None]:
        scope: dict[str, Any] = {"__none": _NONE, "__put": object.__setattr__}
        given, lines = [], []
        for name, each in plan.items():
            value = name
            if each.default is not _NONE:
                scope[f"__of_{name}"] = each.default
                given += [f"{name}=__of_{name}"] * each.init
                value = name if each.init else f"__of_{name}"
            elif each.default_factory is not _NONE:
                scope[f"__make_{name}"] = each.default_factory
                given += [f"{name}=__none"] * each.init
                value = f"__make_{name}() if {name} is __none else {name}" if each.init else f"__make_{name}()"
            else:
                given.append(name)
            lines.append(f"__put(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
        lines += ["self.__post_init__()"] * more
        exec(f"def __init__(self, {', '.join(given)}):\n " + "\n ".join(lines or ["pass"]), scope)  # nosec B102
        return scope["__init__"]

    def _repr(self: Any) -> str:
        shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{type(self).__qualname__}({shown})"

    def _equality(names: list[str], frozen: bool) -> dict[str, Any]:
        key = attrgetter(*names) if names else type

        def __eq__(self: Any, other: object) -> bool:
            return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

        return {"__eq__": __eq__, "__hash__": (lambda self: hash(key(self))) if frozen else None}

    def _refuse(self: Any, name: str, *value: object) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"{type(self).__name__}.{name} cannot be changed")

    _STANDARD = _StandardFields()
