// arrival_s,prompt_tokens,output_tokens: the format to convert other traces to.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <system_error>

#include "models/workload/csv_table.h"
#include "models/workload/trace_builder.h"

namespace kvsim::models {

void read_csv_trace(LineReader& lines, TraceBuilder& trace) {
  static constexpr std::array<std::string_view, 3> columns{"arrival_s", "prompt_tokens", "output_tokens"};
  CsvTable table(lines, columns);
  while (!trace.full() && table.next()) {
    const CsvTable::Field arrival = table.field(0), prompt = table.field(1), output = table.field(2);
    double arrival_s = 0;
    const char* const end = arrival.text.data() + arrival.text.size();
    const auto [rest, error] = std::from_chars(arrival.text.data(), end, arrival_s);
    if (error != std::errc() || rest != end) {
      lines.fail(arrival.byte, fmt::format("arrival_s is \"{}\", expected a number of seconds since the start",
                                           arrival.text.substr(0, 40)));
    }
    const std::int64_t prompt_tokens = table.whole_number(prompt);
    const std::int64_t output_tokens = table.whole_number(output);
    trace.check_tokens(prompt.name, prompt_tokens, prompt.byte);
    trace.check_tokens(output.name, output_tokens, output.byte);
    trace.add(to_arrival_ns(arrival_s, 1e9), arrival.byte, prompt_tokens, output_tokens);
  }
}

}  // namespace kvsim::models
