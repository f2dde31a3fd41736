#include "tools/validation/recorded_run.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/schema/error.h"
#include "tools/validation/csv_rows.h"

namespace kvsim::validation {
namespace {

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

RecordedRun read_recorded_run(const std::string& folder) {
  RecordedRun run;
  run.requests_file = folder + "/requests.jsonl";
  const std::vector<Recorded> requests = read_requests(run.requests_file);
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
