#include "planner/backtest/recording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "models/workload/csv_table.h"
#include "models/workload/distributions.h"
#include "models/workload/line_reader.h"
#include "models/workload/trace_reader.h"

namespace kvsim::planner::backtest {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using models::CsvTable;
using models::LineReader;

constexpr std::array<std::string_view, 5> kCsvColumns{"arrival_s", "prompt_tokens", "output_tokens", "first_token_s",
                                                      "last_token_s"};
constexpr std::array<std::string_view, 6> kJsonMembers{"arrival_time", "input_toks",     "output_toks",
                                                       "queued_ts",    "first_token_ts", "last_token_ts"};
constexpr std::array<std::string_view, 6> kLoadColumns{"t",       "prompt_throughput", "gen_throughput",
                                                       "running", "waiting",           "kv_cache_pct"};
constexpr double kLatest_s = 1e12;

/// A request as its line has it.
struct Served {
  double sent_s = 0;
  std::int64_t prompt = 0, output = 0;
  double queued_s = 0, first_s = 0, last_s = 0;  ///< on the clock of the engine
};

/// Adds requests to a recording, checked one against the other.
class ServedRequests {
 public:
  explicit ServedRequests(const LineReader& lines) : lines_(lines) {}

  /// The bytes are where the line says each; `names` are those of prompt, output, first and last token.
  struct Place {
    std::string_view name;
    std::size_t byte = 0;
  };
  void add(const Served& r, const Place& sent, const Place& prompt, const Place& output, const Place& first,
           const Place& last, std::string_view first_follows) {
    check_tokens(r.prompt, prompt);
    check_tokens(r.output, output);
    if (!requests_.empty() && r.sent_s < requests_.back().sent_s) {
      fail(sent, "lies before that of the line above, expected requests in the order in which they were sent");
    }
    if (r.first_s < r.queued_s) fail(first, fmt::format("lies before {}, expected a later time", first_follows));
    if (r.last_s < r.first_s) fail(last, fmt::format("lies before {}, expected a later time", first.name));
    requests_.push_back(r);
  }

  /// Recording of the requests; `offset_s` is by how much the engine's clock is ahead of the senders'.
  [[nodiscard]] Recording recording(double offset_s) const {
    if (requests_.empty()) lines_.fail_file("has no requests, expected a recorded run");
    Recording result;
    double tokens = 0, end_s = -std::numeric_limits<double>::infinity();
    for (const Served& r : requests_) {
      const double first_s = r.first_s - offset_s, last_s = r.last_s - offset_s;
      result.ttft_s.add(first_s - r.sent_s);
      result.e2e_s.add(last_s - r.sent_s);
      if (r.output > 1) result.tpot_s.add((last_s - first_s) / static_cast<double>(r.output - 1));
      result.longest_prompt = std::max(result.longest_prompt, r.prompt);
      result.longest_output = std::max(result.longest_output, r.output);
      tokens += static_cast<double>(r.output);
      end_s = std::max(end_s, last_s);
    }
    result.requests = static_cast<std::int64_t>(requests_.size());
    const double span_s = end_s - requests_.front().sent_s;
    if (!(span_s > 0)) lines_.fail_file("ends when it begins, expected a last token after the first request was sent");
    result.output_tokens_per_s = tokens / span_s;
    return result;
  }
  [[nodiscard]] const std::vector<Served>& requests() const { return requests_; }

 private:
  [[noreturn]] void fail(const Place& at, std::string_view message) const {
    lines_.fail(at.byte, fmt::format("{} {}", at.name, message));
  }
  void check_tokens(std::int64_t tokens, const Place& at) const {
    if (tokens >= 1 && tokens <= models::max_request_tokens) return;
    fail(at, fmt::format("is {}, expected 1 to {} tokens", tokens, models::max_request_tokens));
  }

  const LineReader& lines_;
  std::vector<Served> requests_;
};

double checked(double value, const LineReader& lines, std::string_view name, std::size_t byte) {
  if (std::isfinite(value) && std::abs(value) <= kLatest_s) return value;
  lines.fail(byte, fmt::format("{} is {}, expected a time in seconds", name, value));
}

Recording read_csv_recording(LineReader lines) {
  CsvTable table(lines, kCsvColumns);
  ServedRequests served(lines);
  while (table.next()) {
    const auto time = [&](std::size_t n) {
      return checked(table.number(table.field(n)), lines, table.field(n).name, table.field(n).byte);
    };
    const auto place = [&](std::size_t n) { return ServedRequests::Place{table.field(n).name, table.field(n).byte}; };
    Served r;
    r.sent_s = r.queued_s = time(0);
    if (r.sent_s < 0) lines.fail(table.field(0).byte, "arrival_s is negative, expected a time since the start");
    r.prompt = table.whole_number(table.field(1));
    r.output = table.whole_number(table.field(2));
    r.first_s = time(3);
    r.last_s = time(4);
    served.add(r, place(0), place(1), place(2), place(3), place(4), kCsvColumns[0]);
  }
  Recording result = served.recording(0);
  result.format = "csv";
  return result;
}

/// A member of a line's object; complaints point at the line's beginning.
double number_of(const Json& object, const LineReader& lines, std::string_view name) {
  const auto found = object.find(name);
  if (found == object.end()) {
    lines.fail(0, fmt::format("{} is missing, expected a request with {}", name, fmt::join(kJsonMembers, ", ")));
  }
  if (!found->is_number()) lines.fail(0, fmt::format("{} is {}, expected a number", name, found->type_name()));
  return checked(found->get<double>(), lines, name, 0);
}

std::int64_t tokens_of(const Json& object, const LineReader& lines, std::string_view name) {
  const double value = number_of(object, lines, name);
  if (value != std::floor(value)) {
    lines.fail(0, fmt::format("{} is {}, expected a whole number of tokens", name, value));
  }
  return static_cast<std::int64_t>(value);
}

Recording read_json_lines(LineReader lines) {
  ServedRequests served(lines);
  while (lines.next()) {
    const Json line = Json::parse(lines.line(), nullptr, false);
    if (!line.is_object()) {
      lines.fail(0, fmt::format("is no JSON object, expected a request with {}", fmt::join(kJsonMembers, ", ")));
    }
    Served r;
    r.sent_s = number_of(line, lines, kJsonMembers[0]);
    r.prompt = tokens_of(line, lines, kJsonMembers[1]);
    r.output = tokens_of(line, lines, kJsonMembers[2]);
    r.queued_s = number_of(line, lines, kJsonMembers[3]);
    r.first_s = number_of(line, lines, kJsonMembers[4]);
    r.last_s = number_of(line, lines, kJsonMembers[5]);
    served.add(r, {kJsonMembers[0]}, {kJsonMembers[1]}, {kJsonMembers[2]}, {kJsonMembers[4]}, {kJsonMembers[5]},
               kJsonMembers[3]);
  }
  double offset_s = std::numeric_limits<double>::infinity();
  for (const Served& r : served.requests()) offset_s = std::min(offset_s, r.queued_s - r.sent_s);
  Recording result = served.recording(offset_s);
  result.format = "vllm_bench";
  result.begins_s = served.requests().front().sent_s;
  return result;
}

Recording read_requests(LineReader lines, const std::string& name) {
  Recording result =
      name.ends_with(".jsonl") ? read_json_lines(std::move(lines)) : read_csv_recording(std::move(lines));
  result.path = name;
  return result;
}

std::vector<RecordedLoad> read_load(LineReader lines, double starts_at_s) {
  CsvTable table(lines, kLoadColumns);
  std::vector<RecordedLoad> load;
  double before_s = -std::numeric_limits<double>::infinity();
  while (table.next()) {
    std::array<double, kLoadColumns.size()> v{};
    for (std::size_t n = 0; n < v.size(); ++n) {
      const CsvTable::Field field = table.field(n);
      v.at(n) = table.number(field);
      if (!(v.at(n) >= 0 && v.at(n) <= kLatest_s)) {
        lines.fail(field.byte, fmt::format("{} is {}, expected a number of 0 or more", field.name, v.at(n)));
      }
    }
    if (v[0] <= before_s)
      lines.fail(table.field(0).byte, "t is not later than in the line above, expected rising times");
    if (v[5] > 100) lines.fail(table.field(5).byte, fmt::format("kv_cache_pct is {}, expected 0 to 100", v[5]));
    before_s = v[0];
    load.push_back({v[0] - starts_at_s, v[3], v[4], v[5], v[1], v[2]});
  }
  if (load.empty()) lines.fail_file("has no rows");
  return load;
}

/// Seconds since 1970.
double started_at(const std::string& path) {
  const Json meta = read_recording_meta(path);
  const auto found = meta.find("started_at");
  if (found == meta.end() || !found->is_string()) {
    throw schema::InputError(fmt::format("{}: started_at is missing, expected a UTC time", path));
  }
  const auto text = found->get<std::string>();
  const std::optional<std::int64_t> ns = models::parse_date(text);
  if (!ns) {
    throw schema::InputError(fmt::format("{}: started_at is \"{}\", expected a UTC time", path, text.substr(0, 40)));
  }
  return static_cast<double>(*ns) / kNsPerSecond;
}

double share_of(double sum, double of) {
  return of > 0 ? sum / of : 0;
}

}  // namespace

Json read_recording_meta(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const Json meta = in ? Json::parse(in, nullptr, false) : Json();
  if (!meta.is_object()) throw schema::InputError(fmt::format("{}: is no JSON object, or cannot be read", path));
  return meta;
}

bool is_recording_header(std::string_view header) {
  constexpr std::array kTelling{kCsvColumns[0], kCsvColumns[3], kCsvColumns[4]};
  return std::any_of(kTelling.begin(), kTelling.end(),
                     [header](std::string_view column) { return header.find(column) != std::string_view::npos; });
}

Recording read_recorded_requests(const std::string& path) {
  return read_requests(LineReader::open(path, "a recorded run"), path);
}

Recording read_recorded_requests_text(std::string_view text, const std::string& name) {
  return read_requests(LineReader::from_text(name, text), name);
}

std::vector<RecordedLoad> read_recorded_load_text(std::string_view text, const std::string& name, double starts_at_s) {
  return read_load(LineReader::from_text(name, text), starts_at_s);
}

Recording read_recorded_run(const std::string& folder) {
  std::error_code ignored;
  const bool json = fs::exists(folder + "/requests.jsonl", ignored);
  Recording recording = read_recorded_requests(folder + (json ? "/requests.jsonl" : "/requests.csv"));
  const std::string series = folder + "/timeseries.csv";
  if (!fs::exists(series, ignored)) return recording;
  const double starts_at_s = json ? recording.begins_s - started_at(folder + "/meta.json") : 0;
  recording.load = read_load(LineReader::open(series, "a recorded load"), starts_at_s);
  return recording;
}

double CurveBeside::within(double share) const {
  const double most = share * peak;
  const auto inside = std::count_if(differences.begin(), differences.end(), [most](double d) { return d <= most; });
  return share_of(static_cast<double>(inside), static_cast<double>(differences.size()));
}

std::vector<LatencyBeside> latencies_beside(const Recording& recording, const serving::Measurements& simulated) {
  struct Statistic {
    std::string_view name;
    double quantile;  // negative: the mean
  };
  constexpr std::array kStatistics{Statistic{"mean", -1}, Statistic{"p50", 0.5}, Statistic{"p90", 0.9},
                                   Statistic{"p99", 0.99}};
  std::vector<LatencyBeside> result;
  const auto add = [&](std::string_view latency, const engine::Sample& measured, const engine::Sample& predicted) {
    if (measured.empty() || predicted.empty()) return;
    for (const Statistic& s : kStatistics) {
      const auto of = [&s](const engine::Sample& x) { return s.quantile < 0 ? x.mean() : x.quantile(s.quantile); };
      if (of(measured) > 0) result.push_back({latency, s.name, of(measured), of(predicted)});
    }
  };
  add("ttft", recording.ttft_s, simulated.ttft_s);
  add("tpot", recording.tpot_s, simulated.tpot_s);
  add("e2e", recording.e2e_s, simulated.e2e_s);
  return result;
}

std::vector<LoadBeside> load_beside(const Recording& recording, const serving::Timeline& simulated) {
  std::vector<LoadBeside> result;
  if (!(simulated.period_s > 0)) return result;
  for (const RecordedLoad& load : recording.load) {
    const auto i = static_cast<std::int64_t>(std::llround(load.at_s / simulated.period_s)) - 1;
    const bool there = i >= 0 && i < static_cast<std::int64_t>(simulated.samples.size());  // else nothing runs
    const serving::LoadSample s = there ? simulated.samples[static_cast<std::size_t>(i)] : serving::LoadSample{};
    result.push_back(
        {load.at_s,
         {load.running, static_cast<double>(s.running)},
         {load.waiting, static_cast<double>(s.waiting)},
         {load.kv_percent, 100 * static_cast<double>(s.kv_bytes) / static_cast<double>(simulated.kv_capacity_bytes)}});
  }
  return result;
}

std::vector<CurveBeside> curves_beside(const std::vector<LoadBeside>& load) {
  std::vector<CurveBeside> result;
  const auto add = [&](std::string_view name, LoadBeside::Pair LoadBeside::*pair) {
    CurveBeside curve{name, 0, 0, {}};
    for (const LoadBeside& l : load) {
      curve.peak = std::max(curve.peak, (l.*pair).measured);
      curve.differences.push_back(std::abs((l.*pair).measured - (l.*pair).predicted));
    }
    const double sum = std::accumulate(curve.differences.begin(), curve.differences.end(), 0.0);
    curve.difference = share_of(sum / static_cast<double>(curve.differences.size()), curve.peak);
    if (curve.peak > 0) result.push_back(std::move(curve));
  };
  add("running", &LoadBeside::running);
  add("waiting", &LoadBeside::waiting);
  add("kv", &LoadBeside::kv_percent);
  return result;
}

}  // namespace kvsim::planner::backtest
