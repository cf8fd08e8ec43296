"""What is of pydantic, told without loading it: nobody has a type of what was never imported."""

from __future__ import annotations

import sys
from typing import Any


def is_model(kind: Any) -> bool:
    """Tell whether a type is a model of pydantic."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def is_of_pydantic(thing: Any) -> bool:
    """Tell whether a type, or something in `Annotated`, is made for pydantic."""
    kind = thing if isinstance(thing, type) else type(thing)
    return (
        kind.__module__.partition(".")[0] == "pydantic"
        or hasattr(thing, "__get_pydantic_core_schema__")
        or hasattr(thing, "__pydantic_validator__")
    )
