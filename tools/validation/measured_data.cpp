#include "tools/validation/measured_data.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "models/schema/error.h"

namespace kvsim::validation {
namespace {

namespace fs = std::filesystem;

std::string existing(const std::string& folder, const char* named_by) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return folder;
  throw schema::InputError(fmt::format("{}: {} is no folder, expected one with measured data", named_by, folder));
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];  // a doubled quote is one
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

std::string measured_folder(const std::string& asked, const std::string& start) {
  if (!asked.empty()) return existing(asked, "--measured");
  const char* const variable = std::getenv("KVSIM_MEASURED");  // NOLINT(concurrency-mt-unsafe): before any thread
  if (variable != nullptr && *variable != '\0') return existing(variable, "KVSIM_MEASURED");
  std::error_code error;
  for (fs::path at = fs::absolute(start, error).lexically_normal();; at = at.parent_path()) {
    const fs::path candidate = at / "shared" / "measured";
    if (fs::is_directory(candidate, error)) return candidate.string();
    if (at == at.parent_path()) return {};
  }
}

const std::string& CsvRow::at(const std::string& column) const {
  const auto found = fields.find(column);
  if (found == fields.end()) throw schema::InputError(fmt::format("{}: has no column {}", file, column));
  return found->second;
}

double CsvRow::number(const std::string& column) const {
  const std::string& text = at(column);
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) {
    throw schema::InputError(fmt::format("{}:{}: {} is \"{}\", expected a number", file, line, column, text));
  }
  return value;
}

std::vector<CsvRow> read_csv(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!in || !std::getline(in, line)) throw schema::InputError(fmt::format("{}: cannot be read, or is empty", path));
  const std::vector<std::string> header = fields_of(line);
  std::vector<CsvRow> rows;
  for (int number = 2; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != header.size()) {
      throw schema::InputError(fmt::format("{}:{}: the line has {} columns, expected {} as in the header", path, number,
                                           fields.size(), header.size()));
    }
    CsvRow& row = rows.emplace_back();
    row.line = number;
    row.file = path;
    for (std::size_t i = 0; i < header.size(); ++i) row.fields[header[i]] = fields[i];
  }
  return rows;
}

}  // namespace kvsim::validation
