"""What client and server promise each other, and the tests that hold them to it.

Each requirement has an id, the revisions it is about, a sentence, and its tests;
`test_requirements` sees to it that none is without a test, and that all of the tests exist.
"""

from typing import Final, NamedTuple

ALL: Final = "all"
LEGACY: Final = "legacy"
MODERN: Final = "modern"


class Requirement(NamedTuple):
    """One promise."""

    revisions: str
    sentence: str
    tests: tuple[str, ...]


def _read(table: str) -> dict[str, Requirement]:
    """Read requirements: a line with id, revisions and sentence, then an indented line a test."""
    found: dict[str, Requirement] = {}
    for line in filter(str.strip, table.splitlines()):
        if line.startswith(" "):
            last = next(reversed(found))
            found[last] = found[last]._replace(tests=(*found[last].tests, line.strip()))
        else:
            id_, revisions, sentence = (part.strip() for part in line.split("|"))
            assert id_ not in found, f"{id_} is there twice"
            found[id_] = Requirement(revisions, sentence, ())
    return found


REQUIREMENTS: Final = _read("""
versions/newest | all | Without a mode the newest revision that both speak is spoken.
    test_without_a_mode_the_newest_revision_of_both_is_spoken
    test_every_transport_speaks_every_revision
versions/fallback | legacy | A server that does not answer the probe in kind is greeted.
    test_the_era_is_remembered_for_the_next_connection
    test_silence_means_legacy
versions/insist | all | A mode insists on an era or a revision, and fails where it is not served.
    test_a_mode_insists
    test_a_mode_that_the_server_does_not_serve_fails
versions/projection | all | A revision is told what it knows, in its own words.
    test_each_revision_is_told_what_it_knows_of_a_tool
    test_blocks_that_a_revision_lacks_become_text
    test_what_a_revision_does_not_have_is_not_sent
lifecycle/no-cancel | legacy | The handshake is never cancelled.
    test_a_server_that_never_answers_is_given_up
    test_the_handshake_cannot_be_cancelled
lifecycle/tasks | all | Clients are opened, used and closed by any task, in any order, twice.
    test_one_task_opens_another_uses_and_a_third_closes
    test_many_tasks_that_connect_share_one_connection
    test_closing_while_connecting_ends_the_attempt
    test_a_client_can_be_used_again_and_again
lifecycle/loss | all | Whoever waits fails the moment the connection ends, and is not cancelled.
    test_without_healing_calls_fail_the_moment_the_server_is_gone
    test_closing_fails_the_calls_under_way_and_cancels_nobody
lifecycle/plain-errors | all | One plain exception is raised, never a group.
    test_no_exception_group_crosses_the_api
lifecycle/lifespan | all | A lifespan begins and ends once, however many clients there are.
    test_twenty_clients_share_one_lifespan
    test_the_lifespan_lasts_until_the_last_client_has_gone
    test_a_listening_server_has_one_lifespan_however_clients_come_and_go
capabilities/declared | all | A server declares what it has; what is not declared is not asked for.
    test_a_server_declares_only_what_it_has
    test_what_the_client_did_not_declare_is_not_there
capabilities/missing | all | A handler can require what the client did not declare: -32021.
    test_a_tool_can_require_what_the_client_can_do
meta/free-keys | all | Members of `_meta` that are not the protocol's reach the handler.
    test_members_of_meta_reach_the_handler_as_they_are
    test_every_method_that_takes_meta_sends_it
meta/server-info | modern | Results say who gives them.
    test_the_answer_to_a_modern_request_says_who_gives_it
requests/matched | all | Answers are matched by id, with its type, in any order; others are ignored.
    test_answers_are_matched_by_id_in_any_order
    test_answers_to_nothing_and_second_answers_are_ignored
requests/concurrent | all | Requests are answered as they finish; plain functions stop nobody.
    test_requests_are_answered_as_they_finish
    test_plain_functions_run_beside_each_other_and_stop_nobody
requests/in-flight-id | all | An id in flight cannot be used again: -32600.
    test_an_id_in_flight_cannot_be_used_again
requests/isolation | all | No client hears of another's requests.
    test_clients_of_one_server_do_not_hear_each_other
requests/size | all | A message over the limit fails its request, and the conversation goes on.
    test_a_request_that_is_too_long_is_refused_under_its_id
    test_an_answer_that_is_too_long_fails_the_request_it_answers
timeouts/default | all | Every request has a limit; when it is reached the server is told to stop.
    test_without_a_sign_of_life_a_request_times_out_and_is_cancelled
    test_the_limit_can_be_given_with_the_request
timeouts/progress | all | Progress starts the limit anew; the ceiling holds all the same.
    test_progress_starts_the_limit_anew_and_the_ceiling_holds_all_the_same
progress/order | all | Progress grows, and comes before the result.
    test_progress_arrives_before_the_result_and_in_order
    test_progress_that_does_not_grow_or_is_no_number_is_not_sent
progress/token | all | Progress is sent under the token of the request, and only where there is one.
    test_a_progress_token_comes_back_as_it_went
    test_whoever_asks_for_no_progress_is_sent_none
    test_progress_for_what_is_not_in_flight_is_ignored
cancellation/stops | all | A cancelled request's handler is stopped, and its `finally` runs.
    test_cancelling_a_call_stops_its_handler
    test_a_client_that_leaves_does_not_leave_its_calls_running
cancellation/silence | all | Nothing more is said about a cancelled request.
    test_nothing_is_said_about_a_request_once_it_is_cancelled
    test_what_a_handler_does_after_its_cancellation_is_not_told
cancellation/ignored | all | Unknown, finished and malformed cancellations are ignored.
    test_a_cancellation_of_what_is_not_in_flight_is_ignored
    test_a_malformed_cancellation_is_ignored
    test_a_client_ignores_cancellations_of_what_was_not_asked
cancellation/of-questions | legacy | A server can take its question back.
    test_a_legacy_server_can_take_its_question_back
logging/level | all | Messages of the level asked for and above are sent.
    test_messages_of_the_level_asked_for_and_above_arrive
    test_a_modern_request_is_heard_of_at_its_own_level
logging/unasked | modern | Without a level in the request nothing is sent.
    test_without_a_word_legacy_clients_hear_everything_and_modern_ones_nothing
logging/unknown-level | all | An unknown level is -32602.
    test_a_level_that_does_not_exist_is_refused
pagination/opaque | all | Any cursor is followed, the empty one too; one that comes back ends it.
    test_an_empty_cursor_is_a_cursor
    test_a_cursor_that_comes_back_ends_the_list_with_a_warning
pagination/once | all | A server that takes no notice of cursors gives nothing twice.
    test_a_server_that_takes_no_notice_of_cursors_gives_nothing_twice
pagination/one-by-one | all | A page is asked for when it is wanted.
    test_pages_come_one_after_the_other
    test_a_server_that_has_no_such_list_has_no_pages_of_it
    test_a_page_is_asked_for_when_it_is_wanted
results/malformed | all | What is malformed in a result costs but itself, and the log names it.
    test_a_malformed_item_costs_the_list_but_itself
    test_a_malformed_block_costs_the_call_but_itself
    test_a_message_of_a_prompt_and_contents_of_a_resource_cost_but_themselves
    test_many_losses_are_told_in_one_line
results/failure | all | A failure that is told of in the wrong way is a failure.
    test_a_tool_that_tells_of_a_failure_in_the_wrong_way_has_failed
results/none | all | What lacks what its method is about is no result.
    test_an_answer_without_a_list_is_no_list
output/values | all | The output of a tool comes as plain values or as the type that is asked for.
    test_output_comes_as_the_type_that_is_asked_for
    test_output_comes_as_plain_values_as_the_tool_returned_them
    test_output_that_is_not_of_the_type_is_an_invalid_result
    test_a_value_is_taken_out_of_what_its_schema_wraps_it_in
output/failures | all | A failure raises if that is asked for, with what the tool said.
    test_a_failure_raises_only_if_that_is_asked_for
    test_a_failure_passes_from_server_to_server_with_its_text
    test_a_failure_that_says_nothing_is_named
output/schema | all | Output is held to the schema that was listed last; a failure is not.
    test_output_that_breaks_the_schema_of_its_tool_is_an_invalid_result
    test_a_failure_is_held_to_no_schema
    test_a_schema_may_be_another_when_the_list_has_changed
    test_before_there_was_structured_content_none_is_missing
output/schema-unusable | all | A schema that cannot be used is warned about; none is ever fetched.
    test_a_schema_of_an_unknown_dialect_is_warned_about_once
    test_no_schema_is_fetched_from_elsewhere
pagination/invalid | all | A cursor that was never given out is -32602.
    test_a_cursor_that_was_never_given_out_is_invalid_params
tools/order | all | Tools are listed in one order.
    test_tools_are_listed_as_they_were_registered
tools/unknown | all | An unknown tool is -32602, with the nearest name.
    test_an_unknown_tool_is_invalid_params_with_the_nearest_name
tools/arguments | all | Wrong arguments are a result with `isError` that names them.
    test_wrong_arguments_are_named_in_words_that_a_model_understands
    test_arguments_that_are_no_object_are_invalid_params
tools/json-text | all | Lists and objects may come as JSON in a text; text is never looked into.
    test_lists_and_objects_may_come_as_json_in_a_text
    test_text_that_looks_like_json_stays_text
tools/failure | all | What a tool raises is a result with `isError`; a crash keeps its details.
    test_a_deliberate_failure_reaches_the_model_with_its_text
    test_a_crash_reaches_the_model_as_a_reference_into_the_log
    test_a_tool_that_leaves_the_program_does_not
tools/structured | all | Structured content is what the output schema says, and there as text.
    test_what_a_tool_returns_becomes_text_and_structured_content
    test_output_schemas_are_listed_where_the_revision_has_them
    test_what_cannot_be_sent_is_a_failure_of_the_tool
tools/limit | all | A tool is stopped at its limit, and the model is told.
    test_a_tool_is_stopped_at_its_limit_and_the_model_is_told
resources/read | all | Text, bytes and templates can be read, under the URI as it was asked for.
    test_text_bytes_and_other_values_can_be_read
    test_the_variables_of_a_template_become_what_the_function_declares
    test_values_in_a_uri_are_decoded
resources/not-found | all | An unknown resource is -32602, before 2026-07-28 -32002, with its URI.
    test_what_is_not_there_is_named_under_the_code_of_the_revision
resources/traversal | all | No URI climbs out of its template.
    test_a_path_cannot_climb_out_of_its_template
prompts/invalid | all | An unknown prompt and wrong arguments are -32602.
    test_an_unknown_prompt_is_invalid_params_with_the_nearest_name
    test_wrong_arguments_of_a_prompt_are_invalid_params
completion/values | all | At most a hundred values are suggested, with what is known already.
    test_no_more_than_a_hundred_values_are_sent
    test_what_is_known_already_helps_where_the_revision_can_say_it
questions/answered | legacy | Sampling, elicitation, roots and pings are answered meanwhile.
    test_a_question_is_answered_while_the_client_waits_for_a_call
    test_a_form_is_filled_in
    test_roots_are_listed_as_folders
    test_a_client_answers_pings
questions/retry | modern | A request is made again with answers and the very state, under a new id.
    test_questions_are_answered_and_the_request_is_made_again
    test_state_alone_is_brought_back_without_answers
questions/no-leak | modern | Neither answers nor state are carried into anything else.
    test_answers_and_state_of_one_round_are_not_carried_into_the_next
    test_requests_at_the_same_time_keep_their_own_state
questions/undeclared | modern | A question that was not declared is the server's fault.
    test_a_kind_of_question_that_was_not_declared_is_the_servers_fault
    test_nobody_is_asked_when_one_question_is_not_allowed
questions/rounds | modern | A server that never stops asking is given up.
    test_a_server_that_never_stops_asking_is_given_up
questions/never-asked | modern | A request of a server is not answered.
    test_a_modern_server_that_asks_by_a_request_gets_no_answer
listening/stream | modern | A subscription belongs to its request, and ends in order or by a reason.
    test_a_modern_subscription_belongs_to_its_request
    test_a_server_that_ends_the_subscription_ends_the_iteration
    test_without_healing_a_server_that_dies_is_a_reason
listening/changes | all | Changes are reported once, to whoever asked for them.
    test_changes_of_lists_are_reported_to_whoever_listens
    test_updates_of_resources_are_reported_to_whoever_named_them
    test_changes_that_come_together_are_reported_once
    test_after_listening_nothing_more_is_reported
tasks/typed | 2025-11-25 | A tool can be called as a task, and followed to its end.
    test_a_tool_can_be_called_as_a_task_and_followed_to_its_end
    test_tasks_can_be_listed_page_by_page_and_cancelled
extensions/asked | all | An extension's method can be asked, and its result read as a type.
    test_an_extension_can_be_asked_and_its_result_read
    test_notifications_of_extensions_can_be_sent
http/era | all | At a URL the modern era is tried first; only what speaks of legacy leads there.
    test_an_answer_that_no_modern_server_gives_means_legacy
    test_silence_means_legacy_and_is_waited_for_once
    test_a_modern_refusal_never_leads_to_a_handshake
    test_404_with_method_not_found_is_a_modern_server_without_discovery
    test_some_statuses_say_nothing_about_the_era
http/era-kept | all | The era of a URL is kept, and found out anew where it proves wrong.
    test_the_era_is_kept_for_the_next_client
    test_a_cached_era_that_proves_wrong_is_found_out_anew
http/legacy-headers | legacy | From the handshake on, headers name revision and session alone.
    test_every_legacy_revision_is_followed_exactly
    test_a_legacy_server_gets_none_of_these_headers
http/session-lost | legacy | A lost session is opened anew; what was refused is asked again, once.
    test_a_forgotten_session_is_opened_anew_and_the_call_made_again
    test_many_calls_at_once_open_one_new_session_and_each_is_carried_out_once
    test_a_session_that_is_lost_again_and_again_is_an_error
http/session-end | legacy | A session is ended at the close, whatever the server makes of it.
    test_a_session_is_ended_whatever_the_server_makes_of_it
    test_a_server_that_does_not_answer_at_the_end_holds_nobody_up
http/own-stream | legacy | What a server says of its own accord is heard, if it has a stream for it.
    test_the_stream_of_the_server_is_listened_to_and_resumed
    test_without_a_stream_of_the_server_all_else_works
    test_a_silent_stream_of_the_server_holds_nobody_up
http/events | all | Events are read however they are written and cut.
    test_events_are_read_however_they_are_written_and_cut
http/resuming | legacy | A stream that was cut is resumed from its last event, after `retry`.
    test_a_stream_that_was_cut_is_resumed_from_its_last_event
    test_a_stream_is_resumed_over_several_cuts
    test_resuming_in_vain_ends_after_some_tries
http/cut | all | A stream that is cut for good fails its request, and no other.
    test_a_stream_that_ends_without_the_answer_fails_the_request
    test_a_modern_stream_is_never_resumed
    test_a_connection_that_is_cut_fails_the_request
http/leaving | modern | A request is cancelled by leaving its stream.
    test_a_modern_request_is_cancelled_by_leaving_its_stream
    test_a_modern_request_that_took_too_long_is_given_up_by_leaving_its_stream
http/modern-headers | modern | Method, name, version and what a tool wants are repeated in headers.
    test_method_name_and_version_are_repeated
    test_arguments_are_repeated_as_the_tool_wants
http/invalid-tools | modern | A tool whose headers break the rules is left out, and named.
    test_invalid_tools_are_left_out_and_named_once
http/mismatch | modern | A call refused for its headers is made once more, with a list that is new.
    test_a_tool_that_was_never_listed_is_listed_when_its_headers_are_missed
    test_a_disagreement_that_stays_is_an_error_after_one_more_try
http/errors | all | Each cause has its error, and none comes from a library.
    test_nobody_listens
    test_a_host_that_does_not_exist
    test_a_certificate_that_is_not_trusted
    test_a_status_with_the_beginning_of_its_body
    test_a_web_page_is_no_mcp_server
http/redirects | all | No redirect leads to another origin, or down to http.
    test_a_redirect_within_the_origin_is_followed
    test_a_redirect_to_another_origin_is_not_followed
    test_a_redirect_down_to_http_is_not_followed
http/sse | legacy | HTTP+SSE is found where nothing newer is.
    test_it_is_found_where_nothing_newer_is
    test_messages_to_another_origin_are_not_sent
asking/bodies | all | One body asks in every revision, over whatever carries messages.
    test_a_form_is_filled_in_and_comes_back_as_the_type_asked_for
    test_the_model_is_asked
    test_the_roots_are_listed
    test_prompts_and_resources_ask_as_well
    test_plain_functions_wait_for_the_answer
    test_questions_cross_the_pipe
    test_questions_cross_http
asking/together | all | Questions that are asked together, gathered or grouped make one round.
    test_several_questions_are_put_at_the_same_time
    test_questions_may_be_gathered_or_asked_in_a_task_group
asking/once | all | What `once` runs is run once in a call, whatever comes after it.
    test_what_once_runs_is_run_once
    test_a_handler_is_not_unwound_while_once_is_at_work
asking/by-hand | all | A handler may return its questions, and is run again with the answers.
    test_a_handler_may_ask_by_hand
    test_by_hand_and_in_the_middle_go_together
asking/undeclared | all | A client is asked only what it declared; else the caller is told at once.
    test_a_client_that_did_not_declare_it_is_not_asked_and_the_caller_told_at_once
    test_without_sessions_only_modern_clients_are_asked
asking/unfit | all | Answers that do not fit are asked again, and never taken.
    test_what_is_no_answer_is_asked_again
    test_a_form_that_does_not_fit_is_asked_once_more
asking/state | modern | A state is good for one request, for a time, and for nobody who changed it.
    test_a_state_that_was_changed_is_an_error
    test_a_state_is_good_for_the_same_request_only
    test_a_state_expires
    test_servers_with_the_same_key_stand_in_for_each_other
asking/unwinding | modern | A question is asked whatever its handler makes of being unwound.
    test_handlers_may_guard_what_they_do
    test_a_handler_that_swallows_the_unwinding_asks_all_the_same
    test_a_handler_that_asks_something_else_when_run_again_fails_and_says_why
asking/taken-back | legacy | A question ends with its call, and neither side waits for the other.
    test_the_client_is_asked_while_its_call_is_under_way
    test_a_cancelled_call_takes_its_question_back
    test_a_client_that_never_answers_is_given_up_and_told
cache/time | modern | An answer is kept for as long as the server says, and each page by itself.
    test_a_modern_server_is_asked_once_for_what_may_be_kept
    test_nothing_is_kept_if_that_is_not_wanted
cache/scope | modern | What is private to one who asks is given to nobody else.
    test_public_answers_are_shared_by_whoever_shares_the_store
    test_private_answers_are_not_shared_by_different_tokens
    test_one_client_with_changing_tokens_gives_nobody_what_belongs_to_another
cache/changes | modern | What the server reports to have changed is asked for anew.
    test_what_changes_is_read_anew_while_somebody_listens
    test_what_changes_while_nobody_listens_is_seen_after_its_time_or_on_demand
    test_whoever_is_called_back_gets_the_list_as_it_is_now
cache/input | modern | What came of answers to the server's questions is never kept.
    test_what_depends_on_answers_of_the_user_is_not_kept
cache/cursors | modern | With a cursor that the server refuses, all pages are dropped.
    test_a_cursor_that_means_nothing_any_more_begins_the_list_anew
cache/stale | modern | What is no longer fresh serves while the server cannot be asked.
    test_what_is_no_longer_fresh_serves_while_the_server_fails
    test_what_is_no_longer_fresh_does_not_serve_where_that_is_not_wanted_or_not_right
cache/together | all | Who looks for the same at the same time makes one request.
    test_who_asks_for_the_same_at_once_makes_one_request
    test_the_request_of_several_is_cancelled_with_the_last_of_them
    test_who_has_changed_something_reads_it_anew
    test_calls_of_tools_are_never_one
""")
