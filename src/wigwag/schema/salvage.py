"""Gets what is sound out of a result that is not.

One tool without a schema, or one block without its text, must not cost the caller all the others.
What `decode_result` refuses as a whole is read here piece by piece: a member that is malformed
counts as absent, and an item of a list that is lost for it is left out.
"""

from typing import Any, Final

from msgspec import UNSET, Raw, ValidationError
from msgspec.structs import FieldInfo

from wigwag.schema.basic import RESULT_COMPLETE
from wigwag.schema.decoding import LEFT_OUT, Json, Lenient, ResultHead, decode
from wigwag.schema.methods import METHODS

# What people know an item by.
_NAMES: Final = ("name", "uri", "uriTemplate", "type", "role")
_MAX_CHARACTERS: Final = 200


def salvage_result(method: str, result: Json) -> tuple[Any, list[str]] | None:
    """Read what is sound in a result that `decode_result` has refused.

    >>> data = b'{"tools": [{"name": "a", "inputSchema": {}}, {"name": "b"}]}'
    >>> result, losses = salvage_result("tools/list", data)
    >>> [tool.name for tool in result.tools]
    ['a']
    >>> losses
    ["tools[1] 'b': Object missing required field `inputSchema`"]

    Args:
        method: One of `METHODS`, a request.
        result: The undecoded result.

    Returns:
        A value of `METHODS[method].result`, and what is missing in it: where, which and why. `None`
        when the result is of another type, or there is nothing to save.

    Raises:
        msgspec.DecodeError: It is no JSON.
        KeyError: There is no such method.
    """
    try:
        kind = decode(result, ResultHead).result_type
    except ValidationError:
        return None
    if kind not in (UNSET, None, RESULT_COMPLETE):
        return None
    salvage = _Salvage()
    value = salvage.build_or_none(result, METHODS[method].result)
    return None if value is None else (value, salvage.losses)


class _Salvage(Lenient):
    """Builds what it can, and notes what it cannot."""

    def __init__(self) -> None:
        super().__init__(drop_nulls=True)
        self.losses: list[str] = []
        self._path: list[str] = []

    def _build_list(self, items: list[Raw], item_type: Any) -> list[Any]:
        built: list[Any] = []
        place = self._path.pop() if self._path else ""
        for index, item in enumerate(items):
            self._path.append(f"{place}[{index}]")
            noted = len(self.losses)
            try:
                built.append(self._build(item, item_type))
            except ValidationError as error:
                del self.losses[noted:]  # what was lost within it is lost with it
                self._note(f"{_name_of(item)}: {error}")
            self._path.pop()
        self._path.append(place)
        return built

    def _build_member(self, data: Raw, field: FieldInfo) -> Any:
        depth = len(self._path)
        self._path.append(field.encode_name)
        try:
            return self._build(data, field.type)
        except ValidationError as error:
            del self._path[depth + 1 :]
            if field.required:
                raise ValidationError(f"`{field.encode_name}`: {error}") from None
            self._note(f": {error}")
            # Whatever it says of a failure, it says something of it.
            return True if field.name == "is_error" else LEFT_OUT
        finally:
            del self._path[depth:]

    def _note(self, text: str) -> None:
        self.losses.append(f"{'.'.join(self._path)}{text}"[:_MAX_CHARACTERS])


def _name_of(item: Raw) -> str:
    try:
        members = decode(item, dict[str, Raw])
    except ValidationError:
        return ""
    for key in _NAMES:
        if key in members and bytes(members[key]).startswith(b'"'):
            return f" {decode(members[key], str)!r}"
    return ""
