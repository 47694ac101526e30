"""A refused form, which its page shows again with the message and the form's input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from finapi.core.errors import ApiError


class FormAttempt(NamedTuple):
    """A form that was refused: its action, its fields and the error. A page without an attempt has none of them."""

    action: str = ""
    fields: Mapping[str, str] = {}
    error: ApiError | None = None

    def get_content(self, action: str, name: str, stored: Any = "") -> Any:
        """Return the content of a field: the sent text if its form was refused, otherwise the stored one."""
        return self.fields.get(name, "") if self.action == action else stored

    def is_wrong(self, action: str, name: str) -> bool:
        """Return True if the error is about this field."""
        if self.action != action or self.error is None:
            return False
        return (self.error.details or {}).get("param") == name

    def build_error_attributes(self, action: str, name: str) -> dict[str, str]:
        """Return the attributes of a field that connect it with the error if the error is about it."""
        return {"aria_invalid": "true", "aria_describedby": "problem"} if self.is_wrong(action, name) else {}


NO_ATTEMPT = FormAttempt()
