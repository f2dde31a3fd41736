// Azure LLM inference traces (Azure public dataset, CC-BY-4.0; Patel et al., "Splitwise", ISCA'24): TIMESTAMP with up
// to nine fractional digits, ContextTokens, GeneratedTokens. Times count from the first row.
#include <fmt/format.h>

#include <array>
#include <optional>

#include "models/workload/csv_table.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

void read_azure(LineReader& lines, TraceBuilder& trace) {
  static constexpr std::array<std::string_view, 3> columns{"TIMESTAMP", "ContextTokens", "GeneratedTokens"};
  CsvTable table(lines, columns);
  std::optional<std::int64_t> start_ns, last_ns;
  trace.each([&] {
    if (!table.next()) return false;
    const CsvTable::Field time = table.field(0), prompt = table.field(1), output = table.field(2);
    const std::optional<std::int64_t> time_ns = parse_date(time.text);
    if (!time_ns) {
      lines.fail(time.byte, fmt::format("TIMESTAMP is \"{}\", expected a time such as 2023-11-16 18:15:46.6805900",
                                        time.text.substr(0, 40)));
    }
    if (trace.noted(*time_ns)) return true;
    if (last_ns && *time_ns < *last_ns) {
      trace.fail_order(time.byte, fmt::format("TIMESTAMP {} is before the line above", time.text));
    }
    const std::int64_t prompt_tokens = table.whole_number(prompt);
    const std::int64_t output_tokens = table.whole_number(output);
    trace.check_tokens(prompt.name, prompt_tokens, prompt.byte);
    trace.check_tokens(output.name, output_tokens, output.byte);
    if (!start_ns) start_ns = time_ns;
    last_ns = time_ns;
    trace.add(*time_ns - *start_ns, time.byte, prompt_tokens, output_tokens);
    return true;
  });
}

}  // namespace

TraceFormat trace_azure() {
  return {.name = "azure",
          .description = "CSV: TIMESTAMP (date and time), ContextTokens, GeneratedTokens",
          .read = read_azure};
}

}  // namespace kvsim::models
