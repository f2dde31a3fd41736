#include "tools/validation/measured_data.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

using Json = nlohmann::json;

struct Recorded {
  double arrival, queued, first, last, output;
};

std::ifstream open(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw schema::InputError(fmt::format("{}: cannot be read", path));
  return in;
}

std::vector<Recorded> read_requests(const std::string& path) {
  std::ifstream in = open(path);
  std::vector<Recorded> requests;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    try {
      const Json r = Json::parse(line);
      requests.push_back({r.at("arrival_time"), r.at("queued_ts"), r.at("first_token_ts"), r.at("last_token_ts"),
                          r.at("output_toks")});
    } catch (const Json::exception& e) {
      throw schema::InputError(fmt::format("{}:{}: {}", path, number, e.what()));
    }
  }
  if (requests.empty()) throw schema::InputError(fmt::format("{}: has no requests", path));
  return requests;
}

/// Seconds since 1970 of "2026-04-25T18:47:18.273385Z".
double unix_seconds(const std::string& text, const std::string& path) {
  std::tm t{};
  double seconds = 0;
  const int read = std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%lfZ", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
                               &t.tm_min, &seconds);
  if (read != 6) throw schema::InputError(fmt::format("{}: started_at is \"{}\", expected a UTC time", path, text));
  t.tm_year -= 1900;
  t.tm_mon -= 1;
  return static_cast<double>(timegm(&t)) + seconds;
}

double started_at(const std::string& path) {
  std::ifstream in = open(path);
  try {
    return unix_seconds(Json::parse(in).at("started_at").get<std::string>(), path);
  } catch (const Json::exception& e) {
    throw schema::InputError(fmt::format("{}: {}", path, e.what()));
  }
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

RecordedRun read_recorded_run(const std::string& folder) {
  RecordedRun run;
  const std::vector<Recorded> requests = read_requests(folder + "/requests.jsonl");
  double offset = std::numeric_limits<double>::infinity();
  for (const Recorded& r : requests) offset = std::min(offset, r.queued - r.arrival);
  for (const Recorded& r : requests) {
    run.ttft_s.add(r.first - offset - r.arrival);
    run.e2e_s.add(r.last - offset - r.arrival);
    if (r.output > 1) run.tpot_s.add((r.last - r.first) / (r.output - 1));
  }
  run.first_request_s = requests.front().arrival - started_at(folder + "/meta.json");
  for (const CsvRow& row : read_csv(folder + "/timeseries.csv")) {
    run.load.push_back({row.number("t"), row.number("prompt_throughput"), row.number("gen_throughput"),
                        row.number("running"), row.number("waiting"), row.number("kv_cache_pct")});
  }
  if (run.load.empty()) throw schema::InputError(fmt::format("{}/timeseries.csv: has no rows", folder));
  return run;
}

}  // namespace kvsim::validation
