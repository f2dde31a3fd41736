#include "models/workload/csv_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <system_error>

namespace kvsim::models {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return text.substr(0, 0);
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

CsvTable::CsvTable(LineReader& lines, std::span<const std::string_view> wanted) : lines_(lines), wanted_(wanted) {
  if (!lines_.next()) {
    lines_.fail_file(fmt::format("is empty, expected a header with the columns {}", fmt::join(wanted_, ", ")));
  }
  split();
  columns_ = starts_.size() - 1;
  for (const std::string_view name : wanted_) {
    std::size_t found = columns_;
    for (std::size_t c = 0; c < columns_; ++c) {
      const std::string_view heading = trimmed(lines_.line().substr(starts_[c], starts_[c + 1] - starts_[c] - 1));
      if (heading != name) continue;
      if (found != columns_)
        lines_.fail(starts_[c], fmt::format("the column {} is there twice, expected it once", name));
      found = c;
    }
    if (found == columns_) {
      lines_.fail(0, fmt::format("the column {} is missing, expected a header with the columns {}", name,
                                 fmt::join(wanted_, ", ")));
    }
    position_.push_back(found);
  }
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
  const std::size_t column = position_[n];
  const std::string_view whole = lines_.line().substr(starts_[column], starts_[column + 1] - starts_[column] - 1);
  const std::string_view text = trimmed(whole);
  const std::size_t lead = text.empty() ? 0 : static_cast<std::size_t>(text.data() - whole.data());
  return {wanted_[n], text, starts_[column] + lead};
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

}  // namespace kvsim::models
