#include "tools/results/comparison.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/functional.h"
#include "tools/results/metrics.h"
#include "tools/results/numbers.h"
#include "tools/results/result_document.h"
#include "tools/results/scenario_words.h"
#include "tools/results/time_account.h"

namespace kvsim::results {
namespace {

using serving::Measurements;
using Outcomes = std::vector<Outcome>;

/// The busiest direction of a link.
double link_use(const Measurements& m) {
  double most = kNone;
  for (const auto& [name, link] : m.links) {
    const double use = share(link.busy_s, link.capacity_s);
    if (!(use <= most)) most = use;
  }
  return most;
}

double host_memory_peak(const Outcome& o) {
  const auto host = o.result.measured.tiers.find("host");
  return host == o.result.measured.tiers.end() ? kNone : static_cast<double>(host->second.bytes_peak);
}

double computed_share_of_prompts(const Outcome& o) {
  const serving::PlacementMeasurement& p = o.result.measured.placement;
  const auto tokens = static_cast<double>(p.computed_tokens);
  return share(tokens, tokens + static_cast<double>(p.loaded_tokens));
}

double loaded_share(const Outcome& o) {
  if (!o.scenario.serving.placement) return 0;
  const serving::PlacementMeasurement& p = o.result.measured.placement;
  const auto tokens = static_cast<double>(p.loaded_tokens);
  return share(tokens, tokens + static_cast<double>(p.computed_tokens));
}

double computed_share(const Outcome& o) {
  if (!o.scenario.serving.placement) return 1;  // without tiers everything is
  if (!o.scenario.serving.reuse) return 1 - loaded_share(o);
  const serving::ReuseMeasurement& r = o.result.measured.reuse;
  return share(static_cast<double>(r.apart_tokens + r.recomputed_tokens + r.other_tokens),
               static_cast<double>(r.chunk_tokens + r.other_tokens));
}

double score(const Outcome& o) {
  const serving::AnswerMeasurement& a = o.result.measured.answers;
  return share(a.score, a.full_score);
}

/// One value of every outcome.
template <class Value>
std::vector<double> values_of(const Outcomes& outcomes, Value value) {
  std::vector<double> values;
  values.reserve(outcomes.size());
  for (const Outcome& o : outcomes) values.push_back(value(o));
  return values;
}

template <class Print>
Column column(std::string header, std::string key, Better better, std::vector<double> values, Print print) {
  Column c{std::move(header), std::move(key), better, Kind::plain, std::move(values), {}};
  for (const double value : c.values) c.cells.push_back(print(value));
  return c;
}

/// Shares in whole percent, of which none is the best.
Column percent_column(const std::string& header, std::vector<double> values) {
  return column(header + "\n%", "", Better::neither, std::move(values),
                [](double value) { return value == value ? fmt::format("{:.0f}", value * 100) : "-"; });
}

/// A metric, with its direction where the best is marked under `key`. Seconds and bytes share a unit, which goes to the
/// end of the header.
Column metric_column(const Outcomes& all, std::string header, std::string key, std::string_view metric,
                     const std::string& name = {}) {
  const Unit& unit = find_metric(metric)->unit;
  const Better better = key.empty() ? Better::neither : find_metric(metric)->better;
  std::vector<double> values = values_of(all, [&](const Outcome& o) { return Figures(o).at(metric, name); });
  if (unit.name == kShare.name) {
    Column c = percent_column(header, std::move(values));
    c.key = std::move(key);
    c.better = better;
    return c;
  }
  const bool time = unit.name == kSeconds.name;
  if (!time && unit.name != kBytes.name) {
    return column(std::move(header), std::move(key), better, std::move(values), figure);
  }
  const ColumnUnit common = time ? common_seconds(values) : common_bytes(values);
  header += common.name;
  Column c = column(std::move(header), std::move(key), better, std::move(values),
                    [&common](double value) { return in_unit(value, common); });
  if (time) c.kind = Kind::latency;
  return c;
}

Column host_memory_column(const Outcomes& all) {
  std::vector<double> values = values_of(all, host_memory_peak);
  const ColumnUnit common = common_bytes(values);
  return column(fmt::format("DRAM\n{}", common.name), "host_memory_peak_bytes", Better::less, std::move(values),
                [&common](double value) { return in_unit(value, common); });
}

Column tpot_column(const Outcomes& all) {
  return metric_column(all, "TPOT\n", "tpot_mean_s", "latency_s.tpot.mean");
}

Column link_column(const Outcomes& all) {
  return percent_column("link", values_of(all, [](const Outcome& o) { return link_use(o.result.measured); }));
}

/// "1.52x": says nothing that the column it is made from does not, and is not marked.
template <class Speedup>
Column speedup_column(const Outcomes& all, Speedup over) {
  return column("speed\nup", "", Better::neither,
                values_of(all, [&](const Outcome& o) { return over(o.result, all.front().result).value_or(kNone); }),
                factor);
}

Column cost_column(const Comparison& comparison) {
  std::vector<double> usd = values_of(comparison.outcomes, [&comparison](const Outcome& o) {
    return usd_per_million(o, comparison.prices).value_or(kNone);
  });
  return column("$ per\n1M", "usd_per_1m_output_tokens", Better::less, std::move(usd),
                [](double value) { return in_unit(value); });
}

/// "0.985/0.00": a score of an output that is not that of full KV, and its functional correctness.
std::string beside_functional(std::string score, const Outcome& o) {
  if (lossless(o.scenario)) return score;
  const double least = Figures(o).at("quality.least_functional");
  return std::isfinite(least) ? fmt::format("{}/{:.2f}", score, least) : score + "/?";
}

Column fidelity_column(std::string header, const std::vector<Outcome>& outcomes) {
  Column c{std::move(header), "quality", Better::more, Kind::quality, {}, {}};
  // A divergence is below lossless, but says nothing beside a score.
  const bool any_score = std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) {
    const Measurements& m = o.result.measured;
    return !lossless(o.scenario) && m.completed_measured > 0 && m.quality == m.quality;
  });
  for (const Outcome& o : outcomes) {
    const auto finished = static_cast<double>(o.result.measured.completed_measured);
    const double score = share(o.result.measured.quality, finished);
    const double nats = share(o.result.measured.kl_nats, finished);
    c.cells.push_back(beside_functional(fidelity_text(lossless(o.scenario), score, nats), o));
    if (lossless(o.scenario)) {
      c.values.push_back(1);
    } else {
      c.values.push_back(score == score ? score : any_score ? kNone : -nats);
    }
  }
  return c;
}

bool any_lossy(const Outcomes& all) {
  return std::any_of(all.begin(), all.end(), [](const Outcome& o) { return !lossless(o.scenario); });
}

void note_functional(const Outcomes& all, std::vector<std::string>& notes) {
  if (any_lossy(all)) notes.push_back(functional_note("behind the /, functional") + " (?)");
}

bool drafts(const Outcomes& all) {
  return std::any_of(all.begin(), all.end(), [](const Outcome& o) { return o.result.measured.rounds > 0; });
}

/// Whether some outcome decodes otherwise than with the full KV, so that decoding is compared, too.
bool decodes_differently(const Outcomes& all) {
  return std::any_of(all.begin(), all.end(),
                     [](const Outcome& o) { return o.scenario.serving.decode.policy != "full_kv"; });
}

/// Adds for each class of requests the share that met its objectives.
void add_classes(const Outcomes& all, std::vector<Column>& columns) {
  for (const serving::ClassConfig& of : all.front().scenario.serving.classes) {
    columns.push_back(metric_column(all, of.name, "", "classes.*.attainment", of.name));
  }
}

void note_classes(const std::vector<Outcome>& outcomes, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (const serving::ClassConfig& of : outcomes.front().scenario.serving.classes) names.push_back(of.name);
  if (names.empty()) return;
  notes.push_back(fmt::format("{}: share of the class's requests that met its objectives", fmt::join(names, ", ")));
}

std::vector<Column> policy_columns(const Comparison& comparison) {
  const Outcomes& all = comparison.outcomes;
  std::vector<Column> columns;
  columns.push_back(metric_column(all, "tokens\n/s", "output_tokens_per_s", "throughput.output_tokens_per_s"));
  columns.push_back(speedup_column(all, speedup));
  columns.push_back(metric_column(all, "TTFT\np50 ", "ttft_p50_s", "latency_s.ttft.p50"));
  columns.push_back(tpot_column(all));
  columns.push_back(metric_column(all, "gap\np99 ", "round_gap_p99_s", "details.round_gap_s.p99"));
  if (drafts(all)) columns.push_back(metric_column(all, "accept\n/round", "", "speculation.mean_accepted_length"));
  columns.push_back(metric_column(all, "HBM\n", "hbm_peak_bytes", "gpu.hbm_peak_bytes"));
  columns.push_back(host_memory_column(all));
  columns.push_back(link_column(all));
  add_classes(all, columns);
  columns.push_back(cost_column(comparison));
  columns.push_back(fidelity_column("output", all));
  return columns;
}

std::vector<std::string> policy_notes(const std::vector<Outcome>& outcomes) {
  const serving::ClusterConfig& cluster = outcomes.front().scenario.serving.cluster;
  std::vector<std::string> notes{fmt::format("speedup: output tokens/s over those of {}", outcomes.front().policy),
                                 "TPOT: mean over requests; gap p99: between deliveries of tokens to a request"};
  if (drafts(outcomes)) {
    notes.emplace_back("accept: drafted tokens accepted per round, without the verifier's own");
  }
  notes.push_back(
      fmt::format("HBM, DRAM: peak of GPU and of host memory of a {}; link: {}, share of time", group_word(cluster),
                  cluster.topology().instances.size() > 1 ? "the busiest" : "busier direction of the host link"));
  notes.emplace_back(
      "output: lossless, or task score relative to full KV (KL in nats per request where none is known)");
  note_functional(outcomes, notes);
  note_classes(outcomes, notes);
  return notes;
}

/// Mean and 99th percentile of the time to the first token, and the speedup of the mean over the first outcome.
std::vector<Column> first_token_columns(const Outcomes& all) {
  std::vector<Column> columns;
  columns.push_back(metric_column(all, "TTFT\n", "ttft_mean_s", "latency_s.ttft.mean"));
  columns.push_back(speedup_column(all, ttft_speedup));
  columns.push_back(metric_column(all, "TTFT\np99 ", "ttft_p99_s", "latency_s.ttft.p99"));
  return columns;
}

std::vector<Column> placement_columns(const Comparison& comparison) {
  const Outcomes& all = comparison.outcomes;
  std::vector<Column> columns = first_token_columns(all);
  if (decodes_differently(all)) columns.push_back(tpot_column(all));
  columns.push_back(fidelity_column("quality", all));
  for (const std::string& tier : kTiers.possible(all.front().scenario)) {
    columns.push_back(metric_column(all, tier, "", "tiers.*.hit_rate", tier));
  }
  columns.push_back(percent_column("computed", values_of(all, computed_share_of_prompts)));
  columns.push_back(link_column(all));
  if (!decodes_differently(all)) columns.push_back(metric_column(all, "GPU", "", "gpu.busy_fraction"));
  add_classes(all, columns);
  columns.push_back(cost_column(comparison));
  return columns;
}

std::vector<std::string> placement_notes(const std::vector<Outcome>& outcomes) {
  std::vector<std::string> notes{
      fmt::format("TTFT: mean time to the first token; speedup: that of {} over it", outcomes.front().policy),
      "quality: lossless, or mean task score relative to full KV",
      fmt::format("{}: share of lookups that were found there",
                  fmt::join(kTiers.possible(outcomes.front().scenario), ", ")),
      decodes_differently(outcomes) ? "TPOT: mean over requests; computed: share of prompt tokens; link: the busiest"
                                    : "computed: share of prompt tokens; link: the busiest; GPU: share of time busy"};
  note_functional(outcomes, notes);
  note_classes(outcomes, notes);
  return notes;
}

std::vector<Column> reuse_columns(const Comparison& comparison) {
  const Outcomes& all = comparison.outcomes;
  std::vector<Column> columns = first_token_columns(all);
  columns.push_back(column("score", "score", Better::more, values_of(all, score), figure));
  columns.back().kind = Kind::quality;
  for (std::size_t i = 0; i < all.size(); ++i) {
    columns.back().cells[i] = beside_functional(std::move(columns.back().cells[i]), all[i]);
  }
  columns.push_back(metric_column(all, "good", "good_share", "answers.good_share"));
  columns.push_back(metric_column(all, "good-\nput /s", "goodput_requests_per_s", "slo.goodput_requests_per_s"));
  if (decodes_differently(all)) {
    columns.push_back(tpot_column(all));
  } else {
    columns.push_back(percent_column("loaded", values_of(all, loaded_share)));
  }
  columns.push_back(percent_column("computed", values_of(all, computed_share)));
  columns.push_back(link_column(all));
  const auto gpus = [](const Outcome& o) { return static_cast<double>(serving::gpus(o.scenario.serving.cluster)); };
  columns.push_back(column("GPUs", "", Better::neither, values_of(all, gpus), kCount.print));
  columns.push_back(column(
      "goodput\nper GPU", "goodput_requests_per_s_per_gpu", Better::more,
      values_of(all, [&gpus](const Outcome& o) { return Figures(o).at("slo.goodput_requests_per_s") / gpus(o); }),
      figure));
  columns.push_back(cost_column(comparison));
  return columns;
}

std::vector<std::string> reuse_notes(const std::vector<Outcome>& outcomes) {
  const Outcome& first = outcomes.front();
  const auto& floor = first.scenario.serving.slo.quality_floor;
  std::vector<std::string> notes{
      fmt::format("TTFT: mean time to the first token; speedup: that of {} over it", first.policy),
      "score: mean score of answers / that of the same answers with all of the prompt computed",
      floor ? fmt::format("good: share of answers with at least {:g} of their task's mean score; goodput: requests/s "
                          "with such an answer that meet all objectives",
                          *floor)
            : std::string("good: all answers, as slo.quality_floor is not set; "
                          "goodput: requests/s that meet all objectives"),
      decodes_differently(outcomes)
          ? "computed: share of prompt tokens, those for verification left out; TPOT: mean over requests"
          : "loaded, computed: shares of prompt tokens; what is loaded and computed again counts in both",
      "link: the busiest, share of time; GPUs: all of them, those that only score too"};
  note_functional(outcomes, notes);
  return notes;
}

enum class Compares { decode, placement, prefill };

Compares what(const Outcomes& outcomes) {
  const scenario::Scenario& first = outcomes.front().scenario;
  if (first.workload.chunks) return Compares::prefill;
  return first.serving.placement ? Compares::placement : Compares::decode;
}

}  // namespace

std::vector<Column> columns_of(const Comparison& comparison) {
  switch (what(comparison.outcomes)) {
    case Compares::prefill:
      return reuse_columns(comparison);
    case Compares::placement:
      return placement_columns(comparison);
    case Compares::decode:
      break;
  }
  return policy_columns(comparison);
}

std::vector<Column> objective_columns(const Outcomes& all) {
  std::vector<Column> columns;
  const serving::ServingConfig& config = all.front().scenario.serving;
  if (!config.slo.any() || !config.classes.empty()) return columns;
  columns.push_back(metric_column(all, "in SLO", "", "slo.attainment"));
  for (const serving::SloObjective& o : config.slo.objectives()) {
    const std::string key = serving::slo_key(o.metric, o.percentile);
    columns.push_back(
        column(fmt::format("{}\n<= {}", serving::slo_name(o), seconds(o.limit_s)), "", Better::neither,
               values_of(all, [&key](const Outcome& of) { return Figures(of).at("slo.measured_s.*", key); }), seconds));
  }
  return columns;
}

std::vector<Column> time_columns(const Outcomes& all) {
  constexpr std::size_t kMost = 6;         // which fit a page beside the names
  constexpr double kPrintedAsOne = 0.005;  // of percent
  std::vector<serving::Bottleneck> accounts;
  for (const Outcome& o : all) accounts.push_back(serving::bottleneck(o.result.measured));
  std::vector<std::pair<double, const serving::TimePartName*>> parts;
  for (const serving::TimePartName& part : serving::kTimeParts) {
    double most = 0;
    for (const serving::Bottleneck& b : accounts) most = std::max(most, (b.*part.part).share);
    if (most >= kPrintedAsOne) parts.emplace_back(most, &part);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  parts.resize(std::min(parts.size(), kMost));
  std::vector<Column> columns;
  for (const auto& [most, part] : parts) {
    Column& c = columns.emplace_back(Column{std::string(part->name), "", Better::neither, Kind::plain, {}, {}});
    for (const serving::Bottleneck& b : accounts) {
      const auto& [share, gain] = b.*part->part;
      c.values.push_back(share);
      c.cells.push_back(fmt::format("{:.0f} %", share * 100));
      if (const std::string text = gain_text(gain); !part->more.empty() && !text.empty()) c.cells.back() += " " + text;
    }
  }
  return columns;
}

std::vector<std::string> column_notes(const Comparison& comparison) {
  switch (what(comparison.outcomes)) {
    case Compares::prefill:
      return reuse_notes(comparison.outcomes);
    case Compares::placement:
      return placement_notes(comparison.outcomes);
    case Compares::decode:
      break;
  }
  return policy_notes(comparison.outcomes);
}

}  // namespace kvsim::results
