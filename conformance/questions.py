"""The features that ask the client, as the conformance suite expects them of a server.

Most ask in the middle of their bodies; all are the same in every revision.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal

from conformance.fixtures import server
from wigwag import Context, InputRequired, elicit, list_roots, sample
from wigwag.schema import CreateMessageResult, ElicitResult, TextContent

__all__ = ["server"]

TEXT: Final = {"type": "string"}


def form(**properties: Any) -> dict[str, Any]:
    """The schema of a form in which every field must be filled in."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def text_of(result: CreateMessageResult) -> str:
    """What a model has said, as far as it is text."""
    blocks = result.content if isinstance(result.content, list) else [result.content]
    return " ".join(block.text for block in blocks if isinstance(block, TextContent))


@dataclass
class Profile:
    """A form that is filled in already."""

    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


@server.tool
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Ask the client's model."""
    return f"LLM response: {text_of(await ctx.sample(prompt, max_tokens=100))}"


@server.tool
async def test_elicitation(message: str, ctx: Context) -> str:
    """Ask the user who they are."""
    answer = await ctx.elicit(message, form(username=TEXT, email=TEXT))
    return f"User response: {answer.action} {answer.content}"


@server.tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask the user with a form that has defaults."""
    answer = await ctx.elicit("Is this you?", Profile)
    return f"User response: {answer.action} {answer.content}"


@server.tool
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask the user with every way to choose from a list."""
    first_words = ("First", "Second", "Third")
    titled = [
        {"const": f"value{number}", "title": f"{word} Option"}
        for number, word in enumerate(first_words, 1)
    ]
    answer = await ctx.elicit(
        "What do you choose?",
        {
            "type": "object",
            "properties": {
                "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
                "titledSingle": {"type": "string", "oneOf": titled},
                "legacyEnum": {
                    "type": "string",
                    "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"],
                },
                "untitledMulti": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
                },
                "titledMulti": {"type": "array", "items": {"anyOf": titled}},
            },
        },
    )
    return f"User response: {answer.action} {answer.content}"


@server.tool
async def test_streaming_elicitation(ctx: Context) -> str:
    """Say something before asking."""
    await ctx.info("about to ask")
    answer = await ctx.elicit("Shall we go on?", form(ok={"type": "boolean"}))
    return f"User response: {answer.action}"


# --- several round trips


@server.tool
async def test_input_required_result_elicitation(ctx: Context) -> str | InputRequired:
    """Ask the user for a name, by hand: without a state, an answer may come unasked."""
    answer = ctx.input_responses.get("user_name")
    if not isinstance(answer, ElicitResult) or not answer.content:
        return InputRequired({"user_name": elicit("What is your name?", form(name=TEXT))})
    return f"Hello, {answer.content['name']}!"


@server.tool
async def test_input_required_result_sampling(ctx: Context) -> str:
    """Ask the client's model for a capital."""
    question = sample("What is the capital of France?", max_tokens=100)
    answers = await ctx.ask(capital_question=question)
    return text_of(answers["capital_question"])


@server.tool
async def test_input_required_result_list_roots(ctx: Context) -> str:
    """Ask where the client works."""
    answers = await ctx.ask(client_roots=list_roots())
    return "Roots: " + ", ".join(root.uri for root in answers["client_roots"])


@server.tool
async def test_input_required_result_request_state(ctx: Context) -> str | InputRequired:
    """Ask by hand, with a state that comes back."""
    if ctx.input_state != "waiting" or "confirm" not in ctx.input_responses:
        question = elicit("Please confirm.", form(ok={"type": "boolean"}))
        return InputRequired({"confirm": question}, state="waiting")
    return "state-ok"


@server.tool
async def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Ask three things at once."""
    answers = await ctx.ask(
        user_name=elicit("What is your name?", form(name=TEXT)),
        greeting=sample("Generate a greeting", max_tokens=50),
        client_roots=list_roots(),
    )
    greeting, name = text_of(answers["greeting"]), answers["user_name"].data["name"]
    return f"{greeting} {name} {len(answers['client_roots'])}"


@server.tool
async def test_input_required_result_multi_round(ctx: Context) -> str:
    """Ask one thing after another."""
    name = await ctx.ask(step1=elicit("Step 1: What is your name?", form(name=TEXT)))
    color = await ctx.ask(step2=elicit("Step 2: What is your favorite color?", form(color=TEXT)))
    return f"{name['step1'].data['name']} likes {color['step2'].data['color']}."


@server.tool
async def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Ask with a state that cannot be changed unnoticed."""
    answers = await ctx.ask(confirm=elicit("Please confirm.", form(ok={"type": "boolean"})))
    return f"User response: {answers['confirm'].action}"


@server.tool
async def test_input_required_result_capabilities(ctx: Context) -> str:
    """Ask what the client can answer."""
    questions: dict[str, Any] = {}
    if ctx.client_capabilities.sampling:
        questions["greeting"] = sample("Generate a greeting", max_tokens=50)
    if ctx.client_capabilities.elicitation:
        questions["user_name"] = elicit("What is your name?", form(name=TEXT))
    answers = await ctx.ask(**questions) if questions else {}
    return f"Answered: {', '.join(answers) or 'nothing'}"


@server.prompt
async def test_input_required_result_prompt(ctx: Context) -> str:
    """A prompt that needs to know something first."""
    question = elicit("What context should the prompt use?", form(context=TEXT))
    answers = await ctx.ask(user_context=question)
    return f"Use this context: {answers['user_context'].data['context']}"
