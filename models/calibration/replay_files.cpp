#include "models/calibration/replay_files.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "models/calibration/table_kind.h"
#include "models/schema/object_schema.h"
#include "models/schema/units.h"
#include "models/schema/yaml.h"

namespace kvsim::models {
namespace {

schema::ObjectSchema<ReplayRun> replay_schema() {
  using namespace schema;
  using R = ReplayRun;
  ObjectSchema<R> slots("slots", "Buffers for full KV in use at once.");
  slots.required("lock_step", &R::lock_step_slots, integer().at_least(1), "of lock_step");
  slots.required("staggered", &R::staggered_slots, integer().at_least(1), "of staggered");
  ObjectSchema<R> s("replay", "What replay.csv ran.");
  const auto count = [&s](const char* key, std::int64_t R::*member, const char* words) {
    s.required(key, member, integer().at_least(1), words);
  };
  s.required("model", &R::model, text().non_empty(), "name in the catalogue");
  count("model_layers", &R::model_layers, "that the model has");
  count("layers", &R::layers, "that were run");
  count("tensor_parallel", &R::tensor_parallel, "GPUs");
  count("requests", &R::requests, "that draft and verify");
  count("draft_length", &R::draft_length, "drafted tokens of a round");
  count("reload_iterations", &R::reload_iterations, "from the start of a reload to its verification");
  count("rounds", &R::rounds, "of a run");
  count("context_tokens", &R::context_tokens, "of every request, all the time");
  count("kv_bits", &R::kv_bits, "of the compressed KV");
  count("kv_group", &R::kv_group, "elements to a scale and an offset");
  s.required("arrival", &R::arrival, one_of({{"whole", "a verification waits for all of its KV"}}), "of reloads");
  count("layer_weight_bytes", &R::layer_weight_bytes, "of a layer's matrices");
  count("lm_head_bytes", &R::lm_head_bytes, "of the LM head's");
  count("full_kv_bytes_per_request", &R::full_kv_bytes, "of all layers that were run");
  count("compressed_kv_bytes_per_request", &R::compressed_kv_bytes, "of all layers that were run");
  s.object("slots", slots, Presence::required, "buffers for full KV");
  s.check([](const R& r, const Reporter& report) {
    if (r.tensor_parallel != 1) report.fail("tensor_parallel", "the replay runs on one GPU, expected 1");
    if (r.layers > r.model_layers) report.fail("layers", "more than the model has (model_layers)");
    if (r.reload_iterations > r.draft_length) {
      report.fail("reload_iterations", "more than draft_length: a reload would start before its round");
    }
    if (r.compressed_kv_bytes >= r.full_kv_bytes) {
      report.fail("compressed_kv_bytes_per_request", "not less than full_kv_bytes_per_request");
    }
  });
  return s;
}

constexpr std::array<std::string_view, 10> kReplayColumns{"gpu",           "schedule",    "run",      "iteration",
                                                          "begin_ms",      "end_ms",      "drafting", "verifying",
                                                          "linear_tokens", "reload_bytes"};

class RowChecks {
 public:
  RowChecks(const ReplayRun& run, std::size_t rows_per_run) : run_(run), per_run_(rows_per_run) {}

  /// Problem with a row that follows those before it; empty: none.
  [[nodiscard]] std::string wrong(const ReplayRow& row, std::int64_t tokens, std::int64_t reload_bytes,
                                  const std::vector<ReplayRow>& before) const {
    const bool follows = !before.empty() && same_run(before.back(), row);
    if (row.schedule != "lock_step" && row.schedule != "staggered") {
      return fmt::format("schedule is \"{}\", expected lock_step or staggered", row.schedule);
    }
    const std::int64_t expected = follows ? before.back().iteration + 1 : 0;
    if (row.iteration != expected || static_cast<std::size_t>(row.iteration) >= per_run_) {
      return fmt::format("iteration {} of {} run {}, expected {}", row.iteration, row.schedule, row.run,
                         follows && static_cast<std::size_t>(expected) >= per_run_
                             ? fmt::format("no more than {}", per_run_)
                             : fmt::format("{}", expected));
    }
    if (!(row.begin_s >= 0) || !(row.end_s > row.begin_s) || !(row.end_s < kLongest)) {
      return fmt::format("from {:.6g} to {:.6g} ms: no time of an iteration", row.begin_s * 1e3, row.end_s * 1e3);
    }
    if (follows && row.begin_s < before.back().end_s) {
      return fmt::format("begins at {:.6g} ms, before the one before it ends at {:.6g} ms", row.begin_s * 1e3,
                         before.back().end_s * 1e3);
    }
    if (row.drafting < 0 || row.verifying < 0 || row.drafting + row.verifying != run_.requests) {
      return fmt::format("{} draft and {} verify of {} requests", row.drafting, row.verifying, run_.requests);
    }
    if (tokens != row.drafting + row.verifying * (run_.draft_length + 1)) {
      return fmt::format("{} tokens of {} that draft and {} that verify {} tokens", tokens, row.drafting, row.verifying,
                         run_.draft_length + 1);
    }
    if (reload_bytes < 0 || reload_bytes % run_.full_kv_bytes != 0 || row.reloads > run_.requests) {
      return fmt::format("{} bytes of reloads, a request has {}", reload_bytes, run_.full_kv_bytes);
    }
    return lacks_reload(row, before);
  }

  static bool same_run(const ReplayRow& a, const ReplayRow& b) { return a.schedule == b.schedule && a.run == b.run; }

 private:
  static constexpr double kLongest = 1e5;

  [[nodiscard]] std::string lacks_reload(const ReplayRow& row, const std::vector<ReplayRow>& before) const {
    if (row.verifying == 0) return {};
    const std::int64_t lead = run_.reload_iterations;
    const std::int64_t reloaded =
        row.iteration < lead ? 0 : before[before.size() - static_cast<std::size_t>(lead)].reloads;
    if (reloaded == row.verifying) return {};
    return fmt::format("{} verify, but {} reloads started {} iterations before", row.verifying, reloaded, lead);
  }

  const ReplayRun& run_;
  std::size_t per_run_;
};

}  // namespace

ReplayRun read_replay_run(const std::string& path) {
  return replay_schema().parse(schema::read_yaml_file(path));
}

std::vector<ReplayRow> read_replay_rows(const std::string& path, const ReplayRun& run) {
  LineReader lines = LineReader::open(path, "the times of a replay");
  CsvTable table(lines, kReplayColumns);
  const schema::Origin file(path);
  const auto per_run = static_cast<std::size_t>((run.draft_length + 1) * run.rounds);
  const RowChecks checks(run, per_run);
  std::vector<ReplayRow> rows;
  const auto check_length = [&](const schema::Origin& at) {
    if (rows.empty() || static_cast<std::size_t>(rows.back().iteration) + 1 == per_run) return;
    throw schema::InputError(at, fmt::format("{} run {} ends with iteration {}, expected {} iterations",
                                             rows.back().schedule, rows.back().run, rows.back().iteration, per_run));
  };
  while (table.next()) {
    const TableRow of(table, kReplayColumns, file.at(lines.line_number(), 1));
    ReplayRow row;
    row.origin = of.origin();
    row.gpu = of.text("gpu");
    row.schedule = of.text("schedule");
    row.run = of.whole("run");
    row.iteration = of.whole("iteration");
    row.begin_s = of.number("begin_ms") * kMillisecond;
    row.end_s = of.number("end_ms") * kMillisecond;
    row.drafting = of.whole("drafting");
    row.verifying = of.whole("verifying");
    const std::int64_t reload_bytes = of.whole("reload_bytes");
    row.reloads = reload_bytes / run.full_kv_bytes;
    if (!rows.empty() && !RowChecks::same_run(rows.back(), row)) check_length(rows.back().origin);
    const std::string wrong = checks.wrong(row, of.whole("linear_tokens"), reload_bytes, rows);
    if (!wrong.empty()) throw schema::InputError(row.origin, wrong);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) throw schema::InputError(file.at(1, 1), "holds no iteration");
  check_length(rows.back().origin);
  return rows;
}

}  // namespace kvsim::models
