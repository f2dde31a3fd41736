#include "models/workload/csv_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <system_error>

#include "models/schema/units.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return text.substr(0, 0);
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

CsvTable::CsvTable(LineReader& lines, std::span<const std::string_view> wanted,
                   std::span<const std::string_view> optional)
    : lines_(lines), wanted_(wanted), optional_(optional) {
  if (!lines_.next()) {
    const auto expected = wanted_.empty() ? optional_ : wanted_;
    lines_.fail_file(fmt::format("is empty, expected a header with the columns {}", fmt::join(expected, ", ")));
  }
  split();
  columns_ = starts_.size() - 1;
  for (const std::string_view name : wanted_) {
    position_.push_back(find(name));
    if (position_.back() == kMissing) {
      lines_.fail(0, fmt::format("the column {} is missing, expected a header with the columns {}", name,
                                 fmt::join(wanted_, ", ")));
    }
  }
  for (const std::string_view name : optional_) position_.push_back(find(name));
}

std::size_t CsvTable::find(std::string_view name) const {
  std::size_t found = kMissing;
  for (std::size_t c = 0; c < columns_; ++c) {
    const std::string_view heading = trimmed(lines_.line().substr(starts_[c], starts_[c + 1] - starts_[c] - 1));
    if (heading != name) continue;
    if (found != kMissing) {
      lines_.fail(starts_[c], fmt::format("the column {} is there twice, expected it once", name));
    }
    found = c;
  }
  return found;
}

bool CsvTable::next() {
  if (!lines_.next()) return false;
  split();
  const std::size_t columns = starts_.size() - 1;
  if (columns != columns_) {
    // Points at the first column too many, or at the end of the line.
    const std::size_t byte = columns > columns_ ? starts_[columns_] : lines_.line().size();
    lines_.fail(byte, fmt::format("the line has {} column{}, expected {} as in the header", columns,
                                  columns == 1 ? "" : "s", columns_));
  }
  return true;
}

void CsvTable::split() {
  const std::string_view line = lines_.line();
  starts_.assign(1, 0);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ',') starts_.push_back(i + 1);
  }
  starts_.push_back(line.size() + 1);
}

CsvTable::Field CsvTable::field(std::size_t n) const {
  const std::string_view name = n < wanted_.size() ? wanted_[n] : optional_[n - wanted_.size()];
  if (!has(n)) return {name, {}, 0};
  const std::size_t column = position_[n];
  const std::string_view whole = lines_.line().substr(starts_[column], starts_[column + 1] - starts_[column] - 1);
  const std::string_view text = trimmed(whole);
  const std::size_t lead = text.empty() ? 0 : static_cast<std::size_t>(text.data() - whole.data());
  return {name, text, starts_[column] + lead};
}

std::int64_t CsvTable::whole_number(const Field& field) const {
  std::int64_t value = 0;
  const char* const end = field.text.data() + field.text.size();
  const auto [rest, error] = std::from_chars(field.text.data(), end, value);
  if (error != std::errc() || rest != end) {
    lines_.fail(field.byte,
                fmt::format("{} is \"{}\", expected a whole number of tokens", field.name, field.text.substr(0, 40)));
  }
  return value;
}

double CsvTable::number(const Field& field) const {
  double value = 0;
  const char* const end = field.text.data() + field.text.size();
  const auto [rest, error] = std::from_chars(field.text.data(), end, value);
  if (error != std::errc() || rest != end) {
    lines_.fail(field.byte, fmt::format("{} is \"{}\", expected a number", field.name, field.text.substr(0, 40)));
  }
  return value;
}

// arrival_s,prompt_tokens,output_tokens: the format to convert other traces to.

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
    trace.add(to_arrival_ns(arrival_s, kNsPerSecond), arrival.byte, prompt_tokens, output_tokens);
  }
}

// Azure LLM inference traces (Azure public dataset, CC-BY-4.0; Patel et al., "Splitwise", ISCA'24): TIMESTAMP with up
// to nine fractional digits, ContextTokens, GeneratedTokens. Times count from the first row.

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
