#include "tools/results/run_answer.h"

#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/numbers.h"
#include "tools/results/scenario_words.h"
#include "tools/results/time_account.h"

namespace kvsim::results {

double half_width(const planner::ExperimentResult& result, const std::string& metric) {
  const auto it = result.confidence.find(metric);
  return it == result.confidence.end() ? std::numeric_limits<double>::quiet_NaN() : it->second.half_width_95;
}

std::string verdict(const serving::SloConfig& slo, const Figures& f) {
  std::vector<std::string> met, missed;
  for (const serving::SloObjective& o : slo.objectives()) {
    const std::string key = serving::slo_key(o.metric, o.percentile);
    const double value = f.at("slo.measured_s.*", key);
    std::vector<std::string>& of = value <= o.limit_s ? met : missed;
    of.push_back(fmt::format("{} {} of {}", serving::slo_name(o), f.text("slo.measured_s.*", key), seconds(o.limit_s)));
  }
  if (met.empty() && missed.empty()) return {};
  if (missed.empty()) return fmt::format("Objectives are met: {}.", fmt::join(met, ", "));
  return fmt::format("Objectives are missed: {}{}.", fmt::join(missed, ", "),
                     met.empty() ? "" : fmt::format("; met: {}", fmt::join(met, ", ")));
}

std::vector<Table> answer_tables(const Outcome& outcome, const Figures& f, const Table& latency) {
  const scenario::Scenario& scenario = outcome.scenario;
  Table t = key_figures("");
  t.rows.push_back({"requests", f.text("requests.arrived"), "",
                    fmt::format("arrived; {} completed, {} refused, {} running at the end",
                                f.text("requests.completed"), f.text("requests.refused"), f.text("requests.running"))});
  const std::string output = "throughput.output_tokens_per_s";
  t.rows.push_back({"output", f.text(output), plus_minus(half_width(outcome.result, output)),
                    fmt::format("tokens/s; {} per GPU", f.text("throughput.output_tokens_per_s_per_gpu"))});
  if (scenario.serving.slo.any()) {
    t.rows.push_back({"goodput", f.text("slo.goodput_requests_per_s"), "", "requests/s that meet their objectives"});
  }
  const Binding binds = binding_of(account_of([&f](std::string_view figure, std::string_view key) {
                                     return f.at(fmt::format("gpu.{}{}{}", figure, key.empty() ? "" : ".", key));
                                   }),
                                   f.at("tokeniser.busy_fraction"), true);
  t.rows.push_back({"most time goes to", binds.text, "", binds.twice.empty() ? "" : "twice of it: " + binds.twice});
  t.rows.push_back(
      {"GPU memory, peak", f.text("gpu.hbm_peak_bytes"), "",
       fmt::format("of a {}; mean {}", group_word(scenario.serving.cluster), f.text("gpu.hbm_mean_bytes"))});
  if (f.at("speculation.rounds") > 0) {
    t.rows.push_back({"accepted per round", f.text("speculation.mean_accepted_length"), "", "drafted tokens"});
  }
  t.rows.push_back(lossless(scenario)
                       ? std::vector<Cell>{"quality", "lossless", "", "the output of full-KV decoding"}
                       : std::vector<Cell>{"task score", f.text("quality.mean_score"), "", "relative to full KV"});
  Table short_latency = latency;
  short_latency.rows = {latency.rows[0], latency.rows[1], latency.rows[4]};
  return {t, short_latency};
}

}  // namespace kvsim::results
