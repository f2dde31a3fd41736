// Azure LLM inference traces (Azure public dataset, CC-BY-4.0; Patel et al., "Splitwise", ISCA'24): TIMESTAMP with up
// to nine fractional digits, ContextTokens, GeneratedTokens. Times count from the first row.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <optional>

#include "models/workload/csv_table.h"
#include "models/workload/trace_builder.h"

namespace kvsim::models {
namespace {

/// Takes exactly `digits` decimal digits off the front of the text.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// `2023-11-16 18:15:46.6805900`, also with T, and with Z or +00:00 at the end; ns since 1970.
std::optional<std::int64_t> parse_time(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, "-")) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, "-")) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || !take(text, " T")) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ":")) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ":")) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;

  std::int64_t fraction_ns = 0;
  if (take(text, ".")) {
    std::size_t digits = 0;
    for (std::int64_t unit = 100'000'000; !text.empty() && text.front() >= '0' && text.front() <= '9'; unit /= 10) {
      if (++digits > 9) return std::nullopt;
      fraction_ns += unit * (text.front() - '0');
      text.remove_prefix(1);
    }
    if (digits == 0) return std::nullopt;
  }
  if (!text.empty() && text != "Z" && text != "+00:00") return std::nullopt;

  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *year < 1970 || *year > 2200) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + *hour) * 60 + *minute) * 60'000'000'000 + *second * 1'000'000'000LL + fraction_ns;
}

}  // namespace

void read_azure_trace(LineReader& lines, TraceBuilder& trace) {
  static constexpr std::array<std::string_view, 3> columns{"TIMESTAMP", "ContextTokens", "GeneratedTokens"};
  CsvTable table(lines, columns);
  std::optional<std::int64_t> start_ns, last_ns;
  while (!trace.full() && table.next()) {
    const CsvTable::Field time = table.field(0), prompt = table.field(1), output = table.field(2);
    const std::optional<std::int64_t> time_ns = parse_time(time.text);
    if (!time_ns) {
      lines.fail(time.byte, fmt::format("TIMESTAMP is \"{}\", expected a time such as 2023-11-16 18:15:46.6805900",
                                        time.text.substr(0, 40)));
    }
    if (!start_ns) start_ns = time_ns;
    if (last_ns && *time_ns < *last_ns) {
      lines.fail(time.byte, fmt::format("TIMESTAMP {} is before the line above, expected requests in order of arrival",
                                        time.text));
    }
    last_ns = time_ns;
    const std::int64_t prompt_tokens = table.whole_number(prompt);
    const std::int64_t output_tokens = table.whole_number(output);
    trace.check_tokens(prompt.name, prompt_tokens, prompt.byte);
    trace.check_tokens(output.name, output_tokens, output.byte);
    trace.add(*time_ns - *start_ns, time.byte, prompt_tokens, output_tokens);
  }
}

}  // namespace kvsim::models
