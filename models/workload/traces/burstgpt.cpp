// BurstGPT (Wang et al., arXiv:2401.17644; CC-BY-4.0): Timestamp (s since the start), Request tokens, Response tokens;
// since version 1.2 Session ID, of conversations alone, and Elapsed time (s). Requests without a response failed, and
// are skipped.
#include <fmt/format.h>

#include <array>

#include "models/schema/units.h"
#include "models/workload/csv_table.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

void read_burstgpt(LineReader& lines, TraceBuilder& trace) {
  static constexpr std::array<std::string_view, 3> columns{"Timestamp", "Request tokens", "Response tokens"};
  static constexpr std::array<std::string_view, 2> more{"Session ID", "Elapsed time"};
  CsvTable table(lines, columns, more);
  SessionTurns sessions;
  trace.each([&] {
    if (!table.next()) return false;
    const CsvTable::Field time = table.field(0), prompt = table.field(1), output = table.field(2);
    const std::int64_t output_tokens = table.whole_number(output);
    if (output_tokens == 0) {
      trace.leave_out();
      return true;
    }
    const std::int64_t arrival_ns = to_arrival_ns(table.number(time), kNsPerSecond);
    if (trace.noted(arrival_ns)) return true;
    const std::int64_t prompt_tokens = table.whole_number(prompt);
    trace.check_tokens(prompt.name, prompt_tokens, prompt.byte);
    trace.check_tokens(output.name, output_tokens, output.byte);
    SessionTurn turn;
    const CsvTable::Field session = table.field(3), elapsed = table.field(4);
    if (!session.text.empty()) {
      std::int64_t end_ns = -1;
      if (!elapsed.text.empty()) {
        const double elapsed_s = table.number(elapsed);
        if (!(elapsed_s >= 0)) {
          lines.fail(elapsed.byte, fmt::format("{} is {}: session \"{}\" ends before it begins, expected 0 s or more",
                                               elapsed.name, elapsed.text.substr(0, 40), session.text.substr(0, 40)));
        }
        end_ns = arrival_ns + to_arrival_ns(elapsed_s, kNsPerSecond);
      }
      turn = sessions.next(session.text, arrival_ns, end_ns);
    }
    trace.add(arrival_ns, time.byte, prompt_tokens, output_tokens, {}, turn);
    return true;
  });
}

}  // namespace

TraceFormat trace_burstgpt() {
  return {.name = "burstgpt",
          .description = "CSV: Timestamp (s), Request tokens, Response tokens; Session ID, Elapsed time",
          .read = read_burstgpt};
}

}  // namespace kvsim::models
