#include "models/workload/csv_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/schema/text_number.h"
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
                   std::span<const std::string_view> optional, Quotes quotes)
    : lines_(lines), quotes_(quotes), wanted_(wanted), optional_(optional) {
  if (!lines_.next()) {
    const auto expected = wanted_.empty() ? optional_ : wanted_;
    lines_.fail_file(fmt::format("is empty, expected a header with the columns {}", fmt::join(expected, ", ")));
  }
  split();
  columns_ = starts_.size() - 1;
  for (const std::string_view name : wanted_) {
    position_.push_back(find(name));
    if (position_.back() == kMissing) {
      lines_.fail(0, fmt::format("the column {} is missing, expected a header with the columns {}; {}", name,
                                 fmt::join(wanted_, ", "), found_columns()));
    }
  }
  for (const std::string_view name : optional_) position_.push_back(find(name));
}

std::string CsvTable::found_columns() const {
  constexpr std::size_t kNamed = 12;
  const std::string_view line = lines_.line();
  for (const char separator : {';', '\t', '|'}) {
    if (columns_ > 1 || line.find(separator) == std::string_view::npos) continue;
    return fmt::format("found the separator \"{}\" in {}, expected commas",
                       separator == '\t' ? std::string("\\t") : std::string(1, separator), line.substr(0, 120));
  }
  std::vector<std::string_view> names;
  for (std::size_t c = 0; c < std::min(columns_, kNamed); ++c) names.push_back(text_of(c));
  return fmt::format("found {}{}", fmt::join(names, ", "),
                     columns_ > kNamed ? fmt::format(" and {} others", columns_ - kNamed) : "");
}

std::size_t CsvTable::find(std::string_view name) const {
  std::size_t found = kMissing;
  for (std::size_t c = 0; c < columns_; ++c) {
    if (text_of(c) != name) continue;
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
  if (quotes_ == Quotes::plain || line.find('"') == std::string_view::npos) {
    for (std::size_t at = line.find(','); at != std::string_view::npos; at = line.find(',', at + 1)) {
      starts_.push_back(at + 1);
    }
    starts_.push_back(line.size() + 1);
    return;
  }
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && (quoted || starts_.back() == i)) quoted = !quoted;
    if (line[i] == ',' && !quoted) starts_.push_back(i + 1);
  }
  if (quoted) lines_.fail(starts_.back(), "a quote begins here that does not end in this line, expected its end");
  starts_.push_back(line.size() + 1);
}

std::string_view CsvTable::text_of(std::size_t column) const {
  std::string_view text = trimmed(lines_.line().substr(starts_[column], starts_[column + 1] - starts_[column] - 1));
  if (quotes_ == Quotes::around && text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

CsvTable::Field CsvTable::field(std::size_t n) const {
  const std::string_view name = n < wanted_.size() ? wanted_[n] : optional_[n - wanted_.size()];
  if (!has(n)) return {name, {}, 0};
  const std::size_t column = position_[n];
  const std::string_view text = text_of(column);
  const auto lead = text.empty() ? starts_[column] : static_cast<std::size_t>(text.data() - lines_.line().data());
  return {name, text, lead};
}

std::int64_t CsvTable::whole_number(const Field& field) const {
  if (const auto value = schema::number_from<std::int64_t>(field.text)) return *value;
  lines_.fail(field.byte,
              fmt::format("{} is \"{}\", expected a whole number of tokens", field.name, field.text.substr(0, 40)));
}

double CsvTable::number(const Field& field) const {
  if (const auto value = schema::number_from<double>(field.text)) return *value;
  lines_.fail(field.byte, fmt::format("{} is \"{}\", expected a number", field.name, field.text.substr(0, 40)));
}

}  // namespace kvsim::models
