// The field table of recorded requests.
#include <string>

#include <fmt/format.h>

#include "models/workload/trace_reader.h"
#include "sim/scenario/schemas.h"

namespace kvsim::scenario {
namespace {

ObjectSchema<models::TraceColumns> columns_schema() {
  using models::TimeForm;
  using models::TraceColumns;
  ObjectSchema<TraceColumns> s("columns",
                               "What a log calls what requests are made of: columns (CSV), or members (JSON).");
  s.required("arrival", &TraceColumns::arrival, text().non_empty(), "when it arrived");
  s.required("prompt", &TraceColumns::prompt, text().non_empty(), "tokens of its prompt");
  s.required("output", &TraceColumns::output, text().non_empty(), "tokens of its output");
  s.optional("session", &TraceColumns::session, text(), "what requests of a session have in common");
  s.optional("end", &TraceColumns::end, text(), "when it was answered, in the form of arrival (with session)");
  s.optional(
      "parent", &TraceColumns::parent, text(),
      "of a sub-agent's session, the session whose turn began it (with session); nothing or null: none did, or an "
      "earlier request of the session said it");
  s.optional("blocks", &TraceColumns::blocks, text(),
             "JSON lines: list of numbers of the prompt's whole blocks; equal numbers are equal blocks after equal "
             "beginnings");
  s.optional("block_size", &TraceColumns::block_tokens, tokens().at_most(models::most_block_tokens),
             "tokens of each of these");
  s.optional("time", &TraceColumns::time,
             choice<TimeForm>({{"found", TimeForm::found, "dates, or time since 1970, as the first request has it"},
                               {"date", TimeForm::date, "ISO 8601"},
                               {"s", TimeForm::seconds, "seconds since any moment"},
                               {"ms", TimeForm::milliseconds, "milliseconds"},
                               {"us", TimeForm::microseconds, "microseconds"},
                               {"ns", TimeForm::nanoseconds, "nanoseconds"}}),
             "how times are written; they count from the first request");
  refuse_problems(s);
  return s;
}

/// Adds the keys of a recording, whether it is the only one or not.
void add_recording(ObjectSchema<TraceInput>& trace) {
  trace.required("format", &TraceInput::format, one_of(words_of(models::trace_formats())), "file format");
  trace.required("path", &TraceInput::path, text().non_empty(),
                 "file; relative to the scenario's folder, or to the working directory where it is not there");
  trace.optional("max_requests", &TraceInput::max_requests, integer().non_negative(), "only the first so many; 0: all");
  trace.optional("time_scale", &TraceInput::time_scale,
                 number().at_least(models::least_time_scale).at_most(models::most_time_scale),
                 "arrival times are multiplied by this: 0.5 doubles the rate");
  trace.object("columns", &TraceInput::columns, columns_schema(), Presence::optional,
               "names of columns, of format columns");
  trace.optional(
      "skip_invalid", &TraceInput::skip_invalid, boolean(),
      "lines that are no request (aborted, without tokens or a time) are left out, and results say how many; "
      "else the first is refused");
  trace.optional("sort", &TraceInput::sort, boolean(),
                 "requests are in any order, such as that in which they ended, and are sorted by arrival; else they "
                 "have to arrive one after the other");
  trace.optional("from", KVSIM_MEMBER(cut.from_s), time().non_negative(),
                 "requests before this time (after time_scale) are left out, and the rest begins at 0 s");
  trace.optional("until", KVSIM_MEMBER(cut.until_s), time().positive(),
                 "requests at this time (after time_scale) or later are left out");
  trace.optional("keep", KVSIM_MEMBER(cut.keep), number().above(0).at_most(1),
                 "share of the requests that is kept, chosen by chance and always the same");
  trace.optional("repeat", KVSIM_MEMBER(cut.repeat), integer().at_least(1).at_most(10000),
                 "how often they come, one round after the other, with the same prompts: a prefix cache finds those of "
                 "the round before");
  trace.check([](const TraceInput& input, const Reporter& report) {
    const bool named = input.format == "columns";
    if (named && !input.columns) {
      report.fail("",
                  "missing key \"columns\", expected names such as {arrival: ts, prompt: prompt_tokens, output: "
                  "completion_tokens}");
    }
    if (!named && input.columns) report.fail("columns", "belongs to format: columns, and would have no effect here");
    if (const std::string problem = problem_with(input.cut); !problem.empty()) report.fail("", problem);
  });
}

ObjectSchema<TraceInput> overlay_schema() {
  ObjectSchema<TraceInput> s("overlay", "A recording whose requests come beside those of the trace.");
  add_recording(s);
  s.optional("at", &TraceInput::at_s, time().non_negative(),
             "when its time begins: its requests, scaled and cut, come so much later");
  return s;
}

}  // namespace

ObjectSchema<TraceInput> trace_schema() {
  ObjectSchema<TraceInput> trace("trace", "Requests recorded elsewhere.");
  add_recording(trace);
  trace.optional(
      "arrivals_only", &TraceInput::arrivals_only, boolean(),
      "only when requests arrive is taken from the file: prompts and outputs are generated as with `arrivals`");
  trace.list(
      "overlay", &TraceInput::overlay, overlay_schema(), Presence::optional,
      "other recordings, whose requests are merged with these by time; those of one file share its prompts, those "
      "of different files none",
      {.at_least = 1});
  trace.optional("sessions", &TraceInput::sessions, boolean(),
                 "a session's first turn arrives as recorded, and each further one when the one before is answered and "
                 "the recorded time between the two is over, or, where the trace does not say when answers ended, the "
                 "time between their arrivals; of formats that say which session a request belongs to");
  trace.check([](const TraceInput& input, const Reporter& report) {
    if (input.sessions && input.arrivals_only) {
      report.fail("sessions", "turns are of recorded prompts: remove one of sessions and arrivals_only");
    }
    for (const TraceInput& other : input.overlay) {
      const std::int64_t tokens = other.block_tokens(), all = input.block_tokens();
      if (tokens > 0 && tokens != all && !input.arrivals_only) {
        report.fail("overlay",
                    fmt::format("{} has blocks of {} tokens and another of the traces blocks of {}: expected formats "
                                "with the same, or without blocks",
                                other.format, tokens, all));
      }
      if (input.sessions && other.time_scale != input.time_scale) {
        report.fail("overlay",
                    fmt::format("time_scale is {} of one trace and {} of another, and times between the turns "
                                "of sessions are not scaled: expected the same for all, or sessions: false",
                                input.time_scale, other.time_scale));
      }
    }
  });
  return trace;
}

}  // namespace kvsim::scenario
