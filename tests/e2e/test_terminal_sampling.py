"""A person at a terminal, in the place of a model."""

from tests.e2e.person import CTRL_C, CTRL_D, at_terminal

SCRIPT = """
import asyncio, sys
from wigwag.client.terminal_sampling import terminal_sampling
from wigwag.errors import RequestFailed
from wigwag.schema import CreateMessageRequestParams, ImageContent, SamplingMessage, TextContent

async def main():
    for _ in range(int(sys.argv[1])):
        params = CreateMessageRequestParams(
            messages=[
                SamplingMessage(role="user", content=TextContent(text="Which\\x1b[2J\\nbread?")),
                SamplingMessage(
                    role="assistant", content=[ImageContent(data="", mime_type="image/png")]
                ),
            ],
            max_tokens=20,
            system_prompt="You bake.",
        )
        try:
            result = await terminal_sampling(params)
            print("said", repr(result.text), result.role, result.stop_reason)
        except RequestFailed as error:
            print("refused", error.code)

asyncio.run(main())
"""


def test_a_person_sees_the_conversation_and_answers_in_several_lines() -> None:
    with at_terminal(SCRIPT, "1") as person:
        person.see("The server asks a model, which you can be:")
        person.see("system:\n  | You bake.\n")
        person.see("user:\n  | Which\\x1b[2J\n  | bread?\n")
        person.see("assistant:\n  | [image/png]\n")
        person.answer("Answer: ", "Rye.")
        person.answer("| ", "Always.")
        person.answer("| ", "")
        person.see("said 'Rye.\\nAlways.' assistant endTurn")
        assert person.exit_code() == 0


def test_no_answer_refuses_and_so_do_the_keys_that_break_off() -> None:
    with at_terminal(SCRIPT, "4") as person:
        for keys in ("\n", "/decline\n", CTRL_C, CTRL_D):
            person.see("Answer: ")
            person.type(keys)
            person.see("refused -1")
        assert person.exit_code() == 0
