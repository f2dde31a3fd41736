// arrival_s,prompt_tokens,output_tokens: the format to convert other traces to.
#include <fmt/format.h>

#include <array>

#include "models/schema/text_number.h"
#include "models/schema/units.h"
#include "models/workload/csv_table.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

void read_csv(LineReader& lines, TraceBuilder& trace) {
  static constexpr std::array<std::string_view, 3> columns{"arrival_s", "prompt_tokens", "output_tokens"};
  CsvTable table(lines, columns, {}, CsvTable::Quotes::around);  // names of other columns may hold commas
  trace.each([&] {
    if (!table.next()) return false;
    const CsvTable::Field arrival = table.field(0), prompt = table.field(1), output = table.field(2);
    const auto arrival_s = schema::number_from<double>(arrival.text);
    if (!arrival_s) {
      lines.fail(arrival.byte, fmt::format("arrival_s is \"{}\", expected a number of seconds since the start",
                                           arrival.text.substr(0, 40)));
    }
    if (trace.noted(to_arrival_ns(*arrival_s, kNsPerSecond))) return true;
    const std::int64_t prompt_tokens = table.whole_number(prompt);
    const std::int64_t output_tokens = table.whole_number(output);
    trace.check_tokens(prompt.name, prompt_tokens, prompt.byte);
    trace.check_tokens(output.name, output_tokens, output.byte);
    trace.add(to_arrival_ns(*arrival_s, kNsPerSecond), arrival.byte, prompt_tokens, output_tokens);
    return true;
  });
}

}  // namespace

TraceFormat trace_csv() {
  return {.name = "csv", .description = "CSV: arrival_s, prompt_tokens, output_tokens", .read = read_csv};
}

}  // namespace kvsim::models
